#include <route/order_conf.hpp>
#include <route/route.hpp>

#include <algorithm>

namespace shunt::route {
namespace {

constexpr std::size_t most_quoted = 4;  // parts a warning shows; a name server may send thousands of bad ones
constexpr std::size_t most_shown = 64;  // characters of each
constexpr std::size_t most_parts = 65536;

std::string_view trim(std::string_view s)
{
    while (!s.empty() && s.front() == ' ')
        s.remove_prefix(1);
    while (!s.empty() && s.back() == ' ')
        s.remove_suffix(1);
    return s;
}

enum class reading : std::uint8_t { good, cut, bad };

reading read_part(std::string_view text, order_conf::part& out)
{
    const auto colon = text.find(':');
    if (colon == std::string_view::npos)
        return reading::bad;
    out.broker = trim(text.substr(0, colon));
    const std::string_view count = trim(text.substr(colon + 1));
    const bool digits = !count.empty() && count.find_first_not_of("0123456789") == std::string_view::npos;
    if (out.broker.empty() || !digits)
        return reading::bad;
    std::int64_t n = 0;
    for (const char c : count)
        n = std::min<std::int64_t>(n * 10 + (c - '0'), max_queues_per_broker + 1);
    out.queues = static_cast<std::int32_t>(std::min<std::int64_t>(n, max_queues_per_broker));
    return n == 0 ? reading::bad : n > max_queues_per_broker ? reading::cut : reading::good;
}

class complaint {
public:
    void add(std::string_view part)
    {
        if (++count_ > most_quoted)
            return;
        text_ += count_ == 1 ? "\"" : ", \"";
        text_.append(part.substr(0, most_shown)).append(part.size() > most_shown ? "...\"" : "\"");
    }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] std::string text() const
    {
        return count_ > most_quoted ? text_ + " and " + std::to_string(count_ - most_quoted) + " more" : text_;
    }

private:
    std::string text_;
    std::size_t count_ = 0;
};

}  // namespace

order_conf read_order_conf(std::string_view text)
{
    order_conf out;
    complaint bad, cut;
    while (!text.empty()) {
        const auto end = text.find(';');
        const std::string_view item = trim(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        if (item.empty())
            continue;
        order_conf::part part;
        switch (out.parts.size() < most_parts ? read_part(item, part) : reading::bad) {
        case reading::bad: bad.add(item); continue;
        case reading::cut: cut.add(item); break;
        case reading::good: break;
        }
        out.parts.push_back(part);
    }
    // A broker that is named twice keeps its larger count, whichever came first.
    std::sort(out.parts.begin(), out.parts.end(), [](const order_conf::part& a, const order_conf::part& b) {
        return a.broker != b.broker ? a.broker < b.broker : a.queues > b.queues;
    });
    const auto same = [](const order_conf::part& a, const order_conf::part& b) { return a.broker == b.broker; };
    out.parts.erase(std::unique(out.parts.begin(), out.parts.end(), same), out.parts.end());

    if (!bad.empty())
        out.warning = "order configuration: skipped " + bad.text() + "; each part must be NAME:COUNT, COUNT at least 1";
    if (!cut.empty())
        out.warning += std::string{out.warning.empty() ? "order configuration: " : "; "} + "cut " + cut.text() + " to " +
                       std::to_string(max_queues_per_broker) + " queues";
    return out;
}

}  // namespace shunt::route
