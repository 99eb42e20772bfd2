// The configuration file that most commands are given.

#pragma once

#include <config/load.hpp>

#include <shunt/producer.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace shunt::cli {

/// Reads the file; complains of all that is wrong with it. Nothing: then. Strategies are not looked at.
[[nodiscard]] std::optional<config::loaded> load_options(std::string_view command, const std::string& file);

/// Makes the producer; complains of all that is in the way.
[[nodiscard]] std::optional<producer> make_producer(std::string_view command, producer_options options);

/// False, with a complaint: the file says `embedded = true`, so there is no cluster another process could ask.
[[nodiscard]] bool can_be_asked(std::string_view command, const producer_options& options);

}  // namespace shunt::cli
