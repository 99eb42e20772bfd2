// What the commands below `policy` share: a running producer, found by the [admin] of its configuration.

#pragma once

#include "admin_client.hpp"
#include "arguments.hpp"

#include <boost/json.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::cli {

struct policy_arguments {
    std::string command;  ///< "policy stage"
    std::string config, file, reason;
    std::optional<std::uint64_t> id;
    double shadow = 0, canary = 0, share = 0;
    bool now = false, force = false, hold = false, auto_promote = false, json = false;
    std::chrono::milliseconds interval{1000};
    std::uint64_t count = 0;  ///< watch: so many looks; 0: until ctrl-c
};

/// Where to ask; complains if the configuration does not say. Nothing: then.
[[nodiscard]] std::optional<admin_options> endpoint_of(const policy_arguments& a);

/// Asks and takes the answer apart. Throws as ask_admin(), and where the answer is none.
[[nodiscard]] boost::json::value ask(const admin_options& where, const std::string& target);
[[nodiscard]] boost::json::value parsed(const admin_reply& r);

/// A member's text; empty: it is not there.
[[nodiscard]] std::string text(const boost::json::value& of, std::string_view member);
/// A member's number; 0: it is not there.
[[nodiscard]] std::uint64_t number(const boost::json::value& of, std::string_view member);

[[nodiscard]] int watch_policies(const policy_arguments& a);  // policy_watch.cpp

}  // namespace shunt::cli
