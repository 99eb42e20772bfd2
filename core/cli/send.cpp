// shunt send: messages from the command line or from stdin, and where each of them went.

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"
#include "hangups.hpp"
#include "interrupts.hpp"
#include "line_reader.hpp"
#include "options_file.hpp"
#include "receipts.hpp"
#include "send_kinds.hpp"
#include "sending.hpp"
#include "tally.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace shunt::cli {

namespace {

constexpr std::string_view self = "send";

struct send_arguments {
    std::string config, topic, body, key, order_key, tag, receipts, record;
    bool trace = false;
    std::vector<std::string> properties;
    std::optional<std::uint64_t> size;
    std::uint64_t count = 0;  // 0: as many as there are
    send_kinds kinds;
    sending_plan plan;
    bool has_body = false, has_key = false, has_order_key = false, json = false, no_admin = false;
};

/// "250", "250/s", "0.5".
double rate_of(const std::string& text)
{
    std::string_view number = text;
    if (number.ends_with("/s"))
        number.remove_suffix(2);
    double rate = 0;
    const auto [end, ec] = std::from_chars(number.data(), number.data() + number.size(), rate);
    if (ec != std::errc{} || end != number.data() + number.size() || !(rate >= 0.001 && rate <= 1e9))
        refuse_argument("--rate", text, "messages a second, from 0.001 to 1000000000, as in 250/s");
    return rate;
}

std::pair<std::string, int> queue_of(const std::string& text)
{
    const auto slash = text.rfind('/');
    const std::string_view id = slash == std::string::npos ? std::string_view{} : std::string_view(text).substr(slash + 1);
    int number = 0;
    const auto [end, ec] = std::from_chars(id.data(), id.data() + id.size(), number);
    if (slash == 0 || id.empty() || ec != std::errc{} || end != id.data() + id.size() || number < 0)
        refuse_argument("--queue", text, "a broker and a queue's number, as in broker-a/0");
    return {text.substr(0, slash), number};
}

/// Asks once, when the time has come, whether there is something to say already; says it.
class early_word {
public:
    early_word(std::chrono::milliseconds after, std::function<std::string()> text)
        : thread_([this, after, ask = std::move(text)] {
              {
                  std::unique_lock lock(lock_);
                  if (ended_.wait_for(lock, after, [this] { return end_; }))
                      return;
              }
              if (const std::string said = ask(); !said.empty())
                  complain(self, said);
          })
    {
    }
    ~early_word()
    {
        {
            const std::lock_guard lock(lock_);
            end_ = true;
        }
        ended_.notify_all();
        thread_.join();
    }
    early_word(const early_word&) = delete;
    early_word& operator=(const early_word&) = delete;

private:
    std::mutex lock_;
    std::condition_variable ended_;
    bool end_ = false;
    std::thread thread_;
};

/// Makes the messages, one after another.
class message_maker {
public:
    message_maker(const send_arguments& a, const interrupts& stop)
        : a_(a), body_(a.body), key_(a.key), order_key_(a.order_key), lines_(STDIN_FILENO, stop)
    {
        for (const std::string& p : a.properties) {
            const auto split = p.find('=');
            properties_.emplace_back(p.substr(0, split), numbered_text(p.substr(split + 1)));
        }
    }

    bool next(std::uint64_t& i, message& m)
    {
        if (a_.count != 0 && count_ == a_.count)
            return false;
        std::string body;
        if (a_.size) {
            body = body_of_size(count_, *a_.size);
        } else if (a_.has_body) {
            body = body_.of(count_);
        } else {
            std::string_view line;
            const auto status = lines_.next(line);
            if (status != line_reader::status::line) {
                if (status == line_reader::status::too_long)
                    trouble_ = fmt::format("line {} of stdin has more than {} bytes; the rest is not sent", count_ + 1,
                                           line_reader::max_line);
                if (status == line_reader::status::failed)
                    trouble_ = "reading stdin failed: " + std::generic_category().message(errno);
                return false;
            }
            body = line;
        }
        m = message(a_.topic, std::move(body));
        i = count_++;
        if (!a_.tag.empty())
            m.set_tag(a_.tag);
        if (a_.has_key)
            m.add_key(key_.of(i));
        if (a_.has_order_key)
            m.set_order_key(order_key_.of(i));
        for (const auto& [name, value] : properties_)
            m.set_property(name, value.of(i));
        a_.kinds.put_on(m);
        return true;
    }

    /// What went wrong with stdin; empty: nothing.
    [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

private:
    const send_arguments& a_;
    numbered_text body_, key_, order_key_;
    std::vector<std::pair<std::string, numbered_text>> properties_;
    line_reader lines_;
    std::uint64_t count_ = 0;
    std::string trouble_;
};

/// The names of the policy that the sends get, and of the binding that gives it.
std::pair<std::string, std::string> policy_of(const send_arguments& a, const producer_options& options)
{
    if (!a.plan.options.policy.empty())
        return {a.plan.options.policy, ""};
    const config::chosen_policy p = config::policy_of(options, a.topic);
    return {std::string(p.policy), p.by != nullptr ? p.by->topic : ""};
}

bool is_same_file(const std::string& a, const std::string& b)
{
    std::error_code none;
    return !b.empty() && (std::filesystem::equivalent(a, b, none) ||
                          std::filesystem::weakly_canonical(a, none) == std::filesystem::weakly_canonical(b, none));
}

int send(const send_arguments& a)
{
    auto loaded = load_options(self, a.config, strategies::checked);
    if (!loaded)
        return misused;
    std::unique_ptr<receipt_file> receipts;
    if (!a.receipts.empty()) {
        for (const std::string& other : {a.config, a.record.empty() ? loaded->options.record : a.record}) {
            if (!is_same_file(a.receipts, other))
                continue;
            complain(self, fmt::format("--receipts is {}; it must be another file than {}, which would be lost", config::in_marks(a.receipts),
                                       config::in_marks(other)));
            return misused;
        }
        try {
            receipts = std::make_unique<receipt_file>(a.receipts);
        } catch (const std::system_error& e) {
            complain(self, fmt::format("--receipts is {}; it must be a file that can be written: {}", config::in_marks(a.receipts),
                                       e.code().message()));
            return misused;
        }
    }
    const auto add_arguments = [&](producer_options& o) {
        if (!a.record.empty())
            o.record = a.record;
        if (a.trace)
            o.trace = "*";
        if (a.no_admin)
            o.admin.listen.clear();
        a.kinds.options_of(o);
    };
    add_arguments(loaded->options);
    loaded->options.overrides = add_arguments;  // they stand, whatever the file says later
    const auto [policy, binding] = policy_of(a, loaded->options);
    const auto send_timeout = a.plan.options.timeout.count() != 0 ? a.plan.options.timeout : loaded->options.send_timeout;
    hangups hangup;
    auto made = make_producer(self, std::move(loaded->options), endpoint::served);
    if (!made)
        return misused;
    producer& p = *made;
    hangup.start([&] {
        const swap_handle h = p.reload("SIGHUP");
        for (const swap_state on_its_way : {swap_state::staged, swap_state::admitting, swap_state::created})
            (void)h.wait_past(on_its_way, std::chrono::hours(1));
        const swap_status s = h.status();
        complain(self, fmt::format("SIGHUP: swap {}: {}{}{}", s.id, to_string(s.state), s.reason.empty() ? "" : ": ", s.reason));
    });
    if (!a.has_body && !a.size && ::isatty(STDIN_FILENO) != 0)
        complain(self, "each line typed is a message; ctrl-d ends");

    const interrupts stop;
    message_maker messages(a, stop);
    tally sum;
    std::mutex sum_lock;
    std::atomic<std::uint64_t> submitted{0};
    sending_hooks hooks;
    hooks.next = [&](std::uint64_t& i, message& m) { return messages.next(i, m); };
    hooks.admit = [&](std::uint64_t i) {
        if (receipts != nullptr && !receipts->admit(i))
            return false;
        submitted.fetch_add(1, std::memory_order_relaxed);
        return true;
    };
    hooks.ended = [&](std::uint64_t i, receipt&& r) {
        std::string line = receipts != nullptr ? receipt_line(i, r) : std::string();
        {
            const std::lock_guard lock(sum_lock);
            sum.add(i, r);
        }
        if (receipts != nullptr)
            receipts->put(i, std::move(line));
    };

    output out;
    std::string replies_missing;
    const auto begun = std::chrono::steady_clock::now();
    {
        const progress shown_meanwhile([&] {
            const std::lock_guard lock(sum_lock);
            const std::uint64_t sent = submitted;
            const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - begun;
            return fmt::format("{} sent, {} ended, {} of them not well, {:.0f}/s{}", grouped(sent), grouped(sum.ended()),
                               grouped(sum.ended() - sum.well()), static_cast<double>(sum.ended()) / so_far.count(),
                               stop.requested() ? "; ending, waiting for answers" : "");
        });
        const early_word why_it_takes_long(std::chrono::seconds(1), [&] {
            const std::string why = p.counters().route_error;
            return why.empty() ? why : fmt::format("topic '{}' has no route yet: {}; waiting up to {}", a.topic, why, shown(send_timeout));
        });
        send_by_kind(p, a.topic, a.kinds, a.plan, hooks, stop, [&](std::uint64_t i, const reply_receipt& r) {
            if (r.error.failed())
                replies_missing += fmt::format("{}message {}: {}", replies_missing.empty() ? "" : "\n", i, r.reason.empty() ? r.error.message() : r.reason);
            else if (!a.json)
                out.line(fmt::format("reply {}: {}", i, config::printable(r.body, 4096)));
        });
    }
    const auto took = std::chrono::steady_clock::now() - begun;
    hangup.stop();
    const counters counts = close_and_count(p, send_timeout);

    bool all_well = sum.well() == sum.ended();
    const auto trouble = [&](std::string_view text) {
        if (!text.empty()) {
            complain(self, text);
            all_well = false;
        }
    };
    if (stop.requested())
        trouble(fmt::format("interrupted; {} had been sent, each is counted", counted(sum.ended(), "message")));
    trouble(messages.trouble());
    if (receipts != nullptr)
        trouble(receipts->finish());
    trouble(sum.failures_text());
    trouble(counts.record_error);
    if (const std::string text = plugin_trouble(counts); !text.empty())
        complain(self, text);  // every message may be stored all the same

    trouble(replies_missing);
    if (a.json) {
        json object;
        object.object();
        sum.put(object, took);
        object.member("interrupted", stop.requested()).member("policy", policy).member("binding", binding);
        put_counters(object, counts);
        out.line(object.end_object().text());
    } else {
        out.write(sum.table_text(took) + fmt::format("policy: {}\n", a.plan.options.policy.empty() ? in_words(policy, binding) : policy + " (--policy)"));
    }
    return out.finish(self) && all_well ? done : failed;
}

}  // namespace

void add_send(CLI::App& program, chosen_command& chosen)
{
    auto a = std::make_shared<send_arguments>();
    CLI::App& app = *program.add_subcommand(
        "send", "Sends messages and tells where each went, how it ended, and how long it took.");
    app.footer("Each message is --body, or made up by --size, or a line of stdin.\n"
               "{i} in --body, --key, --order-key and values of --property is the message's number, from 0.\n"
               "SIGHUP reads the configuration again and puts what changed in force, if it can change while running.\n"
               "ctrl-c stops, waits for what is under way and tells what came of it; a second one aborts.\n"
               "Exit status: 0 all were stored (one-way: written), 1 some were not, 2 wrong usage or configuration.\n");
    add_text(app, "-c,--config", a->config, "the configuration, see config/shunt.toml")->required()->type_name("FILE");
    add_text(app, "-t,--topic", a->topic, "where to")->required()->type_name("TOPIC");
    CLI::Option* body = add_text(app, "--body", a->body, "the message; with --count the same one again")->type_name("TEXT");
    add_option(app, "--size", config::byte_size{0, 64 * 1024 * 1024}, a->size, "a body of so many bytes")
        ->type_name("BYTES")
        ->excludes(body);
    add_option(app, "--count", config::whole_number{1, 1'000'000'000'000}, a->count,
               "so many messages; 1 unless said, of stdin all lines")->type_name("N");
    app.add_option_function<std::string>(
           "--rate", [a](const std::string& text) { a->plan.rate = rate_of(text); }, "at most so many a second")
        ->type_name("N/s");
    CLI::Option* key = add_text(app, "--key", a->key, "a key to find the message by, its property KEYS")->type_name("K");
    CLI::Option* order_key =
        add_text(app, "--order-key", a->order_key, "what selectors choose by and ordered policies keep in order")->type_name("K");
    add_text(app, "--tag", a->tag, "what consumers filter by")->type_name("T");
    app.add_option("--property", a->properties, "a property of your own; may be repeated")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->check([](const std::string& text) {
            if (const auto split = text.find('='); split == 0 || split == std::string::npos)
                refuse_argument("--property", text, "a name and a value, as in region=north");
            return std::string();
        });
    CLI::Option* policy =
        add_text(app, "--policy", a->plan.options.policy, "a policy of the configuration, instead of the topic's")->type_name("P");
    app.add_option_function<std::string>(
           "--queue", [a](const std::string& text) { a->plan.options.queue = queue_of(text); }, "this queue only, as in broker-a/0")
        ->type_name("BROKER/ID")
        ->excludes(policy);
    add_option(app, "--mode", config::enumerated<send_mode>{{{"sync", "async", "oneway"}}}, a->plan.mode,
               "sync: one after another. async: many at once. oneway: nobody answers. sync unless said");
    add_option(app, "--in-flight", config::whole_number{1, 1'000'000}, a->plan.in_flight,
               "async, oneway: at most so many at once; 256 unless said")->type_name("N");
    add_option(app, "--threads", config::whole_number{1, 256}, a->plan.threads, "that send; 1 unless said")->type_name("N");
    add_option(app, "--timeout", config::duration{std::chrono::milliseconds(1), std::chrono::hours(24)}, a->plan.options.timeout,
               "for a message, all its attempts included; send_timeout of the configuration unless said")->type_name("D");
    add_kinds(app, a->kinds);
    add_text(app, "--receipts", a->receipts, "a line of JSON for each message, in the order they were sent")->type_name("FILE");
    app.add_flag("--trace", a->trace, "write the sends to RocketMQ's message trace, whatever [producer] trace says");
    add_text(app, "--record", a->record, "the run as a scenario: `shunt simulate FILE` runs it again, also by another policy")->type_name("FILE");
    app.add_flag("--no-admin", a->no_admin, "do not serve the [admin] of the configuration, which another process may do already");
    app.add_flag("--json", a->json, "the summary as one object");
    app.callback([a, body, key, order_key, &chosen] {
        a->has_body = body->count() != 0;
        a->has_key = key->count() != 0;
        a->has_order_key = order_key->count() != 0;
        if (const std::string wrong = a->kinds.contradiction(a->plan); !wrong.empty())
            throw CLI::ValidationError(wrong);
        if ((a->has_body || a->size) && a->count == 0)
            a->count = 1;
        chosen = [a] { return send(*a); };
    });
}

}  // namespace shunt::cli
