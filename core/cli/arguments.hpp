// Options of commands: read by the same rules as settings in files, so that both take and refuse the same things.

#pragma once

#include <config/names.hpp>
#include <config/value.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::cli {

/// A wrong argument: what was found, what would be right.
[[noreturn]] inline void refuse_argument(const std::string& name, std::string_view found, std::string_view expected,
                                         std::string_view hint = {})
{
    std::string text = name + " is " + config::in_marks(found) + "; it must be " + std::string(expected);
    if (!hint.empty())
        text += " (" + std::string(hint) + ")";
    throw CLI::ValidationError(text);
}

/// An argument as a file would have it: a number where it is one, else text.
[[nodiscard]] inline setting as_setting(const std::string& text)
{
    std::int64_t number = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (ec == std::errc{} && end == text.data() + text.size())
        return setting(number);
    return setting(text);
}

/// Adds an option read by one of the rules of config/value.hpp.
template <typename Rule, typename T>
CLI::Option* add_option(CLI::App& app, const std::string& flags, const Rule& rule, T& out, const std::string& help)
{
    const std::string name = flags.substr(flags.rfind(',') + 1);  // the long one
    CLI::Option* const option = app.add_option_function<std::string>(
        flags,
        [name, rule, &out](const std::string& text) {
            setting written = as_setting(text);
            if constexpr (std::same_as<Rule, config::byte_size>) {
                if (written.as<std::int64_t>() != nullptr)
                    written = setting(text + "B");
            } else if constexpr (!std::same_as<typename Rule::value, std::int64_t>) {
                written = setting(text);
            }
            const auto value = rule.read(written);
            if (!value || !rule.fits(*value))
                refuse_argument(name, text, rule.expected(), rule.hint(written));
            if constexpr (std::integral<T>)
                out = static_cast<T>(*value);
            else if constexpr (std::same_as<T, std::optional<int>>)
                out = static_cast<int>(*value);
            else
                out = *value;
        },
        help);
    if constexpr (requires { rule.words.words; }) {
        std::string words;
        for (const std::string& word : rule.words.words)
            words += (words.empty() ? "" : "|") + word;
        option->type_name(words);
    }
    return option;
}

/// Plain text; "[a]" and the like are not taken apart.
inline CLI::Option* add_text(CLI::App& app, const std::string& flags, std::string& out, const std::string& help)
{
    return app.add_option(flags, out, help)->allow_extra_args(false);
}

}  // namespace shunt::cli
