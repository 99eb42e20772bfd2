// The certificates that [tls] names, read.

#pragma once

#include <config/problem.hpp>

#include <shunt/options.hpp>
#include <tls/context.hpp>

#include <memory>
#include <vector>

namespace shunt::config {

/// Null, without a problem: TLS is not wanted.
[[nodiscard]] std::shared_ptr<tls::context> read_certificates(const tls_options& from, std::vector<problem>& problems);

}  // namespace shunt::config
