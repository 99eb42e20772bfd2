// shunt tail: reads back what lies in each queue of a topic.

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"
#include "options_file.hpp"
#include "questions.hpp"

#include <cluster/embedded_cluster.hpp>
#include <config/names.hpp>
#include <wire/compress.hpp>
#include <wire/message_id.hpp>
#include <wire/properties.hpp>
#include <wire/send.hpp>
#include <wire/stored_message.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shunt::cli {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::string_view self = "tail";
constexpr std::string_view reader_group = "TOOLS_CONSUMER";  // every broker knows it: nothing is created by reading
constexpr int messages_a_pull = 32;                          // what a broker gives at once, whatever is asked
constexpr auto poll_period = 100ms;                          // --follow, of a queue with nothing new
constexpr auto route_period = 3s;                            // --follow, for queues that are new
constexpr auto patience = 5s;                                // with a broker that does not answer
constexpr auto first_pause = 100ms, last_pause = 1000ms;     // between tries
constexpr std::size_t most_shown = 500;                      // characters of a body, for people

enum class start : std::uint8_t { begin, end };

struct tail_arguments {
    std::string config, topic;
    start from = start::begin;
    std::uint64_t count = 0;  // 0: all
    bool follow = false, json = false;
};

/// "broker-a/0 @12  2F1A…  key order-7  tag red  hello".
std::string for_people(const cluster::stored_record& m)
{
    std::string line = fmt::format("{}/{} @{}  {}", m.broker, m.queue, m.offset, m.msg_id);
    if (!m.key.empty())
        line += "  key " + config::printable(m.key);
    if (!m.tag.empty())
        line += "  tag " + config::printable(m.tag);
    if (const auto plain = wire::plain_body(m.sys_flag, m.body, cluster::max_inflated))
        return line + "  " + config::printable(*plain, most_shown);
    return line + fmt::format("  ({} bytes that are said to be compressed, but cannot be inflated to {} bytes at most)", m.body.size(),
                              cluster::max_inflated);
}

cluster::stored_record record_of(const std::string& broker, const wire::stored_message& m)
{
    cluster::stored_record r;
    r.broker = broker;
    r.topic = m.topic;
    r.queue = m.queue_id;
    r.offset = m.queue_offset;
    const wire::host_address& host = m.store_host;
    r.offset_msg_id = wire::offset_id({host.address.data(), host.ipv6 ? 16U : 4U}, host.port, m.commit_log_offset);
    wire::each_property(m.properties, [&](std::string_view name, std::string_view value) { r.properties.emplace_back(name, value); });
    r.msg_id = r.property("UNIQ_KEY");
    if (r.msg_id.empty())
        r.msg_id = r.offset_msg_id;
    r.key = r.property("KEYS");
    r.tag = r.property("TAGS");
    r.body = m.body;
    r.flag = m.flag;
    r.sys_flag = m.sys_flag;
    r.born_ms = m.born_ms;
    r.stored_ms = m.store_ms;
    return r;
}

/// Reads the queues of one topic: one after another, or with --follow all at once. A queue that cannot be read is tried
/// again for a while (with --follow: as long as it takes), with the broker's address looked up anew.
class reader {
public:
    reader(const tail_arguments& a, const producer_options& o, questions& net) : a_(a), options_(o), net_(net) {}

    /// Returns when all was read, --count was reached, or an interrupt came. False: something could not be read.
    [[nodiscard]] bool read_all()
    {
        look_up();
        net_.run();
        const bool written = out_.finish(self);
        return ok_ && written;
    }

private:
    struct queue {
        std::string broker;
        std::int32_t id = 0;
        std::optional<std::int64_t> next, end;  // nothing: not asked yet. Without --follow, reading stops at `end`
        std::optional<clock::time_point> failing_since;
        std::chrono::milliseconds pause = first_pause;
        bool at_end_first = false;              // begins after the last message there is
    };
    using done = void (reader::*)(queue&);

    // ---- which queues ----

    void look_up()
    {
        net_.route(a_.topic, [this](route_answer heard) {
            if (heard.what == route_answer::kind::found) {
                route_failing_since_.reset();
                take_route(heard.route);
                if (a_.follow)
                    net_.after(route_period, [this] { look_up(); });
                else
                    next_queue();
                return;
            }
            const bool unknown = heard.what == route_answer::kind::unknown_topic;
            const std::string text = unknown ? fmt::format("topic '{}' is not known to the name servers ({})", a_.topic,
                                                           config::listed(options_.name_servers))
                                             : fmt::format("no route of topic '{}': {}", a_.topic, heard.text);
            const bool first = !route_failing_since_;
            if (first)
                route_failing_since_ = clock::now();
            if (a_.follow || (!unknown && clock::now() - *route_failing_since_ < patience)) {
                if (first && a_.follow)
                    complain(self, text + "; waiting for it");
                net_.after(first_pause, [this] { look_up(); });
                return;
            }
            complain(self, text);
            ok_ = false;
            net_.end();
        });
    }

    void take_route(const route::topic_route& r)
    {
        for (const route::broker& b : r.brokers) {
            const std::string* master = b.master();
            addresses_[b.name] = master != nullptr ? *master : b.addresses.empty() ? std::string() : b.addresses.begin()->second;
        }
        const bool first = queues_.empty();
        for (const route::queue& q : r.subscribe) {
            const std::string& broker = r.brokers[q.broker].name;
            if (!known_.insert({broker, q.queue_id}).second)
                continue;
            queues_.push_back(std::make_unique<queue>());
            queue& made = *queues_.back();
            made.broker = broker;
            made.id = q.queue_id;
            made.at_end_first = first && a_.from == start::end;
            if (a_.follow)
                begin(made);
        }
        if (queues_.empty())
            complain(self, fmt::format("topic '{}' has no queue that can be read", a_.topic));
    }

    void next_queue()
    {
        if (reading_ == queues_.size()) {
            net_.end();
            return;
        }
        queue& q = *queues_[reading_++];
        if (const auto lost = lost_.find(q.broker); lost != lost_.end())
            give_up(q, lost->second);
        else
            begin(q);
    }

    void finished(queue&)
    {
        if (!a_.follow)
            net_.after(0ms, [this] { next_queue(); });
    }

    // ---- one queue ----

    void begin(queue& q)
    {
        ask_offset(q, q.at_end_first ? wire::code::get_max_offset : wire::code::get_min_offset, q.next, &reader::began);
    }

    void began(queue& q)
    {
        if (a_.follow)
            pull(q);
        else
            ask_offset(q, wire::code::get_max_offset, q.end, &reader::knows_end);
    }

    void knows_end(queue& q)
    {
        if (*q.next >= *q.end)
            finished(q);
        else
            pull(q);
    }

    void ask_offset(queue& q, std::int32_t code, std::optional<std::int64_t>& out, done then)
    {
        net::question question;
        question.code = code;
        question.fields = {{"topic", a_.topic}, {"queueId", std::to_string(q.id)}, {"bname", q.broker}};
        if (code == wire::code::get_max_offset)
            question.fields.emplace_back("committed", "true");
        ask(q, std::move(question), [this, &q, &out, then](const net::reply& r) {
            const std::string why = failure_of(r);
            const auto offset = why.empty() ? r.answer->number("offset") : std::nullopt;
            if (!offset)
                return failed(q, why.empty() ? "it answered without an offset" : why, r.how == send::ending::answered);
            recovered(q);
            out = *offset;
            (this->*then)(q);
        });
    }

    void pull(queue& q)
    {
        net::question question;
        question.code = wire::code::pull_message;
        question.fields = {{"consumerGroup", std::string(reader_group)}, {"topic", a_.topic}, {"queueId", std::to_string(q.id)},
                           {"queueOffset", std::to_string(*q.next)}, {"maxMsgNums", std::to_string(messages_a_pull)},
                           {"sysFlag", "4"},  // a subscription is given; nothing is committed, nothing waited for
                           {"commitOffset", "0"}, {"suspendTimeoutMillis", "0"}, {"subscription", "*"}, {"subVersion", "0"},
                           {"expressionType", "TAG"}, {"bname", q.broker}};
        ask(q, std::move(question), [this, &q](const net::reply& r) { pulled(q, r); });
    }

    void pulled(queue& q, const net::reply& r)
    {
        using namespace wire::response;
        const std::int32_t code = r.how == send::ending::answered ? r.answer->code : -1;
        if (code != success && code != pull_not_found && code != pull_retry_immediately && code != pull_offset_moved) {
            const bool for_a_while = code == -1 || code == system_error || code == system_busy || code == service_not_available;
            return failed(q, failure_of(r), !for_a_while);
        }
        recovered(q);
        if (code == success && !take(q, r.body))
            return;  // --count is reached, or the answer made no sense
        const std::int64_t next = r.answer->number("nextBeginOffset").value_or(*q.next);
        if (code == pull_offset_moved && next != *q.next) {
            complain(self, fmt::format("{} queue {}: nothing lies at {} any more; going on at {}", q.broker, q.id, *q.next, next));
            q.next = next;
        } else if (next > *q.next) {
            q.next = next;
        }
        if (!a_.follow && (*q.next >= *q.end || code == pull_not_found || code == pull_offset_moved))
            return finished(q);
        if (code == success || code == pull_retry_immediately)
            pull(q);
        else
            net_.after(poll_period, [this, &q] { pull(q); });
    }

    /// False: nothing more is to be read from this answer's queue.
    bool take(queue& q, std::string_view bytes)
    {
        std::string what;
        for (;;) {
            wire::stored_message m;
            const auto status = wire::read_stored(bytes, m, what);
            if (status == wire::stored_status::end)
                break;
            if (status == wire::stored_status::bad) {
                give_up(q, "its answer cannot be read: " + what);
                return false;
            }
            if (status == wire::stored_status::blank || m.queue_offset < *q.next)
                continue;
            if (q.end && m.queue_offset >= *q.end)
                break;
            q.next = m.queue_offset + 1;
            const cluster::stored_record record = record_of(q.broker, m);
            out_.line(a_.json ? cluster::to_json(record) : for_people(record));
            if (++read_ == a_.count) {
                net_.end();
                return false;
            }
        }
        if (a_.follow)
            out_.flush();
        return true;
    }

    // ---- what goes wrong ----

    void ask(queue& q, net::question question, std::function<void(const net::reply&)> then)
    {
        const auto address = addresses_.find(q.broker);
        if (address == addresses_.end() || address->second.empty())
            return failed(q, "the route has no address of it", false);
        net_.ask(address->second, std::move(question), std::move(then));
    }

    void recovered(queue& q)
    {
        q.failing_since.reset();
        q.pause = first_pause;
        if (warned_.erase(q.broker) != 0)
            complain(self, q.broker + " answers again");
    }

    /// `refused`: it said no, and would again.
    void failed(queue& q, const std::string& why, bool refused)
    {
        const auto now = clock::now();
        if (!q.failing_since)
            q.failing_since = now;
        if (!a_.follow && (refused || now - *q.failing_since >= patience)) {
            if (!refused)
                lost_[q.broker] = why;
            return give_up(q, why);
        }
        if (a_.follow && warned_.insert(q.broker).second)
            complain(self, fmt::format("{} queue {}: {}; trying again", q.broker, q.id, why));
        const auto pause = std::exchange(q.pause, std::min<std::chrono::milliseconds>(q.pause * 2, last_pause));
        net_.after(pause, [this, &q] {
            net_.route(a_.topic, [this, &q](route_answer heard) {
                if (heard.what == route_answer::kind::found)
                    take_route(heard.route);
                again(q);
            });
        });
    }

    void again(queue& q)
    {
        if (!q.next)
            begin(q);
        else if (!a_.follow && !q.end)
            began(q);
        else
            pull(q);
    }

    void give_up(queue& q, const std::string& why)
    {
        complain(self, fmt::format("{} queue {} cannot be read{}: {}", q.broker, q.id,
                                   q.next ? fmt::format(" from offset {} on", *q.next) : "", why));
        ok_ = false;
        finished(q);
    }

    const tail_arguments& a_;
    const producer_options& options_;
    questions& net_;
    output out_;
    std::vector<std::unique_ptr<queue>> queues_;
    std::set<std::pair<std::string, std::int32_t>> known_;
    std::map<std::string, std::string> addresses_;
    std::map<std::string, std::string> lost_;  // brokers that never answered, and why: their other queues are not tried
    std::set<std::string> warned_;             // --follow: brokers that do not answer, told once
    std::optional<clock::time_point> route_failing_since_;
    std::size_t reading_ = 0;
    std::uint64_t read_ = 0;
    bool ok_ = true;
};

int tail(const tail_arguments& a)
{
    const auto loaded = load_options(self, a.config, strategies::ignored);
    if (!loaded || !can_be_asked(self, loaded->options))
        return misused;
    if (a.from == start::end && !a.follow)
        complain(self, "--from end begins after the last message, and without --follow there is nothing to wait for");
    const interrupts stop;
    questions net(loaded->options, stop);
    if (!net.ready(self))
        return misused;
    const bool ok = reader(a, loaded->options, net).read_all();
    return ok && (a.follow || !stop.requested()) ? done : failed;
}

}  // namespace

void add_tail(CLI::App& program, chosen_command& chosen)
{
    auto a = std::make_shared<tail_arguments>();
    CLI::App& app = *program.add_subcommand(
        "tail", "Reads back what lies in each queue of a topic, in order; with --follow also what comes.");
    app.footer("Reading changes nothing at the brokers: no offsets are committed.\n"
               "Exit status: 0 all was read, 1 some queue could not be read (the others were), 2 wrong usage or configuration.\n");
    add_text(app, "-c,--config", a->config, "the configuration, see config/shunt.toml")->required()->type_name("FILE");
    add_option(app, "-t,--topic", config::topic_rule(), a->topic, "what to read")->required()->type_name("TOPIC");
    add_option(app, "--from", config::enumerated<start>{{{"begin", "end"}}}, a->from,
               "begin: all there is. end: only what comes. begin unless said");
    add_option(app, "--count", config::whole_number{1, 1'000'000'000'000}, a->count, "so many messages, then end")->type_name("N");
    app.add_flag("--follow", a->follow, "go on with what comes, until ctrl-c");
    app.add_flag("--json", a->json, "a line of JSON for each message");
    app.callback([a, &chosen] { chosen = [a] { return tail(*a); }; });
}

}  // namespace shunt::cli
