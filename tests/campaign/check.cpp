#include <campaign/history.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace shunt::campaign {

namespace {

constexpr std::size_t most_of_a_kind = 3;

class findings {
public:
    void add(std::string_view kind, std::string text)
    {
        if (seen_[std::string(kind)]++ < most_of_a_kind)
            all_.push_back({std::string(kind), std::move(text)});
    }
    [[nodiscard]] std::vector<problem> take() && { return std::move(all_); }

private:
    std::vector<problem> all_;
    std::map<std::string, std::size_t> seen_;
};

std::string named(const sent_message& m)
{
    return fmt::format("message {} ({}{}): {}", m.number, to_string(m.how), m.key < 0 ? "" : fmt::format(", key {}", m.key), m.told);
}

std::string shown(const std::vector<const copy*>& copies)
{
    std::string text;
    for (const copy* c : copies)
        text += fmt::format("{}{}/{} at {}", text.empty() ? "" : ", ", c->broker, c->queue, c->offset);
    return text.empty() ? "nowhere" : text;
}

/// Where a broker puts it first.
shelf first_shelf(way how)
{
    return how == way::transaction ? shelf::half : how == way::timed ? shelf::held : shelf::topic;
}

struct copies {
    std::vector<const copy*> first, delivered;  // delivered: taken from where it was held
};

void check_copies(findings& found, const sent_message& m, const copies& at, std::uint32_t max_attempts)
{
    const int n = static_cast<int>(at.first.size());
    const int most = m.given_up ? static_cast<int>(max_attempts) : m.stored_attempts + m.unknown_attempts;
    const auto say = [&](std::string_view kind) {
        found.add(kind, fmt::format("{}; it lies {}", named(m), shown(at.first)));
    };
    if (m.outcome == outcome::stored && n == 0)
        say("stored but lost");
    else if ((m.outcome == outcome::not_sent || m.outcome == outcome::rejected) && n != 0)
        say(m.outcome == outcome::not_sent ? "not_sent but stored" : "rejected but stored");
    else if (n < m.stored_attempts)
        say("a stored attempt left no copy");
    else if (n > most)
        say("a copy that no attempt explains");
    if (m.outcome == outcome::stored && m.offset >= 0) {
        const auto there = [&](const copy* c) {
            return c->broker == m.broker && c->offset == m.offset && (c->queue == m.queue || c->where != shelf::topic);
        };
        if (n != 0 && std::none_of(at.first.begin(), at.first.end(), there))
            say("not where the receipt says");
    }
    if (at.delivered.size() > at.first.size())
        found.add("delivered too often", fmt::format("{}; it was delivered {}", named(m), shown(at.delivered)));
    if (m.how == way::transaction) {
        if (m.end != transaction_end::commit && !at.delivered.empty())
            found.add("delivered though not committed", named(m));
        if (m.end == transaction_end::commit && m.confirmed && at.delivered.empty())
            found.add("committed but not delivered", named(m));
    }
}

/// The outcome is what the attempts say.
void check_verdict(findings& found, const sent_message& m)
{
    if (m.given_up || m.attempts == 0)
        return;
    const bool right = m.stored_attempts > 0    ? m.outcome == outcome::stored
                       : m.unknown_attempts > 0 ? m.outcome == outcome::unknown
                                                : m.outcome == outcome::not_sent || m.outcome == outcome::rejected;
    if (!right)
        found.add("the outcome is not what the attempts say", named(m));
}

/// The place of its first copy in the order of storing; beyond all others: there is none.
std::uint64_t first_copy(const std::map<int, copies>& at, const sent_message& m)
{
    const auto it = at.find(m.number);
    return it == at.end() || it->second.first.empty() ? UINT64_MAX : it->second.first.front()->sequence;
}

/// Of a key, the first copies of what ended stored lie in the order of sending; who came after one that ended unknown was told.
void check_order(findings& found, const std::vector<sent_message>& sent, const std::map<int, copies>& at)
{
    struct last {
        const sent_message* stored = nullptr;
        const sent_message* before = nullptr;
        std::uint64_t sequence = 0;
    };
    std::map<int, last> keys;
    for (const sent_message& m : sent) {
        if (m.key < 0 || m.completions == 0)
            continue;
        last& key = keys[m.key];
        const bool tried = m.attempts > 0 && !m.given_up;
        const bool doubted = key.before != nullptr && key.before->outcome == outcome::unknown && key.before->attempts > 0;
        // In one batch with it, it lies behind it whatever was heard of that.
        if (tried && m.outcome == outcome::stored && doubted && !m.after_unknown && first_copy(at, *key.before) > first_copy(at, m))
            found.add("not told of the doubt before it", fmt::format("{}; the one before it, {}", named(m), named(*key.before)));
        key.before = &m;
        const auto it = at.find(m.number);
        if (m.outcome != outcome::stored || it == at.end() || it->second.first.empty())
            continue;
        const std::uint64_t sequence = it->second.first.front()->sequence;
        if (key.stored != nullptr && sequence < key.sequence)
            found.add("overtaken in its lane", fmt::format("{} lies behind {}", named(*key.stored), named(m)));
        key.stored = &m;
        key.sequence = sequence;
    }
}

void check_counts(findings& found, const history& h)
{
    const tally& c = h.counts;
    if (c.stored + c.not_sent + c.unknown + c.rejected != c.sends)
        found.add("counters do not add up", fmt::format("{} sends, but {} stored + {} not_sent + {} unknown + {} rejected", c.sends, c.stored,
                                                        c.not_sent, c.unknown, c.rejected));
    if (c.sends < c.calls || c.sends > c.calls + c.requests)
        found.add("counters do not add up", fmt::format("{} sends counted; {} were made, and {} requests", c.sends, c.calls, c.requests));
    if (c.in_flight_messages != 0 || c.in_flight_bytes != 0)
        found.add("room is not given back", fmt::format("{} messages and {} bytes in flight at the end", c.in_flight_messages, c.in_flight_bytes));
    if (c.lanes != 0)
        found.add("a lane is left", fmt::format("{} lanes at the end", c.lanes));
    if (c.most_in_flight > c.max_in_flight)
        found.add("the limit is not kept", fmt::format("{} messages in flight; the limit is {}", c.most_in_flight, c.max_in_flight));
    if (h.before.descriptors != h.after.descriptors)
        found.add("descriptors", fmt::format("{} before the round, {} after it", h.before.descriptors, h.after.descriptors));
    if (h.before.threads != h.after.threads)
        found.add("threads", fmt::format("{} before the round, {} after it", h.before.threads, h.after.threads));
    if (!h.closed_in_time)
        found.add("close() takes too long", "it returned later than its deadline");
}

}  // namespace

std::string_view to_string(way w) noexcept
{
    static constexpr std::array<std::string_view, 8> names{"sync", "async", "one-way", "batch", "ordered", "transaction", "timed", "request"};
    return names[static_cast<std::size_t>(w)];
}

std::vector<problem> check(const history& h)
{
    findings found;
    std::map<int, const sent_message*> by_number;
    for (const sent_message& m : h.sent)
        by_number[m.number] = &m;
    std::map<int, copies> at;
    for (const copy& c : h.ledger) {
        const auto it = by_number.find(c.number);
        if (it == by_number.end()) {
            found.add("a message nobody sent", fmt::format("number {} in {}/{} at {}", c.number, c.broker, c.queue, c.offset));
            continue;
        }
        if (!c.intact)
            found.add("a body that is not what was sent", fmt::format("{}; in {}/{} at {}", named(*it->second), c.broker, c.queue, c.offset));
        copies& all = at[c.number];
        (c.where == first_shelf(it->second->how) ? all.first : all.delivered).push_back(&c);
    }
    for (auto& [number, all] : at)
        std::sort(all.first.begin(), all.first.end(), [](const copy* a, const copy* b) { return a->sequence < b->sequence; });
    for (const sent_message& m : h.sent) {
        if (m.completions == 0) {
            found.add("lost completion", fmt::format("message {} ({})", m.number, to_string(m.how)));
            continue;
        }
        if (m.completions > 1)
            found.add("double completion", fmt::format("{}; {} times", named(m), m.completions));
        check_verdict(found, m);
        check_copies(found, m, at[m.number], h.max_attempts);
        if (m.took > m.limit + h.grace)
            found.add("later than promised", fmt::format("{}; took {} ms, promised were {} ms", named(m), m.took.count(), m.limit.count()));
    }
    check_order(found, h.sent, at);
    check_counts(found, h);
    return std::move(found).take();
}

}  // namespace shunt::campaign
