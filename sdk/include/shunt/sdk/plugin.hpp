// Turns plain C++20 classes into a shunt plugin: a class with `select` is a selector, one with `evaluate` a fault strategy.
//
//     class first_queue {
//     public:
//         static constexpr std::string_view name = "first-queue", summary = "always the first queue";
//         shunt::sdk::pick select(shunt::sdk::view, shunt::sdk::message) const noexcept { return 0u; }
//     };
//     SHUNT_PLUGIN("example.first-queue", "1.0.0", "Apache-2.0", first_queue)
//
// What a class may have beside that: sdk/README.md. Nothing thrown leaves the plugin; builds with -fno-exceptions too.

#pragma once

#include <shunt/sdk/abi.h>
#include <shunt/sdk/view.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#define SHUNT_SDK_VERSION "1.0"

namespace shunt::sdk {

// ---- settings ----

enum class type : std::int32_t {
    boolean = SHUNT_T_BOOL,
    integer = SHUNT_T_I64,
    real = SHUNT_T_F64,
    string = SHUNT_T_STR,
    duration = SHUNT_T_DURATION_NS,
    size = SHUNT_T_SIZE,
};

/// One setting of a strategy, for a `static constexpr param params[]`. The host checks files against these before the
/// constructor runs. Bounds count in nanoseconds for durations and bytes for sizes; both 0: any. For arrays they hold for
/// each element.
struct param {
    std::string_view name;
    sdk::type type = sdk::type::string;
    bool array = false;
    std::string_view default_text{};  ///< as a user would write it: "\"10s\"", "10", "[]"; empty: there is none
    std::string_view unit{};
    std::string_view choices{};       ///< "java|murmur2"
    double min = 0, max = 0;
    std::uint32_t min_count = 0;      ///< array: fewest elements
    bool required = false;
    std::string_view help{};          ///< one line
};

inline constexpr double milliseconds = 1e6, seconds = 1e9;  ///< for a param's bounds

namespace detail {

// What is wrong with the settings, gathered without exceptions.
struct refusals {
    std::string text;
    void add(std::string_view problem)
    {
        if (!text.empty())
            text += "; ";
        text += problem;
    }
};

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

/// The C++ value of a setting, if it has the type asked for.
template <class T>
std::optional<T> convert(const shunt_config& c, const shunt_value& v)
{
    if constexpr (is_vector<T>) {
        if (v.type != SHUNT_T_ARRAY)
            return std::nullopt;
        T all;
        for (std::uint32_t i = 0; i < v.count; ++i) {
            shunt_value element{};
            if (c.at(v.node, i, &element) != SHUNT_OK)
                return std::nullopt;
            auto one = convert<typename T::value_type>(c, element);
            if (!one)
                return std::nullopt;
            all.push_back(std::move(*one));
        }
        return all;
    } else if constexpr (std::same_as<T, bool>) {
        return v.type == SHUNT_T_BOOL ? std::optional<T>{v.i64 != 0} : std::nullopt;
    } else if constexpr (std::same_as<T, nanoseconds>) {
        return v.type == SHUNT_T_DURATION_NS ? std::optional<T>{v.i64} : std::nullopt;
    } else if constexpr (std::integral<T>) {
        const bool number = v.type == SHUNT_T_I64 || v.type == SHUNT_T_SIZE;
        return number && std::in_range<T>(v.i64) ? std::optional<T>{static_cast<T>(v.i64)} : std::nullopt;
    } else if constexpr (std::floating_point<T>) {
        if (v.type == SHUNT_T_F64)
            return static_cast<T>(v.f64);
        return v.type == SHUNT_T_I64 ? std::optional<T>{static_cast<T>(v.i64)} : std::nullopt;
    } else {
        static_assert(std::same_as<T, std::string> || std::same_as<T, std::string_view>,
                      "shunt: a setting is a bool, a whole number, a double, std::chrono::nanoseconds, a string, or a std::vector of these");
        return v.type == SHUNT_T_STR ? std::optional<T>{T{sdk::text(v.str)}} : std::nullopt;
    }
}

}  // namespace detail

/// The settings of one instance, checked against the declared params, defaults filled in. Good during construction only;
/// so are string_views got from it.
class settings {
public:
    settings(const shunt_config& c, detail::refusals& refused) noexcept : c_(&c), refused_(&refused) {}

    /// Nothing: not set, and without a default.
    template <class T>
    [[nodiscard]] std::optional<T> find(std::string_view name) const
    {
        shunt_value v{};
        if (c_->get(c_->root, str(name), &v) != SHUNT_OK)
            return std::nullopt;
        auto value = detail::convert<T>(*c_, v);
        if (!value)
            refuse(std::string{name} + " has another type than the strategy reads");
        return value;
    }

    /// Of a param with a default, or required.
    template <class T>
    [[nodiscard]] T get(std::string_view name) const
    {
        if (auto value = find<T>(name))
            return std::move(*value);
        if (refused_->text.empty())
            refuse(std::string{name} + " is missing");
        return T{};
    }

    /// The instance will not be made; `problem` says what was found and what would be right. The constructor goes on, so
    /// that all problems can be told at once.
    void refuse(std::string_view problem) const { refused_->add(problem); }

private:
    const shunt_config* c_;
    detail::refusals* refused_;
};

/// What the host tells each instance.
struct instance {
    std::uint32_t start = 0;  ///< where a rotation begins, 0..2147483647
};

enum class level : std::int32_t { debug = SHUNT_LOG_DEBUG, info = SHUNT_LOG_INFO, warn = SHUNT_LOG_WARN, error = SHUNT_LOG_ERROR };

/// A number that only grows, shown with the program's metrics.
class counter {
public:
    counter() noexcept = default;
    counter(const shunt_host& h, std::uint32_t number) noexcept : h_(&h), number_(number) {}
    void add(double value = 1) const noexcept
    {
        if (h_ != nullptr)
            h_->metric_add(h_->ctx, number_, value);
    }

private:
    const shunt_host* h_ = nullptr;
    std::uint32_t number_ = 0;
};

/// Clock, randomness, log and the like. May be kept as long as the instance lives.
class host {
public:
    explicit host(const shunt_host& h) noexcept : h_(&h) {}

    void log(level l, std::string_view line) const noexcept { h_->log(h_->ctx, static_cast<std::int32_t>(l), str(line)); }
    [[nodiscard]] nanoseconds now() const noexcept { return nanoseconds{h_->now_ns(h_->ctx)}; }
    [[nodiscard]] std::uint64_t random() const noexcept { return h_->random(h_->ctx); }

    /// In a constructor only.
    [[nodiscard]] counter metric(std::string_view name, std::string_view help) const noexcept
    {
        return {*h_, h_->metric(h_->ctx, str(name), str(help))};
    }

    /// Fault strategies only: a try to connect to the broker at `at`; what came of it is fed back. One a broker is pending
    /// at most, a second request moves it.
    bool request_probe(std::uint32_t broker_id, nanoseconds at) const noexcept
    {
        return h_->request_probe(h_->ctx, broker_id, at.count()) == SHUNT_OK;
    }

    [[nodiscard]] const void* extension(std::string_view id) const noexcept { return h_->extension(h_->ctx, str(id)); }
    [[nodiscard]] const shunt_host& raw() const noexcept { return *h_; }

private:
    const shunt_host* h_;
};

// ---- filters ----

/// The queues of one preference level.
class queue_mask {
public:
    explicit queue_mask(std::span<std::uint64_t> words) noexcept : words_(words) {}

    void add(std::uint32_t queue) const noexcept { words_[queue / 64] |= std::uint64_t{1} << (queue % 64); }
    void add(const broker_view& b) const noexcept
    {
        for (std::uint32_t q = b.first_queue(); q < b.end_queue(); ++q)
            add(q);
    }
    [[nodiscard]] std::span<std::uint64_t> words() const noexcept { return words_; }

private:
    std::span<std::uint64_t> words_;
};

// ---- fault strategies ----

enum class feedback_kind : std::int32_t { send = SHUNT_FB_SEND, probe = SHUNT_FB_PROBE, left = SHUNT_FB_LEFT };
enum class result : std::int32_t {
    good = SHUNT_FB_GOOD,
    failed = SHUNT_FB_FAILED,            ///< the broker was reached
    unreachable = SHUNT_FB_UNREACHABLE,
    expired = SHUNT_FB_EXPIRED,          ///< no answer within share()
};

/// What happened to an attempt or a probe, or that a broker left.
class feedback {
public:
    explicit feedback(const shunt_feedback& f) noexcept : f_(f) {}

    [[nodiscard]] feedback_kind kind() const noexcept { return static_cast<feedback_kind>(f_.kind); }
    [[nodiscard]] sdk::result result() const noexcept { return static_cast<sdk::result>(f_.result); }
    [[nodiscard]] bool good() const noexcept { return f_.result == SHUNT_FB_GOOD; }
    [[nodiscard]] std::uint32_t broker_id() const noexcept { return f_.broker_id; }
    [[nodiscard]] nanoseconds at() const noexcept { return nanoseconds{f_.at_ns}; }            ///< the time to reckon with
    [[nodiscard]] nanoseconds start() const noexcept { return nanoseconds{f_.start_ns}; }      ///< when the attempt started
    [[nodiscard]] nanoseconds latency() const noexcept { return nanoseconds{f_.latency_ns}; }  ///< from the write to the answer
    [[nodiscard]] nanoseconds share() const noexcept { return nanoseconds{f_.share_ns}; }      ///< of the deadline
    [[nodiscard]] const shunt_feedback& raw() const noexcept { return f_; }

private:
    shunt_feedback f_;
};

/// Where evaluate() writes: by index in the list of brokers, each starts as neither available nor reachable.
class verdicts {
public:
    verdicts(std::uint64_t* available, std::uint64_t* reachable, std::int64_t& valid_until) noexcept
        : available_(available), reachable_(reachable), valid_until_(&valid_until)
    {
    }

    void available(std::uint32_t broker) const noexcept { available_[broker / 64] |= std::uint64_t{1} << (broker % 64); }
    void reachable(std::uint32_t broker) const noexcept { reachable_[broker / 64] |= std::uint64_t{1} << (broker % 64); }
    /// An answer may change at `t` by the mere passing of time; the earliest counts.
    void changes_at(nanoseconds t) const noexcept { *valid_until_ = std::min<std::int64_t>(*valid_until_, t.count()); }

private:
    std::uint64_t* available_;
    std::uint64_t* reachable_;
    std::int64_t* valid_until_;
};

// ---- state that outlives an instance ----

/// Appends plain values to the exported state.
class writer {
public:
    explicit writer(const shunt_writer& w) noexcept : w_(&w) {}

    template <class T>
    void put(const T& value) noexcept
    {
        static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>,
                      "shunt: state is made of whole numbers and structs of them without padding");
        if (status_ == SHUNT_OK)
            status_ = w_->write(w_->ctx, &value, sizeof value);
    }
    [[nodiscard]] shunt_status status() const noexcept { return status_; }

private:
    const shunt_writer* w_;
    shunt_status status_ = SHUNT_OK;
};

/// Reads plain values in the order in which they were put.
class reader {
public:
    explicit reader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

    /// Nothing: the state ends here.
    template <class T>
    [[nodiscard]] std::optional<T> get() noexcept
    {
        static_assert(std::is_trivially_copyable_v<T>);
        if (bytes_.size() < sizeof(T))
            return std::nullopt;
        T value;
        std::memcpy(&value, bytes_.data(), sizeof(T));
        bytes_ = bytes_.subspan(sizeof(T));
        return value;
    }
    [[nodiscard]] bool at_end() const noexcept { return bytes_.empty(); }

private:
    std::span<const std::byte> bytes_;
};

// ---- what the macro makes of a class ----

namespace detail {

template <class T>
concept has_name = requires { std::string_view{T::name}; };
template <class T>
concept has_summary = requires { std::string_view{T::summary}; };
template <class T>
concept has_params = requires { std::span<const param>{T::params}; };
template <class T>
concept has_select = requires { &T::select; };
template <class T>
concept can_select = requires(T& t, view v, message m) { { t.select(v, m) } -> std::same_as<pick>; };
template <class T>
concept has_evaluate = requires { &T::evaluate; };
template <class T>
concept can_evaluate = requires(T& t, broker_list b, nanoseconds now, verdicts out) { t.evaluate(b, now, out); };
template <class T>
concept can_take_feedback = requires(T& t, const feedback& f) { { t.on_feedback(f) } -> std::same_as<bool>; };
template <class T>
concept has_filter = requires { &T::filter; };
template <class T>
concept can_filter = requires(T& t, view v, message m, std::uint32_t l, queue_mask out) { { t.filter(v, m, l, out) } -> std::same_as<bool>; };
template <class T>
concept has_wants = requires { &T::wants; };
template <class T>
concept has_may_want = requires { std::uint32_t{T::may_want}; };
template <class T>
concept can_want = has_may_want<T> && requires(const T& t) { { t.wants() } -> std::same_as<std::uint32_t>; };
template <class T>
concept has_export = requires { &T::export_state; };
template <class T>
concept has_import = requires { &T::import_state; };
template <class T>
concept can_carry_state = has_export<T> && has_import<T> && requires(T& t, const T& c, writer& w, reader r) {
    { std::uint32_t{T::state_schema} };
    c.export_state(w);
    { t.import_state(r) } -> std::same_as<bool>;
};

template <class T>
concept constructible = std::is_constructible_v<T, host, settings, instance> || std::is_constructible_v<T, settings, instance> ||
                        std::is_constructible_v<T, settings> || std::is_default_constructible_v<T>;

/// May several threads be inside at once? The class says so with `const`.
template <class T>
concept concurrent = requires(const T& t, view v, message m) { t.select(v, m); } &&
                     (!has_filter<T> || requires(const T& t, view v, message m, std::uint32_t l, queue_mask out) { t.filter(v, m, l, out); });

constexpr bool is_strategy_name(std::string_view s) noexcept
{
    return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

template <class T>
consteval bool has_valid_name() noexcept
{
    if constexpr (has_name<T>)
        return is_strategy_name(T::name);
    return true;  // that there is none is another complaint
}

template <class T>
inline constexpr bool is_strategy =
    has_name<T> && has_valid_name<T>() && has_summary<T> && constructible<T> && std::is_nothrow_destructible_v<T> &&
    (has_select<T> ? can_select<T> && !has_evaluate<T> : can_evaluate<T> && can_take_feedback<T>) && (!has_filter<T> || can_filter<T>) &&
    (!has_wants<T> || can_want<T>) && has_export<T> == has_import<T> && (!has_export<T> || can_carry_state<T>);

// One sentence for each thing that can be wrong with a class. Where one is, the rest of the plugin is not built, so that
// the compiler has nothing else to say.
template <class T>
struct check {
    static_assert(has_name<T>, "shunt: a strategy needs a public `static constexpr std::string_view name = \"what-users-write\";`");
    static_assert(has_valid_name<T>(), "shunt: a strategy's name is made of a-z, 0-9 and '-'");
    static_assert(has_summary<T>, "shunt: a strategy needs a public `static constexpr std::string_view summary = \"one line\";`");
    static_assert(has_select<T> || has_evaluate<T>,
                  "shunt: a strategy needs a public, not overloaded `select` (selector) or `evaluate` (fault strategy)");
    static_assert(!(has_select<T> && has_evaluate<T>), "shunt: a class is a selector or a fault strategy, not both");
    static_assert(!has_select<T> || can_select<T>, "shunt: select has the form `shunt::sdk::pick select(shunt::sdk::view, shunt::sdk::message)`");
    static_assert(!has_evaluate<T> || can_evaluate<T>,
                  "shunt: evaluate has the form `void evaluate(shunt::sdk::broker_list, std::chrono::nanoseconds now, shunt::sdk::verdicts out)`");
    static_assert(!has_evaluate<T> || can_take_feedback<T>,
                  "shunt: a fault strategy needs `bool on_feedback(const shunt::sdk::feedback&)`; true: evaluate again");
    static_assert(!has_filter<T> || can_filter<T>,
                  "shunt: filter has the form `bool filter(shunt::sdk::view, shunt::sdk::message, std::uint32_t level, shunt::sdk::queue_mask out)`");
    static_assert(!has_wants<T> || can_want<T>,
                  "shunt: wants has the form `std::uint32_t wants() const`, beside `static constexpr std::uint32_t may_want = SHUNT_F_WANTS_...`");
    static_assert(has_export<T> == has_import<T>, "shunt: export_state and import_state come together");
    static_assert(!(has_export<T> && has_import<T>) || can_carry_state<T>,
                  "shunt: state needs `static constexpr std::uint32_t state_schema`, `void export_state(shunt::sdk::writer&) const` and "
                  "`bool import_state(shunt::sdk::reader)`");
    static_assert(constructible<T>,
                  "shunt: a strategy is constructed from (), (settings), (settings, instance) or (host, settings, instance), all of shunt::sdk");
    static_assert(std::is_nothrow_destructible_v<T>, "shunt: a strategy's destructor must not throw");
};

constexpr shunt_param to_c(const param& p) noexcept
{
    const auto element = static_cast<std::int32_t>(p.type);
    return {.name = str(p.name),
            .help = str(p.help),
            .default_text = str(p.default_text),
            .unit = str(p.unit),
            .choices = str(p.choices),
            .type = p.array ? SHUNT_T_ARRAY : element,
            .element_type = p.array ? element : 0,
            .flags = p.required ? SHUNT_P_REQUIRED : 0u,
            .min_count = p.min_count,
            .min = p.min,
            .max = p.max};
}

template <class T>
constexpr auto make_params() noexcept
{
    if constexpr (has_params<T>) {
        std::array<shunt_param, std::size(T::params)> all{};
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = to_c(T::params[i]);
        return all;
    } else {
        return std::array<shunt_param, 0>{};
    }
}

template <class T>
inline constexpr auto params_of = make_params<T>();

template <class T>
consteval std::uint32_t schema_of() noexcept
{
    if constexpr (can_carry_state<T>)
        return T::state_schema;
    return 0;
}

template <class T>
consteval std::uint32_t flags_of() noexcept
{
    std::uint32_t flags = concurrent<T> ? SHUNT_F_CONCURRENT : 0;
    if constexpr (requires { bool{T::deterministic}; })
        flags |= T::deterministic ? SHUNT_F_DETERMINISTIC : 0;
    if constexpr (has_may_want<T>)
        flags |= T::may_want;
    return has_filter<T> ? flags | SHUNT_F_FILTER : flags;
}

// An instance as the host holds it.
template <class T>
struct held {
    host h;
    T object;

    held(const shunt_host& hh, const settings& s, const instance& i)
        requires std::is_constructible_v<T, host, settings, instance>
        : h(hh), object(host{hh}, s, i)
    {
    }
    held(const shunt_host& hh, const settings& s, const instance& i)
        requires(!std::is_constructible_v<T, host, settings, instance> && std::is_constructible_v<T, settings, instance>)
        : h(hh), object(s, i)
    {
    }
    held(const shunt_host& hh, const settings& s, const instance&)
        requires(!std::is_constructible_v<T, host, settings, instance> && !std::is_constructible_v<T, settings, instance> &&
                 std::is_constructible_v<T, settings>)
        : h(hh), object(s)
    {
    }
    held(const shunt_host& hh, const settings&, const instance&)
        requires(!std::is_constructible_v<T, host, settings, instance> && !std::is_constructible_v<T, settings, instance> &&
                 !std::is_constructible_v<T, settings>)
        : h(hh), object()
    {
    }
};

inline shunt_status fail(const shunt_host& h, shunt_status status, std::string_view what) noexcept
{
    h.set_error(h.ctx, str(what));
    return status;
}

// Runs `body`; whatever it throws becomes a status and a text.
template <class Body>
shunt_status guarded([[maybe_unused]] const shunt_host& h, Body&& body) noexcept
{
#ifdef __cpp_exceptions
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return fail(h, SHUNT_E_NOMEM, "out of memory");
    } catch (const std::exception& e) {
        return fail(h, SHUNT_E_EXCEPTION, e.what());
    } catch (...) {
        return fail(h, SHUNT_E_EXCEPTION, "an exception that is no std::exception");
    }
#else
    return body();
#endif
}

// The functions both kinds have. `Handle` is the C name of an instance.
template <class T, class Handle>
struct functions {
    static held<T>& in(Handle* p) noexcept { return *reinterpret_cast<held<T>*>(p); }
    static const held<T>& in(const Handle* p) noexcept { return *reinterpret_cast<const held<T>*>(p); }

    static shunt_status create(const shunt_host* h, const shunt_config* c, const shunt_instance* i, Handle** out) noexcept
    {
        return guarded(*h, [&]() -> shunt_status {
            refusals refused;
            auto made = std::make_unique<held<T>>(*h, settings{*c, refused}, instance{i->start});
            if (!refused.text.empty())
                return fail(*h, SHUNT_E_CONFIG, refused.text);
            *out = reinterpret_cast<Handle*>(made.release());
            return SHUNT_OK;
        });
    }

    static void destroy(Handle* p) noexcept { delete &in(p); }

    static shunt_status export_state(Handle* p, const shunt_writer* w) noexcept
    {
        const held<T>& self = in(p);
        return guarded(self.h.raw(), [&] {
            writer out{*w};
            self.object.export_state(out);
            return out.status();
        });
    }

    static shunt_status import_state(Handle* p, std::uint32_t schema, const void* bytes, std::uint64_t n) noexcept
    {
        if (schema != schema_of<T>())
            return SHUNT_UNSUPPORTED;
        held<T>& self = in(p);
        return guarded(self.h.raw(), [&]() -> shunt_status {
            if (self.object.import_state(reader{{static_cast<const std::byte*>(bytes), static_cast<std::size_t>(n)}}))
                return SHUNT_OK;
            return fail(self.h.raw(), SHUNT_E_INVALID, "the state does not make sense");
        });
    }
};

template <class T>
struct selector : functions<T, shunt_selector> {
    using base = functions<T, shunt_selector>;

    static shunt_status select(shunt_selector* p, const shunt_view* v, const shunt_msg* m, shunt_pick* out) noexcept
    {
        held<T>& self = base::in(p);
        return guarded(self.h.raw(), [&] {
            const pick answer = self.object.select(view{*v}, message{*m});
            *out = {answer.queue(), static_cast<std::uint32_t>(answer.reason())};
            return answer.status();
        });
    }

    static std::uint32_t wants(const shunt_selector* p) noexcept { return base::in(p).object.wants(); }

    static shunt_status filter(shunt_selector* p, const shunt_view* v, const shunt_msg* m, std::uint32_t level,
                               std::uint64_t* mask) noexcept
    {
        held<T>& self = base::in(p);
        return guarded(self.h.raw(), [&]() -> shunt_status {
            const queue_mask out{{mask, (v->n_queues + 63) / 64}};
            return self.object.filter(view{*v}, message{*m}, level, out) ? SHUNT_OK : SHUNT_NO_QUEUE;
        });
    }

    static constexpr shunt_selector_class table() noexcept
    {
        shunt_selector_class c{};
        c.struct_size = sizeof c;
        c.flags = flags_of<T>();
        c.name = str(T::name);
        c.summary = str(T::summary);
        c.params = params_of<T>.data();
        c.n_params = static_cast<std::uint32_t>(params_of<T>.size());
        c.param_stride = sizeof(shunt_param);
        c.state_schema = schema_of<T>();
        c.create = base::create;
        c.destroy = base::destroy;
        c.select = select;
        if constexpr (has_wants<T>)
            c.wants = wants;
        if constexpr (has_filter<T>)
            c.filter = filter;
        if constexpr (can_carry_state<T>) {
            c.export_state = base::export_state;
            c.import_state = base::import_state;
        }
        return c;
    }
};

template <class T>
struct fault : functions<T, shunt_fault> {
    using base = functions<T, shunt_fault>;

    static shunt_status evaluate(shunt_fault* p, const shunt_broker* brokers, std::uint32_t stride, std::uint32_t n, std::int64_t now,
                                 std::uint64_t* available, std::uint64_t* reachable, std::int64_t* valid_until) noexcept
    {
        held<T>& self = base::in(p);
        return guarded(self.h.raw(), [&]() -> shunt_status {
            *valid_until = std::numeric_limits<std::int64_t>::max();
            self.object.evaluate(broker_list{brokers, stride, n}, nanoseconds{now}, verdicts{available, reachable, *valid_until});
            return SHUNT_OK;
        });
    }

    static shunt_status on_feedback(shunt_fault* p, const shunt_feedback* first, std::uint32_t stride, std::uint32_t n) noexcept
    {
        held<T>& self = base::in(p);
        return guarded(self.h.raw(), [&]() -> shunt_status {
            shunt_status changed = 0;
            for (std::uint32_t i = 0; i < n; ++i) {
                shunt_feedback one{};
                std::memcpy(&one, reinterpret_cast<const char*>(first) + std::size_t{stride} * i,
                            std::min<std::size_t>(stride, sizeof one));
                if (self.object.on_feedback(feedback{one}))
                    changed = 1;
            }
            return changed;
        });
    }

    static constexpr shunt_fault_class table() noexcept
    {
        shunt_fault_class c{};
        c.struct_size = sizeof c;
        c.name = str(T::name);
        c.summary = str(T::summary);
        c.params = params_of<T>.data();
        c.n_params = static_cast<std::uint32_t>(params_of<T>.size());
        c.param_stride = sizeof(shunt_param);
        c.state_schema = schema_of<T>();
        c.create = base::create;
        c.destroy = base::destroy;
        c.evaluate = evaluate;
        c.on_feedback = on_feedback;
        if constexpr (can_carry_state<T>) {
            c.export_state = base::export_state;
            c.import_state = base::import_state;
        }
        return c;
    }
};

template <class T>
inline constexpr shunt_selector_class selector_table = selector<T>::table();
template <class T>
inline constexpr shunt_fault_class fault_table = fault<T>::table();

#if defined(__SANITIZE_ADDRESS__)
#define SHUNT_SDK_BUILT_WITH ", address sanitizer"
#elif defined(__SANITIZE_THREAD__)
#define SHUNT_SDK_BUILT_WITH ", thread sanitizer"
#else
#define SHUNT_SDK_BUILT_WITH ""
#endif
#ifdef NDEBUG
#define SHUNT_SDK_ASSERTIONS ""
#else
#define SHUNT_SDK_ASSERTIONS ", assertions"
#endif
#ifdef __clang__
#define SHUNT_SDK_COMPILER ""
#else
#define SHUNT_SDK_COMPILER "gcc "
#endif
inline constexpr std::string_view build_info = "sdk " SHUNT_SDK_VERSION ", " SHUNT_SDK_COMPILER __VERSION__ SHUNT_SDK_ASSERTIONS SHUNT_SDK_BUILT_WITH;

template <class... T>
struct plugin {
    static_assert(sizeof...(T) > 0, "shunt: SHUNT_PLUGIN(id, version, license, class...) needs a class");
    static_assert(((sizeof(check<T>) > 0) && ...));
    static constexpr bool right = (is_strategy<T> && ...);

    static constexpr std::size_t n_selectors = (std::size_t{has_select<T>} + ... + 0);
    static constexpr std::size_t n_faults = sizeof...(T) - n_selectors;

    static constexpr auto selectors = [] {
        std::array<const shunt_selector_class*, n_selectors> all{};
        if constexpr (right) {
            [[maybe_unused]] std::size_t n = 0;
            const auto add = [&]<class One>(std::type_identity<One>) {
                if constexpr (has_select<One>)
                    all[n++] = &selector_table<One>;
            };
            (add(std::type_identity<T>{}), ...);
        }
        return all;
    }();

    static constexpr auto faults = [] {
        std::array<const shunt_fault_class*, n_faults> all{};
        if constexpr (right) {
            [[maybe_unused]] std::size_t n = 0;
            const auto add = [&]<class One>(std::type_identity<One>) {
                if constexpr (!has_select<One>)
                    all[n++] = &fault_table<One>;
            };
            (add(std::type_identity<T>{}), ...);
        }
        return all;
    }();

    static constexpr shunt_plugin describe(std::string_view id, std::string_view version, std::string_view license) noexcept
    {
        return {.magic = SHUNT_MAGIC,
                .struct_size = sizeof(shunt_plugin),
                .abi_major = SHUNT_ABI_MAJOR,
                .abi_minor = SHUNT_ABI_MINOR,
                .id = str(id),
                .version = str(version),
                .license = str(license),
                .vendor = {},
                .build_info = str(build_info),
                .n_selectors = static_cast<std::uint32_t>(n_selectors),
                .n_faults = static_cast<std::uint32_t>(n_faults),
                .selectors = selectors.data(),
                .faults = faults.data()};
    }

    // ---- the note: "selector:NAME\n" or "fault:NAME\n" for each class ----

    static constexpr std::string_view kind_of(bool selector) noexcept { return selector ? "selector:" : "fault:"; }

    static constexpr std::size_t names_len = [] {
        if constexpr (right)
            return ((kind_of(has_select<T>).size() + std::string_view{T::name}.size() + 1) + ...);
        else
            return std::size_t{0};
    }();

    struct note_type {
        std::uint32_t owner_len, description_len, type;
        char owner[8];
        shunt_note head;
        std::array<char, (names_len + 3) / 4 * 4> names;
    };

    static constexpr note_type note() noexcept
    {
        note_type n{.owner_len = sizeof(SHUNT_NOTE_OWNER),
                    .description_len = static_cast<std::uint32_t>(sizeof(shunt_note) + names_len),
                    .type = SHUNT_NOTE_TYPE,
                    .owner = SHUNT_NOTE_OWNER,
                    .head = {SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR, 0, 0, static_cast<std::uint32_t>(names_len)},
                    .names = {}};
        if constexpr (right) {
            std::size_t at = 0;
            const auto add = [&](std::string_view s) {
                for (const char c : s)
                    n.names[at++] = c;
            };
            ((add(kind_of(has_select<T>)), add(T::name), add("\n")), ...);
        }
        return n;
    }
};

inline bool speaks_our_abi(const shunt_handshake* h) noexcept
{
    return h != nullptr && h->struct_size >= offsetof(shunt_handshake, host_version) && h->abi_major == SHUNT_ABI_MAJOR;
}

}  // namespace detail
}  // namespace shunt::sdk

#define SHUNT_SDK_JOIN_(a, b) a##b
#define SHUNT_SDK_JOIN(a, b) SHUNT_SDK_JOIN_(a, b)

// Linked statically (SHUNT_STATIC_PLUGIN is the target's name) the entry has a name of its own and there is no note.
#ifdef SHUNT_STATIC_PLUGIN
#define SHUNT_SDK_ENTRY SHUNT_SDK_JOIN(shunt_plugin_entry_, SHUNT_STATIC_PLUGIN)
#define SHUNT_SDK_NOTE(...)
#else
#define SHUNT_SDK_ENTRY shunt_plugin_entry_v1
#define SHUNT_SDK_NOTE(...)                                                                      \
    namespace {                                                                                  \
    __attribute__((section(".note.shunt"), used, aligned(4))) constexpr auto shunt_plugin_note = \
        ::shunt::sdk::detail::plugin<__VA_ARGS__>::note();                                       \
    }
#endif

/// SHUNT_PLUGIN("id", "1.0.0", "SPDX licence", class...): once in a plugin, outside of namespaces.
#define SHUNT_PLUGIN(id, version, license, ...)                                                                      \
    SHUNT_SDK_NOTE(__VA_ARGS__)                                                                                      \
    extern "C" __attribute__((visibility("default"))) const shunt_plugin* SHUNT_SDK_ENTRY(const shunt_handshake*);   \
    extern "C" const shunt_plugin* SHUNT_SDK_ENTRY(const shunt_handshake* shunt_host_handshake)                      \
    {                                                                                                                \
        static constexpr shunt_plugin description = ::shunt::sdk::detail::plugin<__VA_ARGS__>::describe(id, version, license); \
        return ::shunt::sdk::detail::speaks_our_abi(shunt_host_handshake) ? &description : nullptr;                  \
    }                                                                                                                \
    static_assert(true)
