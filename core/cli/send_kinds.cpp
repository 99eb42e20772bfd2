#include "send_kinds.hpp"

#include "arguments.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <utility>
#include <vector>

namespace shunt::cli {

namespace {

/// "2026-12-24T18:00:00Z", "2026-12-24T18:00:00+01:00", or milliseconds since 1970.
std::chrono::system_clock::time_point time_of(const std::string& text)
{
    using std::chrono::milliseconds;
    std::int64_t ms = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), ms);
    constexpr std::int64_t most_ms = 253'402'300'799'999;  // the year 9999
    if (ec == std::errc{} && end == text.data() + text.size() && ms > 0 && ms <= most_ms)
        return std::chrono::system_clock::time_point(milliseconds(ms));
    std::tm t{};
    int used = 0;
    std::array<char, 8> zone{};
    int hours = 0, minutes = 0;
    const bool read = std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min,
                                  &t.tm_sec, &used) == 6;
    const std::string rest = read ? text.substr(static_cast<std::size_t>(used)) : std::string();
    int zone_used = 0;
    const bool has_zone = std::sscanf(rest.c_str(), "%1[+-]%2d:%2d%n", zone.data(), &hours, &minutes, &zone_used) == 3 &&
                          static_cast<std::size_t>(zone_used) == rest.size();
    const auto refused = [&] {
        refuse_argument("--deliver-at", text, "a time with its zone, as in 2026-12-24T18:00:00Z, or milliseconds since 1970");
    };
    if (!read || (rest != "Z" && !has_zone) || hours > 14 || minutes > 59)
        refused();
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    const std::tm said = t;
    const std::time_t seconds = ::timegm(&t);  // makes another of a time that there is not
    if (t.tm_year != said.tm_year || t.tm_mon != said.tm_mon || t.tm_mday != said.tm_mday || t.tm_hour != said.tm_hour || t.tm_min != said.tm_min ||
        t.tm_sec != said.tm_sec)
        refused();
    const std::int64_t offset = (hours * 60 + minutes) * 60 * (zone[0] == '-' ? -1 : 1);
    return std::chrono::system_clock::from_time_t(seconds) - std::chrono::seconds(has_zone ? offset : 0);
}

/// Lists of messages, each sent as one batch.
void send_batches(producer& p, std::size_t size, const sending_plan& plan, const sending_hooks& hooks, const interrupts& stop)
{
    std::vector<message> list;
    std::vector<std::uint64_t> numbers;
    bool over = false;
    while (!over) {
        list.clear();
        numbers.clear();
        while (list.size() < size) {
            std::uint64_t i = 0;
            message m;
            if (stop.requested() || !hooks.next(i, m) || (hooks.admit && !hooks.admit(i))) {
                over = true;
                break;
            }
            numbers.push_back(i);
            list.push_back(std::move(m));
        }
        if (list.empty())
            return;
        const std::vector<batch_receipt> sent = p.deliver_batches(std::move(list), plan.options);
        for (const batch_receipt& b : sent) {
            for (std::size_t k = 0; k < b.size(); ++k)
                hooks.ended(numbers[b.first + k], b.of(k));
        }
        if (sent.size() == 1 && sent.front().size() == 0) {  // refused as a whole
            for (const std::uint64_t i : numbers)
                hooks.ended(i, receipt(sent.front().send));
        }
    }
}

}  // namespace

void send_kinds::options_of(producer_options& o) const
{
    if (compress) {
        if (*compress != o.compress)
            o.compress_level = 0;  // of another algorithm
        o.compress = *compress;
        o.compress_from = 1;
    }
}

void send_kinds::put_on(message& m) const
{
    if (delay_level != 0)
        m.set_delay_level(delay_level);
    if (delay)
        m.set_delay(*delay);
    if (deliver_at)
        m.set_deliver_at(*deliver_at);
    if (priority)
        m.set_priority(*priority);
}

void add_kinds(CLI::App& app, send_kinds& kinds)
{
    CLI::Option* level = add_option(app, "--delay-level", config::whole_number{1, 18}, kinds.delay_level,
                                    "delivered later: 1s 5s 10s 30s 1m ... 2h")->type_name("L");
    CLI::Option* delay = add_option(app, "--delay", config::duration{std::chrono::milliseconds(1), std::chrono::hours(87840)}, kinds.delay,
                                    "delivered so long after it was stored")->type_name("D")->excludes(level);
    app.add_option_function<std::string>(
           "--deliver-at", [&kinds](const std::string& text) { kinds.deliver_at = time_of(text); },
           "delivered at this time, as in 2026-12-24T18:00:00Z")
        ->type_name("TIME")
        ->excludes(level)
        ->excludes(delay);
    add_option(app, "--priority", config::whole_number{0, 2'147'483'647}, kinds.priority, "for topics with priorities")->type_name("N");
    add_option(app, "--compress", config::enumerated<compression>{{{"none", "zlib", "lz4", "zstd"}}}, kinds.compress,
               "bodies of any size, where they shrink; as the configuration says unless said")->type_name("ALGO");
    add_option(app, "--batch", config::whole_number{1, 32768}, kinds.batch,
               "so many messages at once, as one batch or as many as it takes")->type_name("N");
    add_option(app, "--transaction", config::enumerated<transaction_end>{{{"unknown", "commit", "rollback"}}}, kinds.transaction,
               "as a transaction that ends so; brokers' questions meanwhile are answered likewise")->type_name("END");
    app.add_flag("--request", kinds.request, "wait for a reply to each, and print it");
}

std::string send_kinds::contradiction(const sending_plan& plan) const
{
    const int kinds = (batch != 0 ? 1 : 0) + (transaction ? 1 : 0) + (request ? 1 : 0);
    if (kinds > 1)
        return "--batch, --transaction and --request: one of them at most";
    if (kinds == 1 && plan.mode != send_mode::sync)
        return "--batch, --transaction and --request are sent in --mode sync";
    if (kinds == 1 && plan.threads > 1)
        return "--batch, --transaction and --request are sent by one thread";
    if (kinds == 1 && plan.rate != 0)
        return "--batch, --transaction and --request go without --rate";
    return {};
}

void send_by_kind(producer& p, const std::string& topic, const send_kinds& kinds, const sending_plan& plan, const sending_hooks& hooks,
                  const interrupts& stop, const std::function<void(std::uint64_t i, const reply_receipt&)>& replied)
{
    if (kinds.batch != 0)
        return send_batches(p, kinds.batch, plan, hooks, stop);
    if (!kinds.transaction && !kinds.request)
        return send_all(p, plan, hooks, stop);
    if (kinds.transaction)
        p.answer_checks({topic}, [end = *kinds.transaction](const stored_message&) { return end; });
    for (;;) {
        std::uint64_t i = 0;
        message m;
        if (stop.requested() || !hooks.next(i, m) || (hooks.admit && !hooks.admit(i)))
            return;
        if (kinds.request) {
            reply_receipt r = p.request(std::move(m), plan.options);
            replied(i, r);
            hooks.ended(i, std::move(r.send));
        } else {
            transaction_receipt t = p.send_transaction(
                std::move(m), [end = *kinds.transaction](const message&, const receipt&) { return end; }, plan.options);
            if (!t.reason.empty() && t.half.reason.empty())
                t.half.reason = std::move(t.reason);
            hooks.ended(i, std::move(t.half));
        }
    }
}

}  // namespace shunt::cli
