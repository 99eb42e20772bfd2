#include <simulate/text.hpp>

#include <fmt/format.h>

#include <iterator>

namespace shunt::simulate {

void append_quoted(std::string& out, std::string_view text)
{
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    out += '"';
}

void append_json(std::string& out, const line& l)
{
    const auto at = std::back_inserter(out);
    fmt::format_to(at, R"({{"t_ms":{},"send":{},"attempt":{},"thread":{},"key":)", l.t_ms, l.send, l.attempt, l.thread);
    if (l.key)
        append_quoted(out, *l.key);
    else
        out += "null";
    if (l.broker) {
        out += R"(,"broker":)";
        append_quoted(out, *l.broker);
        fmt::format_to(at, R"(,"queue":{})", l.queue);
    } else {
        out += R"(,"broker":null,"queue":null)";
    }
    fmt::format_to(at, R"(,"outcome":"{}")", to_string(l.outcome));
    if (l.code)
        fmt::format_to(at, R"(,"code":{})", *l.code);
    else
        out += R"(,"code":null)";
    fmt::format_to(at, R"(,"latency_ms":{},"generation":{},"why":"{}")", l.latency_ms, l.generation, strategy::to_string(l.why));
    out += "}\n";
}

std::string to_json(const summary& s)
{
    std::string out;
    const auto at = std::back_inserter(out);
    fmt::format_to(at, R"({{"sends":{},"stored":{},"failed":{{"not_sent":{},"unknown":{},"rejected":{}}},"attempts":{},"brokers":[)", s.sends,
                   s.stored, s.not_sent, s.unknown, s.rejected, s.attempts);
    for (const summary::of_broker& b : s.brokers) {
        out += &b == s.brokers.data() ? R"({"broker":)" : R"(,{"broker":)";
        append_quoted(out, b.broker);
        fmt::format_to(at, R"(,"attempts":{},"stored":{}}})", b.attempts, b.stored);
    }
    out += R"(],"queues":[)";
    for (const summary::of_queue& q : s.queues) {
        out += &q == s.queues.data() ? R"({"broker":)" : R"(,{"broker":)";
        append_quoted(out, q.broker);
        fmt::format_to(at, R"(,"queue":{},"attempts":{},"stored":{}}})", q.queue, q.attempts, q.stored);
    }
    if (const auto& l = s.latency_ms)
        fmt::format_to(at, R"(],"latency_ms":{{"p50":{},"p90":{},"p99":{},"max":{}}})", l->p50, l->p90, l->p99, l->max);
    else
        out += R"(],"latency_ms":{"p50":null,"p90":null,"p99":null,"max":null})";
    fmt::format_to(at, R"(,"generation":{},"end_ms":{}}})", s.generation, s.end_ms);
    return out;
}

}  // namespace shunt::simulate
