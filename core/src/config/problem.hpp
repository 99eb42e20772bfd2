// One thing that is wrong in a configuration: where, what was found, what would be right.

#pragma once

#include <shunt/setting.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::config {

/// The shape of `config check --json`. Line and column count from 1, in characters; 0: the whole file, or no file.
struct problem {
    std::string file;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::string key;       ///< "producer.attempts", "policies.default.fault.latency_max[2]"; empty: the text itself
    std::string found;     ///< "'three'", "3.0", "missing"
    std::string expected;  ///< "a whole number from 1 to 16"
    std::string hint;      ///< "did you mean 'attempts'?"; may be empty

    friend bool operator==(const problem&, const problem&) = default;
};

/// "shunt.toml:14:12: producer.attempts is 'three'; it must be a whole number from 1 to 16 (hint)".
[[nodiscard]] std::string to_string(const problem&);

/// One a line.
[[nodiscard]] std::string lines(const std::vector<problem>&);

/// Appends a problem at `where`.
void add_problem(std::vector<problem>& to, const source_position& where, std::string key, std::string found,
                 std::string expected, std::string hint = {});

/// By place: a reader goes through a file from its top. Problems of one place stay as they are.
void sort_by_place(std::vector<problem>&);

/// Text fit for a terminal and for JSON: bytes that are not UTF-8 and control characters as \xHH, and at most `most`
/// characters of it, "…" for the rest (0: all).
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = 0);

/// As messages show a user's text: in quotes, printable, not too long.
[[nodiscard]] std::string in_marks(std::string_view text);

}  // namespace shunt::config
