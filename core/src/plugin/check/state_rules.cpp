// State carried over a swap: it comes back as it went, and what makes no sense is refused.

#include <plugin/check/situation.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::plugin::check {

namespace {

using strategy::strategy_kind;

/// What both kinds have of state, by one name.
class carrier {
public:
    explicit carrier(subject& s) : s_(s)
    {
        if (selector()) {
            exports_ = s.selector().export_state != nullptr;
            imports_ = s.selector().import_state != nullptr;
            schema_ = s.selector().state_schema;
        } else {
            exports_ = s.fault().export_state != nullptr;
            imports_ = s.fault().import_state != nullptr;
            schema_ = s.fault().state_schema;
        }
    }

    [[nodiscard]] bool selector() const { return s_.chosen().kind == strategy_kind::selector; }
    [[nodiscard]] bool exports() const noexcept { return exports_; }
    [[nodiscard]] bool imports() const noexcept { return imports_; }
    [[nodiscard]] std::uint32_t schema() const noexcept { return schema_; }
    void needs_state() const
    {
        if (!exports_ || !imports_ || schema_ == 0)
            throw skipped("it carries no state");
    }

private:
    subject& s_;
    bool exports_ = false, imports_ = false;
    std::uint32_t schema_ = 0;
};

/// Takes so many writes, then refuses.
struct sink {
    std::string bytes;
    std::int64_t writes_left = INT64_MAX;
    shunt_writer writer{this, [](void* c, const void* from, std::uint64_t n) -> shunt_status {
                            auto& self = *static_cast<sink*>(c);
                            if (self.writes_left-- <= 0)
                                return SHUNT_E_NOMEM;
                            if (n != 0)
                                self.bytes.append(static_cast<const char*>(from), n);
                            return SHUNT_OK;
                        }};
};

/// One instance of either kind that was in use for a while, so that it has something to tell.
class used {
public:
    used(subject& s, bool with_history) : s_(s), host_(s.seed()), route_(route::even(6, 2))
    {
        if (s.chosen().kind == strategy_kind::selector) {
            selector_.emplace(s, host_, 3);
            for (std::uint64_t n = 0; with_history && n < 57; ++n) {
                const std::string key = fmt::format("order-{}", n);
                (void)selector_->select(route_, {.key = key, .has_key = n % 2 == 0, .random = n * 0x9e3779b97f4a7c15u});
            }
        } else {
            fault_.emplace(s, host_);
            for (const std::uint32_t b : {1u, 4u})
                if (with_history)
                    (void)isolate_by_failures(*fault_, host_, route_, b);
        }
    }

    shunt_status export_to(sink& out)
    {
        return s_.during(phase::export_state, [&] {
            return selector_ ? s_.selector().export_state(selector_->raw(), &out.writer) : s_.fault().export_state(fault_->raw(), &out.writer);
        });
    }
    std::string exported()
    {
        sink out;
        if (const shunt_status status = export_to(out); status != SHUNT_OK)
            throw failed(fmt::format("export_state answered {}", status_text(status)));
        return out.bytes;
    }
    shunt_status import_from(std::uint32_t schema, std::string_view bytes)
    {
        (void)bench_host::take_error();
        return s_.during(phase::import_state, [&] {
            return selector_ ? s_.selector().import_state(selector_->raw(), schema, bytes.data(), bytes.size())
                             : s_.fault().import_state(fault_->raw(), schema, bytes.data(), bytes.size());
        });
    }
    /// What it decides, to be compared. Asking changes a selector, so ask last.
    std::string behaviour()
    {
        std::string all;
        if (selector_) {
            for (std::uint64_t n = 0; n < 30; ++n)
                all += fmt::format("{} ", selector_->ask(route_, {.random = n * 0x9e3779b97f4a7c15u}).queue);
        } else {
            const judgement j = fault_->judge(route_, host_.now);
            for (std::size_t b = 0; b < j.available.size(); ++b)
                all += j.available[b] ? 'a' : j.reachable[b] ? 'r' : 'x';
        }
        return all;
    }
    void at(std::int64_t now) { host_.now = now; }
    [[nodiscard]] std::int64_t now() const noexcept { return host_.now; }

private:
    subject& s_;
    bench_host host_;
    route route_;
    std::optional<selector_instance> selector_;
    std::optional<fault_instance> fault_;
};

outcome state_both(subject& s)
{
    const carrier c(s);
    if (!c.exports() && !c.imports() && c.schema() == 0)
        return {};
    if (c.exports() != c.imports())
        return failed(c.exports() ? "has export_state and no import_state" : "has import_state and no export_state");
    if (c.schema() == 0)
        return failed("has export_state, and its state_schema is 0, which means that there is no state");
    return c.exports() ? outcome{} : failed(fmt::format("has the state_schema {} and no functions for it", c.schema()));
}

outcome state_round_trip(subject& s)
{
    const carrier c(s);
    c.needs_state();
    used before(s, true);
    const std::string bytes = before.exported();
    used after(s, false);
    after.at(before.now());
    if (const shunt_status status = after.import_from(c.schema(), bytes); status != SHUNT_OK)
        return failed(fmt::format("does not take its own state of {} bytes: {}", bytes.size(), status_text(status)));
    if (after.exported() != bytes)
        return failed("what it took is not what it gives: state that goes in and out again differs");
    const std::string was = before.behaviour(), is = after.behaviour();
    return was == is ? outcome{} : failed("with the state of another instance it decides otherwise than that one");
}

outcome state_other_schema(subject& s)
{
    const carrier c(s);
    c.needs_state();
    used before(s, true);
    const std::string bytes = before.exported();
    for (const std::uint32_t schema : {c.schema() + 1, std::uint32_t{0}, SHUNT_NONE}) {
        used after(s, false);
        if (const shunt_status status = after.import_from(schema, bytes); status != SHUNT_UNSUPPORTED)
            return failed(fmt::format("answers {} to state of schema {}; it must be {} (not known), since its own is {}", status_text(status), schema,
                                      SHUNT_UNSUPPORTED, c.schema()));
    }
    return {};
}

outcome state_garbage(subject& s)
{
    const carrier c(s);
    c.needs_state();
    used before(s, true);
    const std::string good = before.exported();
    dice d(s.seed());
    std::vector<std::string> wrong;
    for (std::size_t n = 1; n <= 257; n += 8) {
        std::string bytes;
        for (std::size_t k = 0; k < n; ++k)
            bytes += static_cast<char>(d.next());
        wrong.push_back(std::move(bytes));
    }
    wrong.emplace_back(1024, '\xff');
    wrong.emplace_back(1000, '\0');
    for (std::size_t i = 0; i < 64 && !good.empty(); ++i) {
        std::string bytes = good;
        bytes[d.below(static_cast<std::uint32_t>(bytes.size()))] ^= static_cast<char>(1u << d.below(8));
        wrong.push_back(std::move(bytes));
    }
    for (const std::string& bytes : wrong) {
        used after(s, false);
        after.at(before.now());
        const std::string untouched = used(s, false).behaviour();
        const shunt_status status = after.import_from(c.schema(), bytes);
        if (status < 0 && bench_host::take_error().empty())
            return failed(fmt::format("refuses state of {} bytes with status {} and no text through set_error", bytes.size(), status));
        if (status > 0 && status != SHUNT_UNSUPPORTED)
            return failed(fmt::format("answers status {} to state that makes no sense", status));
        const std::string is = after.behaviour();
        if (status != SHUNT_OK && is != untouched)
            return failed("after it refused a state it decides otherwise than before");
    }
    return {};
}

outcome state_truncated(subject& s)
{
    const carrier c(s);
    c.needs_state();
    used before(s, true);
    const std::string good = before.exported();
    if (good.empty())
        throw skipped("its state is empty");
    for (std::size_t n = good.size(); n-- > 0;) {
        used after(s, false);
        after.at(before.now());
        const shunt_status status = after.import_from(c.schema(), std::string_view(good).substr(0, n));
        if (status == SHUNT_OK && n + 1 == good.size())
            return failed("takes its state with the last byte cut off");
        if (status < 0 && bench_host::take_error().empty())
            return failed(fmt::format("refuses {} of {} bytes with status {} and no text through set_error", n, good.size(), status));
    }
    return {};
}

outcome state_writer_fails(subject& s)
{
    const carrier c(s);
    c.needs_state();
    for (std::int64_t writes = 0; writes < 8; ++writes) {
        used before(s, true);
        sink out;
        out.writes_left = writes;
        const shunt_status status = before.export_to(out);
        if (out.writes_left < 0 && status >= 0)
            return failed(fmt::format("export_state answered status {} though the writer refused; it must pass the error on", status));
        (void)before.behaviour();
    }
    return {};
}

constexpr std::array all{
    rule{"state-both", scope::strategy, false, "export_state, import_state and a schema come together",
         "A swap to the same strategy carries its state over; one half of it is of no use. state_schema changes when the format does.", state_both},
    rule{"state-round-trip", scope::strategy, false, "its own state comes back as it went",
         "A new instance with the state of an old one must decide as the old one would, or a swap lets isolated brokers in again. Export remaining "
         "times, never points in time.",
         state_round_trip},
    rule{"state-other-schema", scope::strategy, false, "state of another schema is answered with \"not supported\"",
         "The host then begins anew, as with no state. Anything else reads bytes of one format as another.", state_other_schema},
    rule{"state-garbage", scope::strategy, false, "state that makes no sense is refused with a text, or does no harm",
         "State may come from another version of the plugin, or from a damaged file. A refused import leaves the instance as it was.", state_garbage},
    rule{"state-truncated", scope::strategy, false, "state that was cut off is refused",
         "Half of a record is no record: check that the bytes end where they should.", state_truncated},
    rule{"state-writer-fails", scope::strategy, false, "export_state passes on that the writer refused",
         "The host would take half a state for a whole one.", state_writer_fails},
};

}  // namespace

std::span<const rule> state_rules() { return all; }

}  // namespace shunt::plugin::check
