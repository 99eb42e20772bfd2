// What strategies are shown in the checks: routes and messages of every shape, and instances that are watched in each call.

#pragma once

#include <plugin/check/subject.hpp>

#include <shunt/sdk/abi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::plugin::check {

/// A route: `queues[i]` queues of broker i, ids from 1000 on, all well until said otherwise. `longer`: every struct has room
/// behind what is known today, filled with rubbish.
class route {
public:
    explicit route(std::vector<std::uint32_t> queues, std::uint64_t generation = 1, bool longer = false);
    /// `brokers` with `queues` each.
    static std::vector<std::uint32_t> even(std::uint32_t brokers, std::uint32_t queues) { return std::vector<std::uint32_t>(brokers, queues); }
    route(const route&) = delete;
    route& operator=(const route&) = delete;

    void isolate(std::uint32_t broker, bool reachable = true);
    void well(std::uint32_t broker);
    void only(const std::vector<std::uint32_t>& queues);
    void all_candidates() noexcept { known().candidates = nullptr; }

    [[nodiscard]] const shunt_view& view() const noexcept { return view_.known; }
    [[nodiscard]] shunt_view& known() noexcept { return view_.known; }
    [[nodiscard]] shunt_broker& broker(std::uint32_t i) noexcept { return *reinterpret_cast<shunt_broker*>(brokers_.data() + i * stride_); }
    [[nodiscard]] const shunt_broker* brokers() const noexcept { return reinterpret_cast<const shunt_broker*>(brokers_.data()); }
    [[nodiscard]] std::uint32_t stride() const noexcept { return stride_; }
    [[nodiscard]] shunt_load& load(std::uint32_t i) noexcept { return loads_[i]; }
    [[nodiscard]] std::uint32_t n_queues() const noexcept { return view_.known.n_queues; }
    [[nodiscard]] std::uint32_t n_brokers() const noexcept { return view_.known.n_brokers; }
    [[nodiscard]] std::uint32_t broker_of(std::uint32_t queue) const noexcept { return queues_[queue].broker; }
    [[nodiscard]] bool available(std::uint32_t queue) const noexcept { return (available_[queue / 64] >> (queue % 64) & 1) != 0; }
    /// All bytes a strategy may read, to be compared.
    [[nodiscard]] std::string bytes() const;

private:
    std::uint32_t stride_;
    std::deque<std::string> names_, rooms_;
    std::deque<shunt_load> loads_;
    std::vector<shunt_queue> queues_;
    std::vector<unsigned char> brokers_;
    std::vector<std::uint64_t> available_, reachable_, candidates_;
    struct {
        shunt_view known;
        std::uint64_t later[4];
    } view_{};
};

/// What the message is like.
struct message {
    std::string_view key{};
    bool has_key = false;
    std::vector<std::uint32_t> tried{};
    std::uint64_t random = 0;
    std::int64_t now_ns = 3'600'000'000'000;
    bool ordered = false;
    std::uint32_t body_len = 256;
    std::span<const shunt_kv> properties{};  ///< shown to those who want them
};

/// What applications set on their messages: none, or some more. For every four `n` in a row they differ.
[[nodiscard]] std::span<const shunt_kv> nth_properties(std::uint64_t n) noexcept;

struct answer {
    shunt_status status = SHUNT_OK;
    std::uint32_t queue = SHUNT_NONE, why = 0;
    friend bool operator==(const answer&, const answer&) = default;
};

/// One instance of the chosen selector.
class selector_instance {
public:
    /// Throws failed() where create refuses.
    selector_instance(subject& s, bench_host& h, std::uint32_t start = 0);
    ~selector_instance();
    selector_instance(const selector_instance&) = delete;
    selector_instance& operator=(const selector_instance&) = delete;

    /// The plain call: no judgement.
    [[nodiscard]] answer ask(const route& r, const message& m, bool longer = false);
    /// The call, judged: in range, among the candidates, a known status, a text with an error. Throws failed().
    answer select(const route& r, const message& m, bool longer = false);
    /// Destroys it now, as a call that is judged.
    void end();
    [[nodiscard]] shunt_selector* raw() const noexcept { return self_; }
    [[nodiscard]] std::uint32_t wants() const noexcept { return wants_; }
    /// Whether a host gives it `what`: it wants it, and its class declares that.
    [[nodiscard]] bool is_given(std::uint32_t what) const noexcept { return (wants_ & c_.flags & what) != 0; }

private:
    subject& s_;
    const shunt_selector_class& c_;
    shunt_selector* self_ = nullptr;
    std::uint32_t wants_ = 0;
};

/// What happened to an attempt.
struct event {
    std::uint32_t broker_id = 0;
    std::int64_t at_ns = 0;
    std::int32_t result = SHUNT_FB_GOOD, kind = SHUNT_FB_SEND;
    std::int64_t latency_ns = 5'000'000, share_ns = 3'000'000'000;
    std::int32_t code = 0;
    std::int64_t start_ns = INT64_MIN;  ///< unless said: at_ns less the latency
};

struct judgement {
    std::vector<bool> available, reachable;
    std::int64_t valid_until_ns = 0;
    friend bool operator==(const judgement& a, const judgement& b)
    {
        return a.available == b.available && a.reachable == b.reachable;
    }
};

/// One instance of the chosen fault strategy.
class fault_instance {
public:
    fault_instance(subject& s, bench_host& h);
    ~fault_instance();
    fault_instance(const fault_instance&) = delete;
    fault_instance& operator=(const fault_instance&) = delete;

    /// Judged: a known status, nothing written past the masks. Throws failed().
    judgement judge(const route& r, std::int64_t now_ns);
    /// True: judge again. `longer`: the structs have room behind what is known today.
    bool feed(std::span<const event> events, bool longer = false);
    bool feed(const event& e) { return feed(std::span(&e, 1)); }
    void end();
    [[nodiscard]] shunt_fault* raw() const noexcept { return self_; }

private:
    subject& s_;
    bench_host& host_;
    const shunt_fault_class& c_;
    shunt_fault* self_ = nullptr;
};

/// create() of the chosen strategy with these settings. The text of a refusal; throws failed() for what is neither.
struct creation {
    bool made = false;
    std::string refusal;
};
[[nodiscard]] creation try_create(subject& s, bench_host& h, const shunt_config& config, std::uint32_t start = 0);

/// "status -3 (\"text\")"
[[nodiscard]] std::string status_text(shunt_status status);

/// Feeds failures of each kind to broker `id` from `now` on until it is not available any more. False: it never was isolated.
bool isolate_by_failures(fault_instance& f, bench_host& h, const route& r, std::uint32_t broker);

/// Whether the chosen selector says that it goes by the key.
[[nodiscard]] bool goes_by_key(subject& s);

}  // namespace shunt::plugin::check
