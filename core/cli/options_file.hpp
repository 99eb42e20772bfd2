// The configuration file that most commands are given.

#pragma once

#include <config/load.hpp>
#include <plugin/registry.hpp>

#include <shunt/producer.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::cli {

/// Reads a file and appends all that is wrong with it, the strategies it names included, by place. `strategies`: those
/// that the file says, made here.
[[nodiscard]] config::loaded read_with_strategies(const std::string& file, std::vector<config::problem>& problems,
                                                  std::unique_ptr<plugin::registry>& strategies);

/// Whether the strategies a file names matter to a command.
enum class strategies : std::uint8_t { ignored, checked };

/// Reads the file; complains of all that is wrong with it. Nothing: then.
[[nodiscard]] std::optional<config::loaded> load_options(std::string_view command, const std::string& file, strategies matter);

/// "by-order (binding "orders-*")". Empty: no binding.
[[nodiscard]] std::string in_words(std::string_view policy, std::string_view binding);

/// Whether a command's producer serves the [admin] of its file, where the application's own may be at work.
enum class endpoint : std::uint8_t { none, served };

/// Makes the producer; complains of all that is in the way.
[[nodiscard]] std::optional<producer> make_producer(std::string_view command, producer_options options, endpoint admin = endpoint::none);

/// Closes the producer; its counts of the end.
[[nodiscard]] counters close_and_count(producer& p, std::chrono::milliseconds deadline);

/// False, with a complaint: the file says `embedded = true`, so there is no cluster another process could ask.
[[nodiscard]] bool can_be_asked(std::string_view command, const producer_options& options);

}  // namespace shunt::cli
