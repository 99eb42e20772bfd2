#include <plugin/check/situation.hpp>

#include <strategy/decide.hpp>

#include <shunt/sdk/hash.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace shunt::plugin::check {

using strategy::in_quotes;

namespace {

constexpr unsigned char rubbish = 0xa5;
constexpr std::uint32_t room_behind = 32;

std::size_t words_for(std::uint32_t n) noexcept { return (n + 63) / 64; }

shunt_str str(std::string_view s) noexcept { return {s.data(), s.size()}; }

}  // namespace

std::string status_text(shunt_status status)
{
    const std::string text = bench_host::take_error();
    return text.empty() ? fmt::format("status {}", status) : fmt::format("status {} ({})", status, in_quotes(text));
}

// ---- routes ----

route::route(std::vector<std::uint32_t> queues, std::uint64_t generation, bool longer)
    : stride_(sizeof(shunt_broker) + (longer ? room_behind : 0))
{
    const auto n = static_cast<std::uint32_t>(queues.size());
    brokers_.assign(std::size_t{n} * stride_ + 8, rubbish);
    for (std::uint32_t b = 0; b < n; ++b) {
        names_.push_back(fmt::format("broker-{:05}", b));
        rooms_.push_back(b % 3 == 2 ? "" : fmt::format("hz-{}", b % 3 + 1));
        const shunt_broker one{.name = str(names_.back()), .room = str(rooms_.back()), .id = 1000 + b,
                               .flags = queues[b] > 0 ? SHUNT_BROKER_WRITABLE : 0, .weight = 1,
                               .first_queue = static_cast<std::uint32_t>(queues_.size()), .n_queues = queues[b], .reserved0 = 0,
                               .load = &loads_.emplace_back()};
        std::memcpy(&broker(b), &one, sizeof one);
        for (std::uint32_t q = 0; q < queues[b]; ++q)
            queues_.push_back({b, q});
    }
    const auto n_queues = static_cast<std::uint32_t>(queues_.size());
    available_.assign(words_for(n_queues), 0);
    for (std::uint32_t q = 0; q < n_queues; ++q)
        available_[q / 64] |= std::uint64_t{1} << (q % 64);
    reachable_ = available_;
    std::fill(std::begin(view_.later), std::end(view_.later), 0xa5a5a5a5a5a5a5a5u);
    view_.known = {.struct_size = longer ? static_cast<std::uint32_t>(sizeof view_) : static_cast<std::uint32_t>(sizeof(shunt_view)), .flags = 0,
                   .topic = str("orders"), .n_queues = n_queues, .n_brokers = n, .broker_stride = stride_, .reserved0 = 0,
                   .queues = queues_.data(), .brokers = brokers(), .available = available_.data(), .reachable = reachable_.data(),
                   .candidates = nullptr, .route_gen = generation, .verdict_gen = 1};
}

void route::isolate(std::uint32_t b, bool reachable)
{
    const shunt_broker& of = broker(b);
    for (std::uint32_t q = of.first_queue; q < of.first_queue + of.n_queues; ++q) {
        available_[q / 64] &= ~(std::uint64_t{1} << (q % 64));
        if (!reachable)
            reachable_[q / 64] &= ~(std::uint64_t{1} << (q % 64));
    }
    ++view_.known.verdict_gen;
}

void route::well(std::uint32_t b)
{
    const shunt_broker& of = broker(b);
    for (std::uint32_t q = of.first_queue; q < of.first_queue + of.n_queues; ++q) {
        available_[q / 64] |= std::uint64_t{1} << (q % 64);
        reachable_[q / 64] |= std::uint64_t{1} << (q % 64);
    }
    ++view_.known.verdict_gen;
}

void route::only(const std::vector<std::uint32_t>& queues)
{
    candidates_.assign(words_for(n_queues()), 0);
    for (const std::uint32_t q : queues)
        candidates_[q / 64] |= std::uint64_t{1} << (q % 64);
    view_.known.candidates = candidates_.data();
}

std::string route::bytes() const
{
    std::string all;
    const auto add = [&](const void* from, std::size_t n) { all.append(static_cast<const char*>(from), n); };
    add(&view_, sizeof view_);
    add(queues_.data(), queues_.size() * sizeof(shunt_queue));
    add(brokers_.data(), brokers_.size());
    for (const auto* mask : {&available_, &reachable_, &candidates_})
        add(mask->data(), mask->size() * 8);
    for (const std::string& name : names_)
        all += name;
    for (const shunt_load& l : loads_)
        add(&l, sizeof l);
    return all;
}

// ---- creating ----

creation try_create(subject& s, bench_host& h, const shunt_config& config, std::uint32_t start)
{
    const struct {
        shunt_instance known;
        std::uint64_t later[2];
    } instance{{sizeof instance, start}, {0xa5a5a5a5a5a5a5a5u, 0xa5a5a5a5a5a5a5a5u}};
    (void)bench_host::take_error();
    const auto judge = [&](shunt_status status, bool made) -> creation {
        if (status == SHUNT_OK && made)
            return {true, {}};
        if (status == SHUNT_OK)
            throw failed("create answered 0 and gave no instance");
        if (status > 0)
            throw failed(fmt::format("create answered status {}; it must be 0 or an error below 0", status));
        const std::string text = bench_host::take_error();
        if (text.empty())
            throw failed(fmt::format("create refused with status {} and no text through set_error", status));
        return {false, text};
    };
    const auto both = [&](const auto& c, auto* nothing) {
        auto* made = nothing;
        const shunt_status status = s.during(phase::create, [&] { return c.create(&h.table(), &config, &instance.known, &made); });
        const creation result = judge(status, made != nullptr);
        if (result.made)
            s.during(phase::destroy, [&] { c.destroy(made); });
        return result;
    };
    return s.chosen().kind == strategy::strategy_kind::selector ? both(s.selector(), static_cast<shunt_selector*>(nullptr))
                                                                : both(s.fault(), static_cast<shunt_fault*>(nullptr));
}

namespace {

template <typename Class, typename Handle>
Handle* create(subject& s, bench_host& h, const Class& c, std::uint32_t start, Handle* nothing)
{
    const shunt_instance instance{sizeof instance, start};
    (void)bench_host::take_error();
    Handle* made = nothing;
    const shunt_config& config = s.settings().config();
    const shunt_status status = s.during(phase::create, [&] { return c.create(&h.table(), &config, &instance, &made); });
    if (status != SHUNT_OK)
        throw failed(fmt::format("create with plain settings answered {}", status_text(status)));
    if (made == nullptr)
        throw failed("create answered 0 and gave no instance");
    return made;
}

}  // namespace

// ---- selectors ----

std::span<const shunt_kv> nth_properties(std::uint64_t n) noexcept
{
    static const std::array all{shunt_kv{str("KEYS"), str("order-1 customer-7")}, shunt_kv{str("TAGS"), str("created")}, shunt_kv{str("tenant"), str("acme")}};
    return std::span(all).first(n % 4);
}

selector_instance::selector_instance(subject& s, bench_host& h, std::uint32_t start)
    : s_(s), c_(s.selector()), self_(create(s, h, c_, start, static_cast<shunt_selector*>(nullptr))), wants_(c_.flags)
{
    if (c_.wants != nullptr)
        wants_ = s.during(phase::wants, [&] { return c_.wants(self_); });
}

selector_instance::~selector_instance()
{
    if (self_ == nullptr)
        return;
    s_.at(phase::destroy);
    c_.destroy(self_);
    s_.at(phase::host);
}

void selector_instance::end()
{
    shunt_selector* const self = std::exchange(self_, nullptr);
    s_.during(phase::destroy, [&] { c_.destroy(self); });
}

answer selector_instance::ask(const route& r, const message& m, bool longer)
{
    struct {
        shunt_msg known;
        std::uint64_t later[4];
    } given{{}, {0xa5a5a5a5a5a5a5a5u, 0xa5a5a5a5a5a5a5a5u, 0xa5a5a5a5a5a5a5a5u, 0xa5a5a5a5a5a5a5a5u}};
    shunt_msg& msg = given.known;
    msg.struct_size = longer ? sizeof given : sizeof msg;
    msg.flags = (m.has_key ? SHUNT_MSG_HAS_KEY : 0u) | (m.ordered ? SHUNT_MSG_ORDERED : 0u);
    msg.key = str(m.key);
    if (m.has_key && is_given(SHUNT_F_WANTS_HASH64))
        msg.hash64 = strategy::key_hash64(m.key);
    if (m.has_key && is_given(SHUNT_F_WANTS_JAVA_HASH))
        msg.java_hash = sdk::java_hash(m.key);
    msg.attempt = 1 + static_cast<std::uint32_t>(m.tried.size());
    msg.random = m.random;
    msg.now_ns = m.now_ns;
    msg.tried = m.tried.data();
    msg.n_tried = static_cast<std::uint32_t>(m.tried.size());
    msg.body_len = m.body_len;
    if (is_given(SHUNT_F_WANTS_PROPS)) {
        msg.props = m.properties.empty() ? nullptr : m.properties.data();
        msg.n_props = static_cast<std::uint32_t>(m.properties.size());
    }
    struct {
        shunt_pick known{SHUNT_NONE, 0};
        std::uint64_t guard = 0x5a5a5a5a5a5a5a5au;
    } out;
    const shunt_status status = s_.during(phase::select, [&] { return c_.select(self_, &r.view(), &msg, &out.known); });
    if (out.guard != 0x5a5a5a5a5a5a5a5au)
        throw failed("select wrote past the pick it was given");
    return {status, out.known.queue_index, out.known.why};
}

answer selector_instance::select(const route& r, const message& m, bool longer)
{
    const answer a = ask(r, m, longer);
    if (a.status < 0)
        throw failed(fmt::format("select answered {}", status_text(a.status)));
    if (a.status > SHUNT_NO_QUEUE)
        throw failed(fmt::format("select answered status {}, which it may not; it must be 0, {} (abstain), {} (no queue) or an error below 0",
                                 a.status, SHUNT_ABSTAIN, SHUNT_NO_QUEUE));
    if (a.status != SHUNT_OK)
        return a;
    if (a.queue >= r.n_queues())
        throw failed(fmt::format("picked queue index {} of {} queues", a.queue, r.n_queues()));
    const std::uint64_t* const candidates = r.view().candidates;
    if (candidates != nullptr && (candidates[a.queue / 64] >> (a.queue % 64) & 1) == 0)
        throw failed(fmt::format("picked queue index {}, which is none of the candidates", a.queue));
    return a;
}

bool goes_by_key(subject& s)
{
    return (s.selector().flags & (SHUNT_F_DETERMINISTIC | SHUNT_F_WANTS_HASH64 | SHUNT_F_WANTS_JAVA_HASH)) != 0;
}

// ---- fault strategies ----

fault_instance::fault_instance(subject& s, bench_host& h)
    : s_(s), host_(h), c_(s.fault()), self_(create(s, h, c_, 0, static_cast<shunt_fault*>(nullptr)))
{}

fault_instance::~fault_instance()
{
    if (self_ == nullptr)
        return;
    s_.at(phase::destroy);
    c_.destroy(self_);
    s_.at(phase::host);
}

void fault_instance::end()
{
    shunt_fault* const self = std::exchange(self_, nullptr);
    s_.during(phase::destroy, [&] { c_.destroy(self); });
}

judgement fault_instance::judge(const route& r, std::int64_t now_ns)
{
    constexpr std::uint64_t guard = 0x5a5a5a5a5a5a5a5au;
    host_.now = now_ns;
    const std::uint32_t n = r.n_brokers();
    const std::size_t words = words_for(n);
    std::vector<std::uint64_t> available(words + 1, 0), reachable(words + 1, 0);
    available.back() = reachable.back() = guard;
    struct {
        std::int64_t known = 0;
        std::uint64_t behind = guard;
    } until;
    const shunt_status status = s_.during(phase::evaluate, [&] {
        return c_.evaluate(self_, r.brokers(), r.stride(), n, now_ns, available.data(), reachable.data(), &until.known);
    });
    if (status != SHUNT_OK)
        throw failed(fmt::format("evaluate answered {}; it must be 0 or an error below 0", status_text(status)));
    if (available.back() != guard || reachable.back() != guard || until.behind != guard)
        throw failed(fmt::format("evaluate wrote past the masks of {} brokers", n));
    for (std::uint32_t i = n; i < words * 64; ++i)
        if (((available[i / 64] | reachable[i / 64]) >> (i % 64) & 1) != 0)
            throw failed(fmt::format("evaluate set bit {} of the masks of {} brokers", i, n));
    judgement j;
    j.valid_until_ns = until.known;
    for (std::uint32_t i = 0; i < n; ++i) {
        j.available.push_back((available[i / 64] >> (i % 64) & 1) != 0);
        j.reachable.push_back(j.available.back() || (reachable[i / 64] >> (i % 64) & 1) != 0);
    }
    return j;
}

bool fault_instance::feed(std::span<const event> events, bool longer)
{
    const std::uint32_t stride = sizeof(shunt_feedback) + (longer ? room_behind : 0);
    std::vector<unsigned char> bytes(events.size() * stride + 8, rubbish);
    for (std::size_t i = 0; i < events.size(); ++i) {
        const event& e = events[i];
        const std::int64_t start = e.start_ns != INT64_MIN ? e.start_ns : e.at_ns - std::clamp<std::int64_t>(e.latency_ns, 0, 60'000'000'000);
        const shunt_feedback f{.struct_size = stride, .kind = e.kind, .result = e.result, .broker_id = e.broker_id, .queue_id = 0, .attempt = 1,
                               .broker_code = e.result == SHUNT_FB_GOOD ? 0 : e.code, .reserved0 = 0, .at_ns = e.at_ns, .start_ns = start,
                               .latency_ns = e.latency_ns, .share_ns = e.share_ns, .generation = 1, .route_gen = 1};
        std::memcpy(bytes.data() + i * stride, &f, sizeof f);
    }
    if (!events.empty())
        host_.now = events.back().at_ns;
    const shunt_status status = s_.during(phase::feedback, [&] {
        return c_.on_feedback(self_, reinterpret_cast<const shunt_feedback*>(bytes.data()), stride, static_cast<std::uint32_t>(events.size()));
    });
    if (status < 0 || status > 1)
        throw failed(fmt::format("on_feedback answered {}; it must be 0 (nothing changed), 1 (evaluate again) or an error below 0, and "
                                 "an error to what a host may say is one too many", status_text(status)));
    return status == 1;
}

bool isolate_by_failures(fault_instance& f, bench_host& h, const route& r, std::uint32_t broker)
{
    const std::uint32_t id = 1000 + broker;
    for (const std::int32_t result : {SHUNT_FB_FAILED, SHUNT_FB_UNREACHABLE, SHUNT_FB_EXPIRED})
        for (int i = 0; i < 200; ++i) {
            h.now += 1'000'000;
            const std::int64_t latency = result == SHUNT_FB_EXPIRED ? 3'000'000'000 : 1'000'000;
            (void)f.feed({.broker_id = id, .at_ns = h.now, .result = result, .latency_ns = latency, .code = result == SHUNT_FB_FAILED ? 2 : -1});
            if (!f.judge(r, h.now).available[broker])
                return true;
        }
    for (int i = 0; i < 200; ++i) {
        h.now += 1'000'000;
        (void)f.feed({.broker_id = id, .at_ns = h.now, .latency_ns = 60'000'000'000});
        if (!f.judge(r, h.now).available[broker])
            return true;
    }
    return false;
}

}  // namespace shunt::plugin::check
