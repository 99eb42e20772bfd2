#include <campaign/round.hpp>

#include <cluster/embedded_cluster.hpp>
#include <shunt/producer.hpp>
#include <wire/compress.hpp>
#include <wire/send.hpp>

#include <boost/asio/bind_executor.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace shunt::campaign {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds patience = 15s;  // only a failing round waits so long
constexpr std::chrono::milliseconds senders_stop = 2500ms;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::chrono::milliseconds usual_grace = 6s;
#else
constexpr std::chrono::milliseconds usual_grace = 1500ms;
#endif
constexpr std::string_view number_property = "number";

class pauses {
public:
    void until(clock::time_point t)
    {
        std::unique_lock held(lock_);
        never_.wait_until(held, t);
    }

private:
    std::mutex lock_;
    std::condition_variable never_;
};

bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds limit = patience)
{
    pauses pause;
    const auto end = clock::now() + limit;
    while (!holds()) {
        if (clock::now() >= end)
            return false;
        pause.until(clock::now() + 1ms);
    }
    return true;
}

/// Different for each message, hard to compress for some of them.
std::string body_of(int number, std::size_t size)
{
    std::string body = fmt::format("{}:", number);
    dice d(static_cast<std::uint64_t>(number) + 1);
    const bool dull = number % 3 == 0;
    const std::uint64_t word = d.next();
    while (body.size() < size) {
        const std::uint64_t w = dull ? word : d.next();
        body.append(reinterpret_cast<const char*>(&w), sizeof w);
    }
    body.resize(size);
    return body;
}

std::string words(const receipt& r)
{
    std::string text = fmt::format("{} '{}' {}", shunt::to_string(r.outcome), r.error.message(), r.reason);
    for (const attempt& a : r.attempts)
        text += fmt::format(" [{}/{} {} code {} {}ms {}]", a.broker, a.queue, shunt::to_string(a.outcome), a.code, a.latency.count() / 1'000'000, a.text);
    return text;
}

/// What was sent, and what senders were told. Handlers may outlive a round that failed, so it is shared.
class book {
public:
    explicit book(std::size_t size) : all_(size), sizes_(size) {}

    void begin(int number, way how, int key, std::size_t size, std::chrono::milliseconds limit)
    {
        const std::lock_guard held(lock_);
        sent_message& m = at(number);
        m.number = number;
        m.how = how;
        m.key = key;
        m.limit = limit;
        sizes_[static_cast<std::size_t>(number)] = size;
        ++begun_;
    }
    void call() { ++calls_; }
    void ask() { ++requests_; }

    void completed(int number, const receipt& r, clock::time_point since)
    {
        {
            const std::lock_guard held(lock_);
            note(at(number), r, since);
        }
        more_.notify_all();
    }
    void completed(int number, const transaction_receipt& t, clock::time_point since)
    {
        {
            const std::lock_guard held(lock_);
            sent_message& m = at(number);
            note(m, t.half, since);
            m.end = t.end;
            m.confirmed = t.confirmed;
            m.told += fmt::format("; {} {}", shunt::to_string(t.end), t.confirmed ? "confirmed" : t.reason);
        }
        more_.notify_all();
    }
    /// The decision of a message's branch: what a broker's question is answered with, too.
    void decide(int number, transaction_end end)
    {
        const std::lock_guard held(lock_);
        decided_[number] = end;
    }
    [[nodiscard]] transaction_end decision(int number) const
    {
        const std::lock_guard held(lock_);
        const auto it = decided_.find(number);
        return it == decided_.end() ? transaction_end::rollback : it->second;
    }

    [[nodiscard]] bool wait(const std::function<bool()>& holds, std::chrono::milliseconds limit)
    {
        std::unique_lock held(lock_);
        return more_.wait_for(held, limit, holds);
    }
    [[nodiscard]] bool all_completed() const { return completed_ == begun_; }  // with the lock held, as wait() asks
    [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
    [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }
    [[nodiscard]] std::vector<sent_message> sent() const
    {
        const std::lock_guard held(lock_);
        std::vector<sent_message> begun;
        std::copy_if(all_.begin(), all_.end(), std::back_inserter(begun), [](const sent_message& m) { return m.number >= 0; });
        return begun;
    }
    [[nodiscard]] std::size_t size_of(int number) const { return sizes_[static_cast<std::size_t>(number)]; }
    [[nodiscard]] bool knows(int number) const noexcept { return number >= 0 && static_cast<std::size_t>(number) < all_.size(); }

private:
    struct unsent : sent_message {
        unsent() { number = -1; }
    };
    sent_message& at(int number) { return all_[static_cast<std::size_t>(number)]; }
    void note(sent_message& m, const receipt& r, clock::time_point since)
    {
        if (m.completions++ == 0)
            ++completed_;
        m.outcome = r.outcome;
        m.took = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - since);
        m.attempts = static_cast<int>(r.attempts.size());
        m.stored_attempts = m.unknown_attempts = 0;
        for (const attempt& a : r.attempts) {
            m.stored_attempts += a.outcome == outcome::stored ? 1 : 0;
            m.unknown_attempts += a.outcome == outcome::unknown ? 1 : 0;
        }
        m.given_up = r.reason.find("executor did not get to the send") != std::string::npos;
        m.after_unknown = r.after_unknown;
        m.broker = r.broker;
        m.queue = r.queue;
        m.offset = r.offset;
        m.told = words(r);
    }

    mutable std::mutex lock_;
    std::condition_variable more_;
    std::vector<unsent> all_;
    std::vector<std::size_t> sizes_;
    std::map<int, transaction_end> decided_;
    std::size_t begun_ = 0, completed_ = 0;
    std::atomic<std::uint64_t> calls_{0}, requests_{0};
};

/// One sender: a thread that sends what its plan says.
class sender {
public:
    sender(const sender_plan& plan, std::uint64_t seed, int first, producer& p, std::shared_ptr<book> b, std::chrono::milliseconds timeout, clock::time_point end)
        : plan_(plan), dice_(seed * 1'000'003 + static_cast<std::uint64_t>(plan.id)), number_(first), p_(p), book_(std::move(b)),
          timeout_(plan.timeout_ms > 0 ? std::chrono::milliseconds(plan.timeout_ms) : timeout), end_(end)
    {
        options_.timeout = std::chrono::milliseconds(plan.timeout_ms);
    }

    void run()
    {
        pauses pause;
        for (int left = plan_.messages; left > 0 && clock::now() < end_;) {
            left -= send(left);
            if (plan_.gap_us > 0)
                pause.until(clock::now() + std::chrono::microseconds(plan_.gap_us));
        }
    }

private:
    struct window {
        std::atomic<int> under_way{0};
    };

    message next(int& number)
    {
        number = number_++;
        const auto size = static_cast<std::size_t>(dice_.scaled(16, std::max(16, plan_.largest)));
        message m(plan_.topic, body_of(number, size));
        m.set_property(std::string(number_property), std::to_string(number));
        int key = -1;
        if (plan_.how == way::ordered) {
            key = plan_.id * 1000 + dice_.between(0, plan_.keys - 1);
            m.set_order_key("key" + std::to_string(key));
        } else if (dice_.one_in(2)) {
            m.set_order_key("k" + std::to_string(dice_.between(0, 50)));
        }
        if (dice_.one_in(8))
            m.set_wait_store(false).set_tag("tag").add_key("order-" + std::to_string(number));
        if (plan_.how == way::timed) {
            if (dice_.one_in(2))  // a delay is held to the second: below one it may be none
                m.set_delay_level(dice_.between(1, 18));
            else
                m.set_delay(std::chrono::milliseconds(dice_.scaled(2500, 100'000)));
        }
        const auto limit = plan_.how == way::transaction ? 2 * timeout_ : timeout_;
        book_->begin(number, plan_.how, key, size, limit);
        return m;
    }

    void wait_for_room(int most)
    {
        auto& under_way = window_->under_way;
        (void)book_->wait([&] { return under_way.load() < most; }, std::chrono::duration_cast<std::chrono::milliseconds>(end_ - clock::now()));
    }

    /// A handler for message `number`; each tells of it once it is called.
    auto handler(int number)
    {
        ++window_->under_way;
        return [b = book_, w = window_, number, since = clock::now()](const error_code&, const receipt& r) {
            --w->under_way;
            b->completed(number, r, since);
        };
    }
    template <typename H>
    void async(bool one_way, message m, H h)
    {
        book_->call();
        if (one_way)
            p_.async_send_oneway(std::move(m), options_, std::move(h));
        else if (plan_.bound)
            p_.async_send(std::move(m), options_, boost::asio::bind_executor(p_.get_executor(), std::move(h)));
        else
            p_.async_send(std::move(m), options_, std::move(h));
    }

    /// Sends some. How many.
    int send(int left)
    {
        int number = 0;
        switch (plan_.how) {
        case way::sync: {
            message m = next(number);
            book_->call();
            const auto t = clock::now();
            book_->completed(number, p_.deliver(std::move(m), options_), t);
            return 1;
        }
        case way::async:
        case way::timed:
        case way::ordered: {
            wait_for_room(plan_.window);
            message m = next(number);
            async(false, std::move(m), handler(number));
            return 1;
        }
        case way::one_way: {
            wait_for_room(plan_.window);
            message m = next(number);
            if (plan_.bound) {
                async(true, std::move(m), handler(number));
            } else {
                book_->call();
                const auto t = clock::now();
                book_->completed(number, p_.deliver_oneway(std::move(m), options_), t);
            }
            return 1;
        }
        case way::batch: return send_batch(std::min(left, dice_.scaled(1, 40)));
        case way::transaction: {
            message m = next(number);
            constexpr transaction_end ends[] = {transaction_end::commit, transaction_end::commit, transaction_end::rollback, transaction_end::unknown};
            const transaction_end end = dice_.of(ends);
            // What is not decided here, the broker is told later.
            const transaction_end later = end == transaction_end::unknown ? transaction_end::rollback : end;
            book_->call();
            const auto t = clock::now();
            const auto r = p_.send_transaction(
                std::move(m), [&](const message&, const receipt&) { book_->decide(number, later); return end; }, options_);
            book_->completed(number, r, t);
            return 1;
        }
        case way::request: {
            message m = next(number);
            book_->ask();
            const auto t = clock::now();
            if (plan_.bound) {
                wait_for_room(plan_.window);
                ++window_->under_way;
                p_.async_request(std::move(m), options_, [b = book_, w = window_, number, t](const error_code&, const reply_receipt& r) {
                    --w->under_way;
                    b->completed(number, r.send, t);
                });
            } else {
                book_->completed(number, p_.request(std::move(m), options_).send, t);
            }
            return 1;
        }
        }
        return left;
    }

    int send_batch(int n)
    {
        wait_for_room(plan_.window);
        std::vector<message> all;
        std::vector<int> numbers;
        for (int i = 0; i < n; ++i) {
            int number = 0;
            all.push_back(next(number));
            all.back().set_wait_store(true).set_order_key("batch");
            numbers.push_back(number);
        }
        book_->call();
        const auto told = [numbers, b = book_, t = clock::now()](const batch_receipt& r) {
            for (std::size_t i = 0; i < numbers.size(); ++i)
                b->completed(numbers[i], i < r.size() ? r.of(i) : r.send, t);
        };
        if (plan_.bound) {
            ++window_->under_way;
            p_.async_send_batch(std::move(all), options_, [told, w = window_](const error_code&, const batch_receipt& r) {
                --w->under_way;
                told(r);
            });
        } else {
            told(p_.deliver_batch(std::move(all), options_));
        }
        return n;
    }

    const sender_plan plan_;
    dice dice_;
    int number_;
    producer& p_;
    std::shared_ptr<book> book_;
    std::shared_ptr<window> window_ = std::make_shared<window>();
    send_options options_;
    const std::chrono::milliseconds timeout_;
    const clock::time_point end_;
};

/// What happens to the producer itself.
class events {
public:
    events(producer& p, producer_options now, std::string name_server) : p_(p), now_(std::move(now)), name_server_(std::move(name_server)) {}

    void carry_out(std::string_view what)
    {
        std::deque<std::string> w;
        for (std::size_t at = 0; at < what.size();) {
            const auto end = std::min(what.find(' ', at), what.size());
            w.emplace_back(what.substr(at, end - at));
            at = end + 1;
        }
        if (w[0] == "rollback") {
            (void)p_.rollback();
        } else if (w[0] == "barrier") {
            (void)p_.barrier();
        } else if (w[0] == "names") {
            now_.name_servers = names(std::string(what.substr(6)), name_server_);
            (void)p_.stage(now_);
        } else if (w[0] == "policy" || w[0] == "canary") {
            now_.policies["default"].selector.use = w[1];
            now_.policies["default"].fault.use = w[2];
            stage_options how;
            how.canary = w[0] == "canary" ? 0.4 : 0;
            (void)p_.stage(now_, how);
        } else if (w[0] == "order") {
            now_.policies["in-order"].selector.use = w[1];
            (void)p_.stage(now_);
        } else if (w[0] == "close") {
            (void)p_.close(std::chrono::milliseconds(std::stoi(w[1])));
        } else {
            throw std::logic_error("no event '" + std::string(what) + "'");
        }
    }
    static std::vector<std::string> names(const std::string& what, const std::string& name_server)
    {
        const std::string dead = "127.0.0.1:1";
        if (what == "dead first")
            return {dead, name_server};
        if (what == "dead last")
            return {name_server, dead};
        return {name_server};
    }

private:
    producer& p_;
    producer_options now_;
    const std::string name_server_;
};

struct step {
    std::chrono::milliseconds at;
    std::string subject, what;
};

/// Beginnings and ends of faults, in the order of their time.
std::vector<step> steps_of(const plan& p)
{
    std::vector<step> all;
    for (const fault_plan& f : p.faults) {
        all.push_back({std::chrono::milliseconds(f.at_ms), f.subject, f.what});
        if (f.for_ms > 0)
            all.push_back({std::chrono::milliseconds(f.at_ms + f.for_ms), f.subject, "ok"});
    }
    std::stable_sort(all.begin(), all.end(), [](const step& a, const step& b) { return a.at < b.at; });
    return all;
}

void must(const std::optional<std::string>& wrong)
{
    if (wrong)
        throw std::runtime_error(*wrong);
}

/// Faults begin and end in their time, until all have and `over` is set; the most messages in flight that were seen.
class conductor {
public:
    conductor(const plan& p, cluster::embedded_cluster& c, producer& producer, events& e) : steps_(steps_of(p)), cluster_(c), producer_(producer), events_(e) {}

    void run(clock::time_point begin, const std::atomic<bool>& over)
    {
        pauses pause;
        for (std::size_t next = 0; next < steps_.size() || !over;) {
            const auto now = clock::now();
            if (next < steps_.size() && now >= begin + steps_[next].at) {
                const step& s = steps_[next++];
                if (s.subject == "producer")
                    events_.carry_out(s.what);
                else
                    must(cluster_.command(s.subject + " " + s.what));
                continue;
            }
            most_ = std::max(most_, producer_.counters().in_flight_messages);
            pause.until(std::min(now + 5ms, next < steps_.size() ? begin + steps_[next].at : now + 5ms));
        }
    }
    [[nodiscard]] std::uint64_t most() const noexcept { return most_; }

private:
    const std::vector<step> steps_;
    cluster::embedded_cluster& cluster_;
    producer& producer_;
    events& events_;
    std::uint64_t most_ = 0;
};

/// How late this machine wakes threads.
class lateness {
public:
    lateness() : thread_([this] {
        pauses pause;
        while (!over_) {
            const auto due = clock::now() + 5ms;
            pause.until(due);
            worst_ = std::max(worst_, clock::now() - due);
        }
    }) {}
    ~lateness() { (void)worst(); }
    lateness(const lateness&) = delete;
    lateness& operator=(const lateness&) = delete;
    std::chrono::milliseconds worst()
    {
        over_ = true;
        if (thread_.joinable())
            thread_.join();
        return std::chrono::duration_cast<std::chrono::milliseconds>(worst_);
    }

private:
    std::atomic<bool> over_{false};
    clock::duration worst_{0};
    std::thread thread_;
};

producer started(producer_options o)
{
    auto p = producer::create(std::move(o));
    if (!p)
        throw std::runtime_error(p.error().text);
    return std::move(*p);
}

bool intact(const cluster::stored_record& r, int number, std::size_t size)
{
    const std::string wanted = body_of(number, size);
    if ((r.sys_flag & wire::sys_compressed) == 0)
        return r.body == wanted;
    std::string plain;
    return wire::inflate(r.sys_flag, r.body, size + 1, plain) == wire::inflated::whole && plain == wanted;
}

std::vector<copy> read_ledger(const cluster::embedded_cluster& c, const book& b)
{
    std::vector<copy> all;
    for (const cluster::stored_record& r : c.snapshot()) {
        const bool half = r.topic == "RMQ_SYS_TRANS_HALF_TOPIC";
        const bool held = r.topic == "SCHEDULE_TOPIC_XXXX" || r.topic == "rmq_sys_wheel_timer";
        if (!half && !held && r.topic.size() != 1)
            continue;  // replies
        copy& one = all.emplace_back();
        const std::string_view number = r.property(number_property);
        (void)std::from_chars(number.data(), number.data() + number.size(), one.number);
        one.sequence = r.sequence;
        one.where = half ? shelf::half : held ? shelf::held : shelf::topic;
        one.broker = r.broker;
        one.queue = r.queue;
        one.offset = r.offset;
        one.intact = b.knows(one.number) && intact(r, one.number, b.size_of(one.number));
    }
    return all;
}

cluster::options cluster_of(const plan& p)
{
    cluster::options o;
    o.brokers = p.brokers;
    o.queues = p.queues;
    o.binary_answers = p.binary_answers;
    o.transaction_timeout = 200ms;
    o.transaction_interval = 100ms;
    o.transaction_checks = 1000;
    return o;
}

/// Between the start and the end of a producer; what it leaves behind is for `h`.
void run_producer(const plan& p, cluster::embedded_cluster& c, const std::shared_ptr<book>& b, history& h)
{
    producer_options options = p.producer;
    options.name_servers = events::names(p.name_servers, c.name_server());
    producer mine = started(options);
    mine.answer_checks({"T", "U"}, [b](const stored_message& half) {
        int number = -1;
        const std::string text(half.property(number_property));
        (void)std::from_chars(text.data(), text.data() + text.size(), number);
        return b->decision(number);
    });
    std::optional<producer> answering;
    if (std::any_of(p.senders.begin(), p.senders.end(), [](const sender_plan& s) { return s.how == way::request; })) {
        producer_options o;
        o.group = "answering";
        o.name_servers = {c.name_server()};
        answering = started(o);
        answering->answer_requests("R", [](const stored_message& m) { return m.body.substr(0, 100); });
    }

    events happening(mine, options, c.name_server());
    conductor conducting(p, c, mine, happening);
    std::atomic<bool> over{false};
    const auto begin = clock::now();
    std::exception_ptr failed;
    std::thread faults([&] {
        try {
            conducting.run(begin, over);
        } catch (...) {
            failed = std::current_exception();
        }
    });
    std::vector<std::thread> threads;
    int first = 0;
    for (const sender_plan& s : p.senders) {
        threads.emplace_back([&, &plan = s, first] { sender(plan, p.seed, first, mine, b, options.send_timeout, begin + senders_stop).run(); });
        first += s.messages;
    }
    for (std::thread& t : threads)
        t.join();
    (void)b->wait([&] { return b->all_completed(); }, patience);
    over = true;
    faults.join();
    if (failed)
        std::rethrow_exception(failed);
    must(c.command("name-server ok"));
    for (const std::string& broker : c.broker_names())
        must(c.command(broker + " ok"));

    (void)eventually([&] {
        const counters now = mine.counters();
        return now.in_flight_messages == 0 && now.in_flight_bytes == 0 && now.lanes == 0 && now.sends == now.stored + now.not_sent + now.unknown + now.rejected;
    }, 10s);
    const counters n = mine.counters();
    h.counts = {.calls = b->calls(), .requests = b->requests(), .sends = n.sends, .stored = n.stored, .not_sent = n.not_sent, .unknown = n.unknown, .rejected = n.rejected,
                .in_flight_messages = n.in_flight_messages, .in_flight_bytes = n.in_flight_bytes, .lanes = n.lanes,
                .most_in_flight = conducting.most(), .max_in_flight = options.max_in_flight_messages};
    const auto closing = clock::now();
    (void)mine.close(1s);
    if (answering)
        (void)answering->close(1s);
    h.closed_in_time = clock::now() - closing < 20s;
}

}  // namespace

resources count_resources()
{
    namespace fs = std::filesystem;
    const auto entries = [](const char* folder) { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator())); };
    return {entries("/proc/self/fd"), entries("/proc/self/task")};
}

history run(const plan& p, const resources& at_rest)
{
    history h;
    h.before = at_rest.threads == 0 ? count_resources() : at_rest;
    h.max_attempts = p.producer.attempts;
    std::size_t messages = 0;
    for (const sender_plan& s : p.senders)
        messages += static_cast<std::size_t>(s.messages);
    const auto b = std::make_shared<book>(messages);
    {
        lateness late;
        cluster::embedded_cluster c(cluster_of(p));
        for (const char* topic : {"T", "U", "L", "R"})
            must(c.create_topic(topic, {.queues = p.queues}));
        run_producer(p, c, b, h);
        // Everything that was written has been read once no connection is left.
        const auto quiet = [&] {
            const auto names = c.broker_names();
            return std::all_of(names.begin(), names.end(), [&](const std::string& one) { return c.counts(one).open == 0; });
        };
        if (!c.wait_until(quiet, patience))
            throw std::runtime_error("connections to brokers are left after close()");
        h.ledger = read_ledger(c, *b);
        h.grace = usual_grace + 20 * late.worst();
    }
    h.sent = b->sent();
    (void)eventually([&] {
        h.after = count_resources();
        return h.after.descriptors == h.before.descriptors && h.after.threads == h.before.threads;
    }, 5s);
    return h;
}

}  // namespace shunt::campaign
