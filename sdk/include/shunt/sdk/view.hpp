// What a selector looks at and answers, as C++ over the plain structs of abi.h: view, message, pick.
//
// These are thin: a pointer each, passed by value, nothing copied. They live as long as the call they came with.

#pragma once

#include <shunt/sdk/abi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

namespace shunt::sdk {

using nanoseconds = std::chrono::nanoseconds;

[[nodiscard]] constexpr std::string_view text(shunt_str s) noexcept
{
    return s.len == 0 ? std::string_view{} : std::string_view{s.ptr, static_cast<std::size_t>(s.len)};
}

[[nodiscard]] constexpr shunt_str str(std::string_view s) noexcept { return {s.data(), s.size()}; }

/// A broker of a view. Its load and latency change while you look: each call reads afresh, so read once and keep the number.
class broker_view {
public:
    explicit broker_view(const shunt_broker& b) noexcept : b_(&b) {}

    [[nodiscard]] std::string_view name() const noexcept { return text(b_->name); }
    [[nodiscard]] std::string_view room() const noexcept { return text(b_->room); }  ///< empty: none is known
    [[nodiscard]] std::uint32_t id() const noexcept { return b_->id; }               ///< the only thing to remember of a broker
    [[nodiscard]] std::uint32_t weight() const noexcept { return b_->weight; }
    [[nodiscard]] std::uint32_t first_queue() const noexcept { return b_->first_queue; }
    [[nodiscard]] std::uint32_t n_queues() const noexcept { return b_->n_queues; }
    [[nodiscard]] std::uint32_t end_queue() const noexcept { return b_->first_queue + b_->n_queues; }

    [[nodiscard]] std::uint32_t inflight() const noexcept { return __atomic_load_n(&b_->load->inflight, __ATOMIC_RELAXED); }

    /// Moving average from the write to the answer; zero: nothing measured.
    [[nodiscard]] nanoseconds latency() const noexcept
    {
        return nanoseconds{__atomic_load_n(&b_->load->ewma_latency_ns, __ATOMIC_RELAXED)};
    }

private:
    const shunt_broker* b_;
};

/// Brokers in order of name. They may be longer than this SDK knows, hence the stride.
class broker_list {
public:
    broker_list(const shunt_broker* first, std::uint32_t stride, std::uint32_t n) noexcept
        : first_(reinterpret_cast<const char*>(first)), stride_(stride), n_(n)
    {
    }

    [[nodiscard]] std::uint32_t size() const noexcept { return n_; }
    [[nodiscard]] broker_view operator[](std::uint32_t i) const noexcept
    {
        return broker_view{*reinterpret_cast<const shunt_broker*>(first_ + std::size_t{stride_} * i)};
    }

    class iterator {
    public:
        using value_type = broker_view;
        using difference_type = std::ptrdiff_t;
        using iterator_category = std::input_iterator_tag;

        iterator() noexcept = default;
        iterator(const char* at, std::uint32_t stride) noexcept : at_(at), stride_(stride) {}
        broker_view operator*() const noexcept { return broker_view{*reinterpret_cast<const shunt_broker*>(at_)}; }
        iterator& operator++() noexcept
        {
            at_ += stride_;
            return *this;
        }
        iterator operator++(int) noexcept
        {
            const iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.at_ == b.at_; }

    private:
        const char* at_ = nullptr;
        std::uint32_t stride_ = 0;
    };

    [[nodiscard]] iterator begin() const noexcept { return {first_, stride_}; }
    [[nodiscard]] iterator end() const noexcept { return {first_ + std::size_t{stride_} * n_, stride_}; }

private:
    const char* first_;
    std::uint32_t stride_;
    std::uint32_t n_;
};

/// The queues of a topic, what is known of their brokers, and who is well. There is at least one queue.
class view {
public:
    explicit view(const shunt_view& v) noexcept : v_(&v) {}

    [[nodiscard]] std::string_view topic() const noexcept { return text(v_->topic); }
    [[nodiscard]] std::uint32_t size() const noexcept { return v_->n_queues; }
    [[nodiscard]] std::span<const shunt_queue> queues() const noexcept { return {v_->queues, v_->n_queues}; }
    [[nodiscard]] broker_list brokers() const noexcept { return {v_->brokers, v_->broker_stride, v_->n_brokers}; }
    [[nodiscard]] broker_view broker(std::uint32_t index) const noexcept { return brokers()[index]; }
    [[nodiscard]] std::uint32_t broker_of(std::uint32_t queue) const noexcept { return v_->queues[queue].broker; }

    [[nodiscard]] bool available(std::uint32_t queue) const noexcept { return bit(v_->available, queue); }
    [[nodiscard]] bool reachable(std::uint32_t queue) const noexcept { return bit(v_->reachable, queue); }
    [[nodiscard]] bool candidate(std::uint32_t queue) const noexcept
    {
        return v_->candidates == nullptr || bit(v_->candidates, queue);
    }

    [[nodiscard]] std::uint64_t route_gen() const noexcept { return v_->route_gen; }      ///< to key a cache by
    [[nodiscard]] std::uint64_t verdict_gen() const noexcept { return v_->verdict_gen; }
    [[nodiscard]] const shunt_view& raw() const noexcept { return *v_; }

private:
    static bool bit(const std::uint64_t* mask, std::uint32_t i) noexcept { return (mask[i / 64] >> (i % 64) & 1) != 0; }

    const shunt_view* v_;
};

/// What a selector may know of the message.
class message {
public:
    explicit message(const shunt_msg& m) noexcept : m_(&m) {}

    [[nodiscard]] bool has_key() const noexcept { return (m_->flags & SHUNT_MSG_HAS_KEY) != 0; }
    [[nodiscard]] bool ordered() const noexcept { return (m_->flags & SHUNT_MSG_ORDERED) != 0; }
    [[nodiscard]] std::string_view key() const noexcept { return text(m_->key); }       ///< may be empty and still be there
    [[nodiscard]] std::uint64_t hash64() const noexcept { return m_->hash64; }          ///< XXH3-64 of the key, if wanted
    [[nodiscard]] std::int32_t java_hash() const noexcept { return m_->java_hash; }     ///< String.hashCode, if wanted
    [[nodiscard]] std::uint32_t attempt() const noexcept { return m_->attempt; }        ///< 1 for the first
    [[nodiscard]] std::uint64_t random() const noexcept { return m_->random; }          ///< fresh for each decision
    [[nodiscard]] nanoseconds now() const noexcept { return nanoseconds{m_->now_ns}; }  ///< monotonic
    [[nodiscard]] std::uint32_t body_size() const noexcept { return m_->body_len; }
    /// What the application set, if wanted: KEYS, TAGS and its own. See shunt_msg.
    [[nodiscard]] std::span<const shunt_kv> properties() const noexcept { return {m_->props, m_->n_props}; }
    /// One of them; nothing: it is not set.
    [[nodiscard]] std::optional<std::string_view> property(std::string_view name) const noexcept
    {
        for (const shunt_kv& p : properties())
            if (text(p.key) == name)
                return text(p.value);
        return {};
    }

    /// Brokers this send already tried, as indexes into the view's brokers.
    [[nodiscard]] std::span<const std::uint32_t> tried() const noexcept { return {m_->tried, m_->n_tried}; }
    [[nodiscard]] bool tried(std::uint32_t broker) const noexcept
    {
        for (const std::uint32_t t : tried())
            if (t == broker)
                return true;
        return false;
    }

    [[nodiscard]] const shunt_msg& raw() const noexcept { return *m_; }

private:
    const shunt_msg* m_;
};

/// Why a queue was picked: shown in receipts and decision logs.
enum class why : std::uint32_t {
    plugin = SHUNT_WHY_PLUGIN,
    rotation = SHUNT_WHY_ROTATION,
    avoid_tried = SHUNT_WHY_AVOID_TRIED,
    avoid_isolated = SHUNT_WHY_AVOID_ISOLATED,
    reachable_only = SHUNT_WHY_REACHABLE_ONLY,
    last_resort = SHUNT_WHY_LAST_RESORT,
    all_tried = SHUNT_WHY_ALL_TRIED,
    key = SHUNT_WHY_KEY,
    room = SHUNT_WHY_ROOM,
    spill = SHUNT_WHY_SPILL,
    weight = SHUNT_WHY_WEIGHT,
    load = SHUNT_WHY_LOAD,
    random = SHUNT_WHY_RANDOM,
};

/// A selector's answer: a queue and why, or a word that there is none.
class pick {
public:
    constexpr pick(std::uint32_t queue, sdk::why reason = sdk::why::plugin) noexcept : queue_(queue), why_(reason) {}

    [[nodiscard]] static constexpr pick abstain() noexcept { return pick{SHUNT_ABSTAIN, no_result{}}; }    ///< the fallback decides
    [[nodiscard]] static constexpr pick no_queue() noexcept { return pick{SHUNT_NO_QUEUE, no_result{}}; }  ///< refuses on purpose

    [[nodiscard]] constexpr shunt_status status() const noexcept { return status_; }
    [[nodiscard]] constexpr bool found() const noexcept { return status_ == SHUNT_OK; }
    [[nodiscard]] constexpr std::uint32_t queue() const noexcept { return queue_; }
    [[nodiscard]] constexpr sdk::why reason() const noexcept { return why_; }

    friend constexpr bool operator==(const pick&, const pick&) noexcept = default;

private:
    struct no_result {};
    constexpr pick(shunt_status status, no_result) noexcept : queue_(SHUNT_NONE), why_(sdk::why::plugin), status_(status) {}

    std::uint32_t queue_;
    sdk::why why_;
    shunt_status status_ = SHUNT_OK;
};

}  // namespace shunt::sdk
