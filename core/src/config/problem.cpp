#include <config/problem.hpp>

#include <strategy/settings_check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace shunt::config {

std::string to_string(const problem& p)
{
    std::string text;
    if (!p.file.empty())
        text = p.line == 0 ? fmt::format("{}: ", p.file) : fmt::format("{}:{}:{}: ", p.file, p.line, p.column);
    if (p.key.empty())
        text += fmt::format("{}; expected {}", p.found, p.expected);
    else
        text += fmt::format("{} is {}; it must be {}", p.key, p.found, p.expected);
    if (!p.hint.empty())
        text += fmt::format(" ({})", p.hint);
    return text;
}

std::string lines(const std::vector<problem>& problems)
{
    std::string text;
    for (const problem& p : problems)
        text += (text.empty() ? "" : "\n") + to_string(p);
    return text;
}

void add_problem(std::vector<problem>& to, const source_position& where, std::string key, std::string found,
                 std::string expected, std::string hint)
{
    to.push_back({where.file, where.line, where.column, std::move(key), std::move(found), std::move(expected),
                  std::move(hint)});
}

void sort_by_place(std::vector<problem>& problems)
{
    std::stable_sort(problems.begin(), problems.end(), [](const problem& a, const problem& b) {
        return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    });
}

std::string printable(std::string_view text, std::size_t most)
{
    std::string out;
    std::size_t characters = 0;
    while (!text.empty()) {
        if (most != 0 && characters++ == most)
            return out + "…";
        const std::size_t bytes = strategy::utf8_length(text);
        const auto first = static_cast<unsigned char>(text.front());
        if (bytes == 0 || first < 0x20 || first == 0x7f)
            out += fmt::format("\\x{:02x}", first);
        else
            out += text.substr(0, bytes);
        text.remove_prefix(std::max<std::size_t>(bytes, 1));
    }
    return out;
}

std::string in_marks(std::string_view text)
{
    return fmt::format("'{}'", printable(text, 60));
}

}  // namespace shunt::config
