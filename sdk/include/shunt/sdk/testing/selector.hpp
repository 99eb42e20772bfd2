// Drives one instance of a selector through its C table.
//
//     selector s{plugin{"build/libsticky_queue.so"}, {{"run", 3}}, {.start = 5}};
//     s.pick("a*2, b*2", {.key = "order-7", .tried = {"a"}});      "b/0"

#pragma once

#include <shunt/sdk/abi.h>
#include <shunt/sdk/hash.hpp>
#include <shunt/sdk/testing/instance.hpp>
#include <shunt/sdk/testing/plugin.hpp>
#include <shunt/sdk/testing/route.hpp>
#include <shunt/sdk/testing/settings.hpp>
#include <shunt/sdk/testing/xxh3.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::sdk::testing {

/// What a test says of a message. Hashes are worked out as the host does, where the strategy wants them, unless given.
struct msg {
    std::optional<std::string> key = {};   ///< nothing: no key; "" is a key
    std::vector<std::string> tried = {};   ///< brokers this send tried, by name; those not in the route are left out
    bool ordered = false;
    std::uint32_t attempt = 0;             ///< 0: one more than `tried`
    std::uint32_t body_size = 100;
    std::vector<std::pair<std::string, std::string>> properties = {};  ///< shown where the strategy wants them
    std::optional<std::uint64_t> random = {};
    std::optional<std::uint64_t> hash64 = {};
    std::optional<std::int32_t> java_hash = {};
};

/// How often each queue (or broker) was picked.
using counts = std::map<std::string, int>;

/// Counts per broker out of counts per queue.
[[nodiscard]] inline counts by_broker(const counts& queues)
{
    counts all;
    for (const auto& [q, n] : queues)
        all[broker_of(q)] += n;
    return all;
}

/// One decision. The host believes nothing a plugin says, nor does the kit.
struct answer {
    shunt_status status = SHUNT_OK;
    shunt_pick pick{SHUNT_NONE, SHUNT_WHY_PLUGIN};
    std::string problem = {};  ///< what a host would count as the plugin's error; empty: nothing

    [[nodiscard]] bool picked() const noexcept { return status == SHUNT_OK && problem.empty(); }
};

class selector : public detail::instance_of<shunt_selector_class, shunt_selector> {
public:
    explicit selector(const plugin& p, const settings& given = {}, start_at at = {}) : selector(p, given, at, true) {}
    selector(const plugin& p, unchecked_t, const settings& given, start_at at = {}) : selector(p, given, at, false) {}

    /// One decision, with all there is to know about it.
    answer ask(const route& r, const msg& m = {})
    {
        must_be_made();
        ++calls;
        if (r.size() == 0)
            misuse("a selector is asked about a route without queues; a host never does that");
        facts f{r, m, wants_};
        f.c.random = m.random ? *m.random : host_.dice();
        f.c.now_ns = host_.now.count();
        return ask_raw(r, f.c);
    }

    /// The same with the C struct as it is: for what `msg` cannot say. May be called from several threads.
    answer ask_raw(const route& r, const shunt_msg& m)
    {
        answer a;
        a.status = table_.select(instance_, &r.view(), &m, &a.pick);
        if (a.status == SHUNT_OK && a.pick.queue_index >= r.size())
            a.problem = "picked queue index " + std::to_string(a.pick.queue_index) + "; it must be below " + std::to_string(r.size());
        else if (a.status == SHUNT_OK && !r.candidate(a.pick.queue_index))
            a.problem = "picked " + r.name(a.pick.queue_index) + ", which is not among the candidates";
        else if (a.status == SHUNT_OK && a.pick.why > SHUNT_WHY_RANDOM)
            a.problem = "gave the reason " + std::to_string(a.pick.why) + "; it must be one of SHUNT_WHY_*";
        else if (a.status > SHUNT_NO_QUEUE)
            a.problem = "answered status " + std::to_string(a.status) + "; it must be SHUNT_OK, SHUNT_ABSTAIN, SHUNT_NO_QUEUE or an error";
        else if (a.status < 0)
            a.problem = host_.last_error();
        if (a.status < 0 && a.problem.empty())
            a.problem = "failed with status " + std::to_string(a.status) + " and no text";
        return a;
    }

    /// The queue's name, "a/0"; or "abstain", "no queue", "error: ...".
    std::string pick(const route& r, const msg& m = {})
    {
        const answer a = ask(r, m);
        if (!a.problem.empty())
            return "error: " + a.problem;
        return a.status == SHUNT_ABSTAIN ? "abstain" : a.status == SHUNT_NO_QUEUE ? "no queue" : r.name(a.pick.queue_index);
    }

    /// `n` picks, one after the other: "a/0 a/1 b/0".
    std::string picks(const route& r, int n, const msg& m = {})
    {
        std::string all;
        for (int i = 0; i < n; ++i)
            all += (i > 0 ? " " : "") + pick(r, m);
        return all;
    }

    counts count(const route& r, int n, const msg& m = {})
    {
        counts all;
        for (int i = 0; i < n; ++i)
            ++all[pick(r, m)];
        return all;
    }

    /// One send whose attempts all fail: the queues it tries.
    std::string failing_send(const route& r, int attempts, msg m = {})
    {
        std::string all;
        for (int i = 0; i < attempts; ++i) {
            const std::string q = pick(r, m);
            all += (i > 0 ? " " : "") + q;
            if (const std::string b = broker_of(q); std::ranges::find(m.tried, b) == m.tried.end())
                m.tried.push_back(b);
        }
        return all;
    }

    /// The queues of a filter's preference level, "a/0 a/1"; or "no such level", "error: ...".
    std::string filter(const route& r, std::uint32_t level, const msg& m = {})
    {
        must_be_made();
        if (table_.filter == nullptr)
            misuse(std::string{text(table_.name)} + " offers no filter");
        facts f{r, m, wants_};
        f.c.random = m.random ? *m.random : host_.dice();
        f.c.now_ns = host_.now.count();
        std::vector<std::uint64_t> mask(r.words());
        const shunt_status s = table_.filter(instance_, &r.view(), &f.c, level, mask.data());
        if (s < 0)
            return "error: " + host_.error;
        if (s == SHUNT_NO_QUEUE)
            return "no such level";
        if (r.size() % 64 != 0 && mask.back() >> (r.size() % 64) != 0)
            return "error: set bits past the last queue";
        std::string all;
        for (std::uint32_t q = 0; q < r.size(); ++q)
            if ((mask[q / 64] >> (q % 64) & 1) != 0)
                all += (all.empty() ? "" : " ") + r.name(q);
        return all;
    }

    /// Nothing: it offers no state. Empty too if it failed; host().error tells.
    std::optional<std::string> export_state()
    {
        must_be_made();
        if (table_.export_state == nullptr)
            return std::nullopt;
        std::string bytes;
        return write_state(bytes) == SHUNT_OK ? bytes : std::string{};
    }
    shunt_status import_state(std::uint32_t schema, std::string_view bytes) { return read_state(schema, bytes); }

    int calls = 0;  ///< how often it was asked

private:
    // The message in C, with what it points to.
    struct facts {
        facts(const route& r, const msg& m, std::uint32_t wants)
        {
            for (const std::string& b : m.tried)
                if (const std::uint32_t i = r.index(b); i != SHUNT_NONE && std::ranges::find(tried, i) == tried.end())
                    tried.push_back(i);
            if ((wants & SHUNT_F_WANTS_PROPS) != 0)
                for (const auto& [name, value] : m.properties)
                    properties.push_back({str(name), str(value)});
            c.struct_size = sizeof c;
            c.flags = (m.key ? SHUNT_MSG_HAS_KEY : 0u) | (m.ordered ? SHUNT_MSG_ORDERED : 0u);
            if (m.key) {
                c.key = str(*m.key);
                if ((wants & SHUNT_F_WANTS_HASH64) != 0)
                    c.hash64 = m.hash64 ? *m.hash64 : xxh3_64(*m.key);
                if ((wants & SHUNT_F_WANTS_JAVA_HASH) != 0)
                    c.java_hash = m.java_hash ? *m.java_hash : java_hash(*m.key);
            }
            c.attempt = m.attempt != 0 ? m.attempt : static_cast<std::uint32_t>(m.tried.size()) + 1;
            c.tried = tried.data();
            c.n_tried = static_cast<std::uint32_t>(tried.size());
            c.body_len = m.body_size;
            c.props = properties.data();
            c.n_props = static_cast<std::uint32_t>(properties.size());
        }
        facts(const facts&) = delete;
        facts& operator=(const facts&) = delete;

        shunt_msg c{};
        std::vector<std::uint32_t> tried;
        std::vector<shunt_kv> properties;
    };

    selector(const plugin& p, const settings& given, start_at at, bool checked) : instance_of(p.selector(), "selector", given, at, checked)
    {
        if (instance_ != nullptr && status() == SHUNT_OK)
            wants_ = table_.wants != nullptr ? table_.flags & table_.wants(instance_) : table_.flags;
    }

    std::uint32_t wants_ = 0;
};

}  // namespace shunt::sdk::testing
