#include <strategy/decide.hpp>

#include <shunt/sdk/hash.hpp>
#include <shunt/sdk/tiers.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>

namespace shunt::strategy {

namespace {

constexpr std::size_t max_tried = 16;
constexpr std::uint32_t max_looks = 65536;  // levels of filters looked at in one decision
constexpr std::size_t inline_words = 64;  // masks of up to 4,096 queues need no memory

/// What the application set on it, and nothing that shunt adds.
void list_properties(const message& m, std::vector<shunt_kv>& out)
{
    out.clear();
    if (m.has_keys())
        out.push_back({to_str("KEYS"), to_str(m.keys())});
    if (!m.tag().empty())
        out.push_back({to_str("TAGS"), to_str(m.tag())});
    for (const auto& [name, value] : m.properties())
        out.push_back({to_str(name), to_str(value)});
}

/// The message as a plugin sees it. Must not move: it points into itself.
struct facts {
    facts(const snapshot& s, const question& q, std::uint32_t wants) noexcept
    {
        std::uint32_t n = 0;
        for (const std::uint32_t id : q.tried) {
            for (std::uint32_t b = 0; b < s.view.n_brokers && n < max_tried; ++b) {
                if (s.view.brokers[b].id == id) {
                    tried[n++] = b;
                    break;
                }
            }
        }
        msg.struct_size = sizeof msg;
        msg.flags = (q.has_key ? SHUNT_MSG_HAS_KEY : 0u) | (q.ordered ? SHUNT_MSG_ORDERED : 0u);
        msg.key = to_str(q.key);
        if (q.has_key) {
            if ((wants & SHUNT_F_WANTS_HASH64) != 0)
                msg.hash64 = key_hash64(q.key);
            if ((wants & SHUNT_F_WANTS_JAVA_HASH) != 0)
                msg.java_hash = sdk::java_hash(q.key);
        }
        msg.attempt = q.attempt;
        msg.random = q.random;
        msg.now_ns = q.now_ns;
        msg.tried = tried.data();
        msg.n_tried = n;
        msg.body_len = q.body_len;
    }
    facts(const facts&) = delete;
    facts& operator=(const facts&) = delete;

    std::array<std::uint32_t, max_tried> tried;
    shunt_msg msg{};
};

why why_of(std::uint32_t code) noexcept { return code <= SHUNT_WHY_RANDOM ? static_cast<why>(code) : why::plugin; }

enum class said : std::uint8_t { queue, nothing_here, refused, abstained, failed };

/// Counts and tells that a selector or filter failed, or answered what cannot be. Off the way of sends that go well.
[[gnu::cold]] void plugin_failed(const snapshot& s, const selector_set::one& who, const char* call, shunt_status status, std::uint32_t queue)
{
    s.pol->plugin_errors.fetch_add(1, std::memory_order_relaxed);
    if (who.host == nullptr)
        return;
    std::string what = call;
    if (status == SHUNT_OK) {
        what += " answered queue index " + std::to_string(queue) + "; it must be below " + std::to_string(s.view.n_queues) + " and among the candidates";
    } else {
        const std::string text = host_table::take_error();
        what += text.empty() ? " answered status " + std::to_string(status) : ": " + text;
    }
    who.host->failed(what + "; best-queue's rule stands in");
}

/// Asks the chooser and believes nothing it says.
said ask(const snapshot& s, const selector_set::one& chooser, const shunt_view& view, const shunt_msg& msg, decision& out)
{
    shunt_pick pick{SHUNT_NONE, SHUNT_WHY_PLUGIN};
    const shunt_status status = chooser.table->select(chooser.instance, &view, &msg, &pick);
    if (status == SHUNT_OK) [[likely]] {
        const bool in_range = pick.queue_index < view.n_queues;
        const bool allowed = view.candidates == nullptr ||
                             (in_range && (view.candidates[pick.queue_index / 64] >> (pick.queue_index % 64) & 1) != 0);
        if (in_range && allowed) [[likely]] {
            out.picked = true;
            out.queue = pick.queue_index;
            out.because = why_of(pick.why);
            return said::queue;
        }
    } else if (status == SHUNT_NO_QUEUE) {
        return said::refused;
    } else if (status == SHUNT_ABSTAIN) {
        s.pol->abstained.fetch_add(1, std::memory_order_relaxed);
        return said::abstained;
    }
    plugin_failed(s, chooser, "select", status, pick.queue_index);
    return said::failed;
}

bool any_bit(const std::uint64_t* words, std::size_t n) noexcept
{
    return std::any_of(words, words + n, [](std::uint64_t w) { return w != 0; });
}

/// Health comes first: for each tier, for each level of the filters, the chooser picks among what is left.
said ask_filtered(const snapshot& s, selector_set& set, const shunt_msg& msg, decision& out)
{
    const std::size_t words = words_for(s.view.n_queues);
    std::array<std::uint64_t, 2 * inline_words> in_place;
    std::vector<std::uint64_t> on_heap;
    std::uint64_t* memory = in_place.data();
    if (words > inline_words) {
        on_heap.resize(2 * words);
        memory = on_heap.data();
    }
    std::uint64_t* const fits = memory;
    std::uint64_t* const level_mask = memory + words;
    shunt_view narrowed = s.view;

    // Levels of several filters count like the digits of a number, the first filter's the slowest.
    constexpr std::size_t max_filters = 8;
    const std::size_t n_filters = std::min(set.filters.size(), max_filters);
    bool refused = false, abstained = false;
    std::uint32_t looked = 0;
    const sdk::message message{msg};
    for (const sdk::tier t : sdk::tiers_of(message)) {
        const sdk::fitting in_tier{sdk::view{s.view}, message, t};
        std::array<std::uint32_t, max_filters> level{};
        for (std::size_t digit = 0;;) {
            if (++looked > max_looks) {  // a filter whose levels never end
                s.pol->plugin_errors.fetch_add(1, std::memory_order_relaxed);
                return said::nothing_here;
            }
            std::fill_n(fits, words, ~std::uint64_t{0});
            bool level_exists = true;
            for (digit = 0; digit < n_filters && level_exists; ++digit) {
                const selector_set::one& f = set.filters[digit];
                std::fill_n(level_mask, words, std::uint64_t{0});
                const shunt_status status = f.table->filter(f.instance, &s.view, &msg, level[digit], level_mask);
                if (status == SHUNT_OK) {
                    for (std::size_t w = 0; w < words; ++w)
                        fits[w] &= level_mask[w];
                } else {
                    if (status < 0)
                        plugin_failed(s, f, "filter", status, SHUNT_NONE);
                    level_exists = status != SHUNT_NO_QUEUE && status < 0 && level[digit] == 0;  // a broken filter narrows nothing
                    if (!level_exists)
                        break;
                }
            }
            if (!level_exists) {  // this digit is used up: the one before it goes on, the rest start anew
                if (digit == 0)
                    break;
                std::fill(level.begin() + static_cast<std::ptrdiff_t>(digit), level.end(), 0);
                ++level[digit - 1];
                continue;
            }
            for (std::uint32_t q = 0; q < s.view.n_queues; ++q) {
                if ((fits[q / 64] >> (q % 64) & 1) != 0 && !in_tier.has(q))
                    fits[q / 64] &= ~(std::uint64_t{1} << (q % 64));
            }
            if ((s.view.n_queues % 64) != 0)
                fits[words - 1] &= (std::uint64_t{1} << (s.view.n_queues % 64)) - 1;
            if (any_bit(fits, words)) {
                narrowed.candidates = fits;
                const said answer = ask(s, set.chooser, narrowed, msg, out);
                const bool first_choice = std::all_of(level.begin(), level.end(), [](std::uint32_t l) { return l == 0; });
                if (answer == said::queue && !first_choice && t == sdk::tier::untried_available && out.because != why::avoid_tried)
                    out.because = why::spill;  // the filters' first choice had nobody: worth more than the chooser's own word
                if (answer == said::queue || answer == said::failed)
                    return answer;
                (answer == said::refused ? refused : abstained) = true;
            }
            if (n_filters == 0)
                break;
            ++level[n_filters - 1];
        }
    }
    return refused && !abstained ? said::refused : said::nothing_here;
}

decision rotate(const snapshot& s, selector_set& set, const shunt_msg& msg)
{
    sdk::cursor c{set.fallback_cursor};
    const sdk::pick p = sdk::rotate(sdk::view{s.view}, sdk::message{msg}, c);
    set.fallback_cursor = c.at();
    decision d;
    if (p.found()) {
        d.picked = true;
        d.queue = p.queue();
        d.because = why::fallback;
    }
    return d;
}

}  // namespace

std::string_view to_string(why w) noexcept
{
    static constexpr std::array<std::string_view, 17> words{
        "plugin", "rotation", "avoid-tried", "avoid-isolated", "reachable-only", "last-resort", "all-tried", "key", "room",
        "spill",  "weight",   "load",        "random",         "caller",         "fallback",    "no-queue",  "expired"};
    return words[static_cast<std::size_t>(w)];
}

std::uint64_t key_hash64(std::string_view key) noexcept { return XXH3_64bits(key.data(), key.size()); }

decision decide(const snapshot& s, selector_set& set, const question& q)
{
    decision d;
    if (s.view.n_queues == 0)
        return d;
    facts f(s, q, set.wants);
    if ((set.wants & SHUNT_F_WANTS_PROPS) != 0 && q.properties_of != nullptr) {
        list_properties(*q.properties_of, set.properties);
        f.msg.props = set.properties.data();
        f.msg.n_props = static_cast<std::uint32_t>(set.properties.size());
    }
    const said answer = set.filters.empty() ? ask(s, set.chooser, s.view, f.msg, d) : ask_filtered(s, set, f.msg, d);
    switch (answer) {
    case said::queue: return d;
    case said::refused:
        d.refused = true;
        return d;
    case said::nothing_here:
    case said::abstained:
    case said::failed: return rotate(s, set, f.msg);
    }
    return d;
}

decision decide_fallback(const snapshot& s, selector_set& set, const question& q)
{
    if (s.view.n_queues == 0)
        return {};
    const facts f(s, q, 0);
    return rotate(s, set, f.msg);
}

}  // namespace shunt::strategy
