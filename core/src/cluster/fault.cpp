#include <cluster/fault.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace shunt::cluster {
namespace {

constexpr std::string_view broker_commands = "latency D, code N [TEXT], refuse, hang [stored], drop [stored], half, close, "
                                             "garbage, twice, stall, perm N [TOPIC], queues N TOPIC, gone, move PORT, check, ok";
constexpr std::string_view name_server_commands = "hang, refuse, forget, stale, ok";

bool whole_number(std::string_view text, std::int32_t low, std::int32_t high, std::int32_t& out)
{
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
    return ec == std::errc{} && end == text.data() + text.size() && !text.empty() && low <= out && out <= high;
}

std::string_view trimmed(std::string_view text)
{
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// What stands after the word, when nothing may.
std::string too_much(std::string_view word, std::string_view rest)
{
    return fmt::format("'{}' after {}; nothing may follow it", rest, word);
}

std::string wrong_number(std::string_view what, std::string_view found, std::string_view right)
{
    return found.empty() ? fmt::format("{}: nothing follows; it must be {}", what, right)
                         : fmt::format("{} is '{}'; it must be {}", what, found, right);
}

/// Sets `out`; returns what is wrong.
std::string name_server_change(std::string_view word, std::string_view rest, change& out)
{
    if (!rest.empty() && (word == "hang" || word == "refuse" || word == "forget" || word == "stale" || word == "ok"))
        return too_much(word, rest);
    if (word == "hang")
        out = set_behaviour{.what = behaviour::hang, .stored = false, .code = 0, .text = {}};
    else if (word == "refuse")
        out = set_refuse{};
    else if (word == "forget")
        out = set_forget{};
    else if (word == "stale")
        out = set_stale{};
    else if (word == "ok")
        out = set_ok{};
    else
        return fmt::format("'{}' is not a command for the name server; there are {}", word, name_server_commands);
    return {};
}

std::string with_stored(behaviour what, std::string_view word, std::string_view rest, change& out)
{
    if (!rest.empty() && rest != "stored")
        return fmt::format("'{}' after {}; only 'stored' may follow it", rest, word);
    out = set_behaviour{.what = what, .stored = !rest.empty(), .code = 0, .text = {}};
    return {};
}

std::string broker_change(std::string_view word, std::string_view rest, change& out)
{
    if (word == "latency") {
        set_latency latency;
        if (!parse_duration(rest, latency.value))
            return wrong_number("latency", rest, "a duration such as 800ms or 2s");
        out = latency;
        return {};
    }
    if (word == "code") {
        const std::string_view number = next_word(rest);
        set_behaviour code{.what = behaviour::code, .stored = false, .code = 0, .text = std::string(trimmed(rest))};
        if (!whole_number(number, 0, 32767, code.code))
            return wrong_number("code", number, "a response code from 0 to 32767");
        out = code;
        return {};
    }
    if (word == "hang")
        return with_stored(behaviour::hang, word, rest, out);
    if (word == "drop")
        return with_stored(behaviour::drop, word, rest, out);
    if (word == "perm") {
        const std::string_view number = next_word(rest);
        const std::string_view topic = next_word(rest);
        set_perm perm{.perm = 0, .topic = std::string(topic)};
        if (!whole_number(number, 0, 7, perm.perm))
            return wrong_number("perm", number, "a number from 0 to 7 (4 read, 2 write)");
        if (!rest.empty())
            return too_much("perm N TOPIC", rest);
        out = perm;
        return {};
    }
    if (word == "queues") {
        const std::string_view number = next_word(rest);
        const std::string_view topic = next_word(rest);
        set_queues queues{.queues = 0, .topic = std::string(topic)};
        if (!whole_number(number, 0, 65535, queues.queues))
            return wrong_number("queues", number, "a number from 0 to 65535");
        if (topic.empty())
            return "queues N without a topic; it must be queues N TOPIC";
        if (!rest.empty())
            return too_much("queues N TOPIC", rest);
        out = queues;
        return {};
    }
    if (word == "move") {
        std::int32_t port = 0;
        if (!whole_number(rest, 0, 65535, port))
            return wrong_number("move", rest, "a port from 0 to 65535 (0: a free one)");
        out = set_move{static_cast<std::uint16_t>(port)};
        return {};
    }

    const auto alone = [&](const change& what) {
        if (!rest.empty())
            return too_much(word, rest);
        out = what;
        return std::string{};
    };
    const auto behave = [&](behaviour what) {
        return alone(set_behaviour{.what = what, .stored = false, .code = 0, .text = {}});
    };
    if (word == "refuse")
        return alone(set_refuse{});
    if (word == "half")
        return behave(behaviour::half);
    if (word == "close")
        return behave(behaviour::close);
    if (word == "garbage")
        return behave(behaviour::garbage);
    if (word == "twice")
        return behave(behaviour::twice);
    if (word == "stall")
        return alone(set_stall{});
    if (word == "gone")
        return alone(set_gone{});
    if (word == "check")
        return alone(check_transactions{});
    if (word == "ok")
        return alone(set_ok{});
    return fmt::format("'{}' is not a command for a broker; there are {}", word, broker_commands);
}

}  // namespace

std::string_view next_word(std::string_view& text) noexcept
{
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) {
        text = {};
        return {};
    }
    text.remove_prefix(first);
    const auto end = text.find_first_of(" \t\r");
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(word.size());
    const auto next = text.find_first_not_of(" \t\r");
    text = next == std::string_view::npos ? std::string_view{} : text.substr(next);
    return word;
}

bool parse_duration(std::string_view text, std::chrono::microseconds& out) noexcept
{
    double number = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (ec != std::errc{} || !(number >= 0))
        return false;
    const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    double scale = 0;
    if (unit == "us")
        scale = 1;
    else if (unit == "ms")
        scale = 1e3;
    else if (unit == "s")
        scale = 1e6;
    else if (unit == "m")
        scale = 60e6;
    else if (unit == "h")
        scale = 3600e6;
    else
        return false;
    const double value = number * scale;
    if (!(value <= 1e15))
        return false;
    out = std::chrono::microseconds(std::llround(value));
    return true;
}

std::string parse_fault(std::string_view line, fault_command& out)
{
    std::string_view rest = trimmed(line);
    const std::string_view subject = next_word(rest);
    const std::string_view word = next_word(rest);
    if (subject.empty())
        return "an empty command; it must be BROKER COMMAND, for example: broker-b latency 800ms";
    const bool to_name_server = subject == name_server_subject;
    if (word.empty())
        return fmt::format("nothing follows '{}'; there are {}", subject, to_name_server ? name_server_commands : broker_commands);
    out.subject = subject;
    return to_name_server ? name_server_change(word, rest, out.what) : broker_change(word, rest, out.what);
}

}  // namespace shunt::cluster
