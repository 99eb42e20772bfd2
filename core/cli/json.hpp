// Results as JSON.

#pragma once

#include <observe/json.hpp>

namespace shunt::cli {

using observe::json;

}  // namespace shunt::cli
