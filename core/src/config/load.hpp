// A configuration file to producer options: every problem at once, and where each value came from.

#pragma once

#include <config/problem.hpp>
#include <config/value.hpp>

#include <shunt/options.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::plugin {
class registry;
}

namespace shunt::config {

struct loaded {
    producer_options options;
    std::vector<origin> origins;  ///< of every key, in the order of config/shunt.toml; defaults included
};

/// Reads `text` as the file called `file` (its folder is where relative plugin paths start). Every problem is appended,
/// in the order of the file; a TOML syntax error alone. Without problems the options pass check_options().
/// Whether the named strategies are there and like their settings is for check_strategies().
[[nodiscard]] loaded load_text(std::string_view text, const std::string& file, std::vector<problem>& problems);
/// The same for a file; its folder is taken as an absolute path, so that a later change of directory means nothing.
[[nodiscard]] loaded load_file(const std::string& path, std::vector<problem>& problems);

/// All of a file, but at most `most` + 1 bytes: who gets more than `most` knows that it is larger. 0, or errno.
[[nodiscard]] int read_whole(const std::string& path, std::size_t most, std::string& out);

/// The text of a file of at most max_file_bytes. Nothing: a problem about the file was appended.
[[nodiscard]] std::optional<std::string> read_text_file(const std::string& path, std::vector<problem>& problems);

/// Options made in code, by the rules for files: names, ranges, what fits together.
[[nodiscard]] std::vector<problem> check_options(const producer_options& options);

/// The policy of a topic whose sends name none.
struct chosen_policy {
    std::string_view policy = "default";
    const binding_options* by = nullptr;  ///< null: no binding names the topic
};
[[nodiscard]] chosen_policy policy_of(const producer_options& options, std::string_view topic) noexcept;
/// One key that two configurations have differently, as TOML; empty: it is not there.
struct difference {
    std::string key, from, to;

    friend bool operator==(const difference&, const difference&) = default;
};

/// By key. A strategy's setting that is left out is not compared with its default: it is "not there".
[[nodiscard]] std::vector<difference> differences(const producer_options& from, const producer_options& to);

/// Every key with its value as TOML, by key; secrets are not shown.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> effective_values(const producer_options& options);

/// The strategies named in the policies are there, are of the right kind, and take the settings they are given. Loads
/// them, and makes each once for trial. Problems are appended in the order of the file.
void check_strategies(const producer_options& options, plugin::registry& registry, std::vector<problem>& problems);

/// What works and is hardly meant: an ordered policy whose selector does not go by the key. In the order of the file.
void warn_of_strategies(const producer_options& options, plugin::registry& registry, std::vector<problem>& warnings);

/// Adds what the strategies' settings are where the file leaves them out. Loads the strategies; those that cannot be
/// loaded are passed over, see check_strategies().
void add_strategy_defaults(loaded& config, plugin::registry& registry);

}  // namespace shunt::config
