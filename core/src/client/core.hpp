// A producer at work: puts routes, policies, the send machine and the network together.
//
// Two sides. A sender's side: any thread; decides, and hands what it decided to the I/O side through a lock-free inbox.
// The I/O side: one executor, one call at a time; owns everything below that is not said to be shared.

#pragma once

#include <client/asking.hpp>
#include <client/callbacks.hpp>
#include <client/epoch.hpp>
#include <client/gathering.hpp>
#include <client/helper_threads.hpp>
#include <client/io_loop.hpp>
#include <client/name_servers.hpp>
#include <client/names.hpp>
#include <client/op_list.hpp>
#include <client/operation.hpp>
#include <client/policy_table.hpp>
#include <client/recorder.hpp>
#include <client/room.hpp>
#include <client/route_cache.hpp>
#include <client/slots.hpp>
#include <client/swap_record.hpp>
#include <client/validate.hpp>
#include <net/http_get.hpp>
#include <net/links.hpp>
#include <observe/log.hpp>
#include <send/lanes.hpp>
#include <send/room.hpp>
#include <shunt/observer.hpp>
#include <shunt/producer.hpp>
#include <shunt/request.hpp>
#include <shunt/transaction.hpp>
#include <strategy/policy.hpp>
#include <swap/compare.hpp>
#include <swap/key_maps.hpp>
#include <swap/measures.hpp>
#include <wire/message_id.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace shunt::cluster {
class embedded_cluster;
}
namespace shunt::config {
struct loaded;
struct problem;
}

namespace shunt::client {

class tracer;

/// As nanoseconds, none negative and none beyond some 30 years: sums of such times with the present do not overflow.
[[nodiscard]] inline std::int64_t bounded_ns(std::chrono::milliseconds d) noexcept
{
    constexpr std::chrono::milliseconds most{1'000'000'000'000};
    return std::chrono::nanoseconds(std::clamp(d, std::chrono::milliseconds(0), most)).count();
}

class admin_desk;
struct statistics;

class core final : public strategy::environment, public std::enable_shared_from_this<core> {
public:
    /// Checks, loads, starts. `executor`: nothing means a thread of our own.
    [[nodiscard]] static boost::system::result<std::shared_ptr<core>, setup_error> make(producer_options options,
                                                                                       std::optional<boost::asio::any_io_executor> executor);
    ~core() override;

    // Any thread.
    [[nodiscard]] receipt deliver(bool oneway, message&& m, send_options&& options, std::unique_ptr<special> extra = nullptr);
    void start(bool oneway, message&& m, send_options&& options, detail::completion&& done, std::unique_ptr<special> extra = nullptr);
    // room.cpp
    void start_room(std::string&& topic, std::size_t body, std::chrono::milliseconds timeout, const std::shared_ptr<held_room>& held,
                    detail::completion&& done);
    static void cancel_room(const std::shared_ptr<held_room>& held);
    void start_in_room(std::shared_ptr<held_room>&& held, message&& m, send_options&& options, detail::completion&& done);
    void give_back(held_room& held) noexcept;
    // batches.cpp. `split`: as many batches as it takes; else too many messages are refused.
    [[nodiscard]] std::vector<batch_receipt> deliver_batches(std::vector<message>&& all, bool split, const send_options& options);
    void start_batch(std::vector<message>&& all, send_options&& options, const std::shared_ptr<detail::batch_parts>& shared,
                     detail::completion&& done);
    [[nodiscard]] result<route_info> route(const std::string& topic, std::chrono::milliseconds timeout);
    bool close(std::chrono::milliseconds deadline);
    // transactions.cpp
    [[nodiscard]] transaction_receipt deliver_transaction(message&& m, const transaction_branch& branch, const send_options& options);
    void answer_checks(const std::vector<std::string>& topics, transaction_checker checker);
    // requests.cpp. `done` runs on the I/O side, or on the callback thread.
    void start_request(message&& m, send_options&& options, bool on_callback_thread, std::function<void(reply_receipt&&)> done);
    [[nodiscard]] reply_receipt deliver_request(message&& m, send_options&& options);
    [[nodiscard]] receipt reply(const stored_message& request, message&& m, send_options&& options);
    void answer_requests(const std::string& topic, request_answerer answer);
    // asking.cpp
    [[nodiscard]] asked<std::string> recall(const std::string& topic, const std::string& handle, std::chrono::milliseconds timeout);
    [[nodiscard]] asked<std::vector<std::string>> create_topic(const std::string& topic, const topic_settings& settings,
                                                               std::chrono::milliseconds timeout);
    enum class offset_kind : std::uint8_t { min, max, at_time };
    [[nodiscard]] asked<std::int64_t> offset(const std::string& topic, const std::string& broker, int queue, offset_kind kind,
                                             std::int64_t time_ms, std::chrono::milliseconds timeout);
    [[nodiscard]] asked<stored_message> view(const std::string& topic, const std::string& id, std::chrono::milliseconds timeout);
    [[nodiscard]] asked<std::vector<stored_message>> query(const std::string& topic, const std::string& key, int most,
                                                           std::int64_t from_ms, std::int64_t to_ms, bool unique,
                                                           std::chrono::milliseconds timeout);
    [[nodiscard]] shunt::counters counters() const;
    [[nodiscard]] boost::asio::any_io_executor executor() const { return executor_; }
    [[nodiscard]] std::string name_server() const;
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
    [[nodiscard]] swap_handle stage(producer_options wanted, stage_options how);
    [[nodiscard]] swap_handle stage_file(const std::string& file, stage_options how);
    [[nodiscard]] const std::string& file() const noexcept { return options_.file; }
    [[nodiscard]] std::vector<swap_status> swaps() const;
    [[nodiscard]] swap_handle find_swap(std::uint64_t id);
    enum class swap_verb : std::uint8_t { shadow, canary, promote, rollback, rollback_last, barrier };
    /// Carries it out on the I/O side and waits for it. Empty: done; else why not.
    [[nodiscard]] std::string swap_command(swap_verb verb, std::uint64_t id, double share, std::string reason);
    /// The same without waiting: `then` is told on the I/O side, or at once here; not at all if nobody runs the executor any more.
    void swap_command(swap_verb verb, std::uint64_t id, double share, std::string reason, std::function<void(std::string)> then);
    /// A file's text, as stage_file() does it.
    [[nodiscard]] swap_handle stage_text(std::string_view text, const std::string& file, stage_options how);
    /// Where the admin endpoint listens; empty: there is none.
    [[nodiscard]] std::string admin_address() const;

    // strategy::environment, any thread
    std::int64_t now_ns() override;
    std::uint64_t random() override;
    void log(std::int32_t level, std::string_view text) override;
    void request_probe(std::string_view policy, std::uint32_t broker_id, std::int64_t at_ns) override;

private:
    friend class admin_desk;
    friend class operation;
    friend class carrier;
    friend class gatherer;
    friend class tracer;

    explicit core(producer_options options);

    // ---- sender's side (sends.cpp) ----
    operation* new_operation(thread_slot& slot);
    void recycle(operation& op) noexcept;
    /// Fills an operation. False: refused before the wire, its result says why.
    bool open(operation& op);
    bool prepare(operation& op, thread_slot& slot, bool oneway, message&& m, send_options&& options);
    bool encode_properties(operation& op, const producer_options& live);
    short_text<56> put_properties(wire::buffer& out, const message& m, bool write_order_key);
    static void pack(operation& op, const producer_options& live);
    // ---- room for what is in flight (room.cpp) ----
    [[nodiscard]] bool take_room(operation& op, thread_slot& slot);
    [[nodiscard]] bool refuse_when_full(operation& op, thread_slot& slot);
    [[nodiscard]] topic_room* room_of(const std::string& topic, thread_slot& slot);
    void limit_room(const producer_options& live);
    void wait_for_room(operation& op);
    void admit_waiting();
    void wake_those_who_wait();
    void end_waits_for_room();

    // ---- observers (observing.cpp) ----
    template <typename F>
    void tell_observers(F&& f) noexcept;
    void observe_before(message& m);
    void observe_attempt(operation& op, std::string_view address, const wire::command* answer);
    void observe_after(operation& op);
    void observe_refused(const message& m, const receipt& r, send_kind kind);
    void observe_end(const message& half, std::string_view msg_id, std::string_view address, std::string_view broker, transaction_end end,
                     bool by_check, bool confirmed);
    void start_own(message&& m, std::chrono::milliseconds timeout, std::function<void(const receipt&)> done);
    void threw(std::string_view who, std::string_view what);
    void use_servers(const std::vector<std::string>& addresses);
    void fetch_servers();
    void take_servers(net::fetched f);

    void start_refused(errc why, std::string text, detail::completion&& done);
    [[nodiscard]] std::chrono::milliseconds live_timeout();
    void refuse(operation& op, errc why, std::string text);
    /// Goes on with a send until it needs the I/O side. `io`: called there.
    void drive(operation& op, thread_slot& slot, bool io);
    static void take_key(operation& op, const policy_options& p);
    void hand_over(operation& op, want w, bool io);
    void wake_io_side();
    /// Under an epoch mark. Null: the topic (with the policy that the send names) is not known yet.
    [[nodiscard]] thread_slot::cached* find_assignment(const policy_table& table, operation& op, thread_slot& slot);
    enum class choice : std::uint8_t { picked, in_its_lane, no_queue, bad_queue, selector_threw, no_route, elsewhere, taken_over };
    choice choose(operation& op, thread_slot& slot, bool io, std::int64_t now, std::string& text);
    [[nodiscard]] static strategy::question question_of(const operation& op, thread_slot& slot, std::int64_t now);
    strategy::decision ask(const operation& op, thread_slot& slot, thread_slot::cached& c, const strategy::snapshot& s, std::int64_t now);
    /// The selector cannot be asked: best-queue's rule stands in.
    static strategy::decision ask_nobody(const operation& op, thread_slot& slot, const thread_slot::cached& c, const strategy::snapshot& s,
                                         std::int64_t now);
    /// Asks one that does not come with shunt. Nothing: it took so long that the send was taken over; `op` is nobody's any more.
    std::optional<strategy::decision> ask_watched(operation& op, thread_slot& slot, thread_slot::cached& c, const strategy::snapshot& s,
                                                  std::int64_t now);
    static void offer_to_shadow(const operation& op, shadow& beside, std::uint64_t random, std::int64_t now);
    void no_queue(operation& op, bool io, choice why, std::string text);

    // ---- batches (batches.cpp) ----
    struct one_batch {
        std::size_t first = 0;
        wire::buffer encoded;
        std::shared_ptr<detail::batch_parts> parts;
    };
    struct batch_plan {
        std::string topic;
        std::optional<std::string> order_key;
        bool wait_store = true;
        std::vector<one_batch> batches;
        std::optional<refusal> wrong;
    };
    [[nodiscard]] std::optional<refusal> check_member(const std::vector<message>& all, std::size_t i, std::size_t max_body);
    [[nodiscard]] batch_plan plan_batch(std::vector<message>&& all, bool split);
    [[nodiscard]] static message batch_message(const batch_plan& plan, one_batch& b);
    [[nodiscard]] batch_receipt refused_batch(const refusal& wrong);
    void observe_refused(const batch_plan& plan);
    static void take_batch_ids(operation& op, std::string_view ids);

    // ---- I/O side (io.cpp) ----
    void run_inbox();
    void service(operation& op);
    void transmit(operation& op);
    void resume(operation& op);
    void attempt_over(operation& op, const net::reply& r, const seat* at = nullptr);
    void attempt_expired(operation& op);
    void timer_expired(operation& op);
    void finish(operation& op, errc why, std::string text);  // without a further attempt
    void complete(operation& op);
    void tell(operation& op);
    void release(operation& op);
    void run_callback(operation& op);
    void run_own_leftovers();
    void release_what_is_left();
    [[nodiscard]] bool claim(operation& op) noexcept;
    [[nodiscard]] bool given_up(const operation& op) const noexcept;
    void forget_live(operation& op) noexcept;
    void handler_threw(const char* what);
    void leave_lane(operation& op);
    void wait_in(op_list& list, operation& op);
    void on_turn();
    void flush_callbacks();

    // ---- the record of the run (record.cpp); only where one is kept ----
    [[nodiscard]] record::recording* recording_of(const operation& op);
    void record_attempt(const operation& op, const send::attempt_result& ended, std::int64_t latency_ns);
    void record_send(const operation& op);

    // ---- what is counted for the admin endpoint (statistics.cpp); only where there is one ----
    void count_decision(const operation& op);
    void count_attempt(const operation& op, const attempt& a, send::ending how);
    void count_verdicts(assignment& a);

    // ---- routes, verdicts, brokers (routes.cpp) ----
    void route_changed(const std::shared_ptr<const route::topic_route>& r, const std::vector<std::string>& changes);
    void route_answered(const std::string& topic, route_cache::answer a, std::string_view text);
    void note_route_error(std::string_view text);
    void ask_route(const std::string& topic, bool again, std::int64_t deadline_ns);
    void make_target(const std::string& topic, std::string_view policy);
    void publish(const policy_table& table, assignment& a);
    void publish_topic(const std::string& topic);
    void publish_policy(const policy_table& table, const strategy::policy& pol);
    void feed();
    void arm_verdicts();
    void verdict_time();
    void put_aside(const std::string& topic, std::string_view broker);
    void probe_now(const std::string& policy, std::uint32_t broker_id);
    void penalize(strategy::broker_entry& b);
    void drop_penalties();
    void ask_again_for_queues();
    void ask_again_for_routes();
    void end_aside();
    void arm_aside();
    void heartbeat_all();
    void heartbeat(const std::string& address, std::function<void()> then = {});
    void arm_heartbeat();

    // ---- questions (asking.cpp) ----
    template <typename T>
    [[nodiscard]] asked<T> ask_and_wait(std::chrono::milliseconds timeout,
                                        const std::function<void(std::int64_t deadline_ns, std::shared_ptr<one_answer<T>>)>& begin);
    void with_route(const std::string& topic, std::int64_t deadline_ns,
                    std::function<void(std::shared_ptr<const route::topic_route>, ask_error)> then);
    void ask_address(const std::string& address, net::question q, std::int64_t deadline_ns, std::function<void(kept_answer)> then);
    void ask_broker(const std::string& topic, const std::string& broker, net::question q, std::int64_t deadline_ns,
                    std::function<void(kept_answer)> then);
    [[nodiscard]] bool take_stored(std::string_view bytes, const std::string& broker, std::vector<stored_message>& out,
                                   std::string& what) const;
    /// A topic's name as brokers know it.
    [[nodiscard]] std::string wire_topic(std::string_view topic) const;

    // ---- transactions (transactions.cpp) ----
    [[nodiscard]] asked<bool> end_transaction(const std::string& topic, const receipt& half, transaction_end end, std::chrono::milliseconds timeout);
    void try_end(const std::string& topic, const std::string& broker, const net::question& q, std::int64_t deadline_ns, int left,
                 const std::shared_ptr<one_answer<bool>>& answer);
    void meet_brokers();
    [[nodiscard]] bool heard_request(net::connection& from, const wire::command& request, std::string_view body);
    void check_transaction(net::connection& from, const wire::command& request, std::string_view body);

    // ---- requests (requests.cpp) ----
    struct pending_request : net::timer_hook {
        core* owner = nullptr;
        std::string id;
        std::function<void(reply_receipt&&)> done;
        reply_receipt result;
        error_code reply_error;
        std::int64_t start_ns = 0, deadline_ns = 0;
        bool on_callback_thread = false, started = false, sent = false, replied = false, over = false;
    };
    [[nodiscard]] std::string correlation_id();
    void request_expired(pending_request& late);
    void end_request(std::shared_ptr<pending_request> r, const error_code& ec, std::string reason);
    void cancel_requests();
    void reach_repliers(const std::string& topic, std::int64_t deadline_ns, std::function<void()> then);
    void take_reply(net::connection& from, const wire::command& request, std::string_view body);
    /// A topic whose requests are answered. Its queues come and go with the route.
    struct answering {
        std::string topic;
        request_answerer answer;
        std::int64_t since_ms = 0;  // wall clock
        bool begun = false;         // with the queues of the first route
        struct place {
            std::int64_t next = -1;  // offset; -1: not known yet
            bool pulled = false;
        };
        std::map<std::pair<std::string, std::int32_t>, place> places;  // by broker and queue
    };
    void begin_answering(const std::shared_ptr<answering>& a);
    void pull_new_queues(const std::shared_ptr<answering>& a, const route::topic_route& r);
    [[nodiscard]] bool goes_on(answering& a, const std::string& broker, std::int32_t queue) const;
    void begin_pulling(const std::shared_ptr<answering>& a, const std::string& broker, std::int32_t queue);
    void pull_requests(const std::shared_ptr<answering>& a, const std::string& broker, std::int32_t queue);
    void answer_later(std::function<void()> then);

    // ---- policy tables (tables.cpp) ----
    using swap_record = swap_handle::record;
    using record_ptr = std::shared_ptr<swap_record>;
    struct admission {
        record_ptr of;
        producer_options wanted;
        bool begun = false;
    };
    /// Checks, loads and makes all of it. Null: `problems` says what is wrong. Any thread; takes as long as plugins take.
    [[nodiscard]] std::shared_ptr<policy_table> build_table(producer_options options, bool preflight, std::string& problems);
    void start_with(const std::shared_ptr<policy_table>& table);
    void take_in(const std::shared_ptr<policy_table>& table);
    void set_in_force(const in_force& next);
    void put_in_force(std::shared_ptr<policy_table> table);
    void let_go();
    [[nodiscard]] bool is_needed(const policy_table& table) const;
    void wake_waiting_for_queues();
    void pin(operation& op);
    void unpin(operation& op);
    [[nodiscard]] policy_table* table_with(std::uint64_t id) const noexcept;
    [[nodiscard]] std::size_t keys_on_old_maps() const;
    void sweep_keys();
    void arm_keys();

    // ---- swaps (swaps.cpp) ----
    [[nodiscard]] swap_handle new_swap(stage_options how);
    void apply_overrides(producer_options& read) const;
    [[nodiscard]] swap_handle stage_loaded(config::loaded l, const std::vector<config::problem>& problems, stage_options how);
    void next_admission();
    void admitted(const std::shared_ptr<admission>& a, std::shared_ptr<policy_table> table, const std::string& problems);
    [[nodiscard]] record_ptr record_of(const policy_table* table) const;
    void step(swap_record& r, swap_state to, std::string reason = {}, std::int64_t deadline_ns = 0);
    void drop_candidate(std::string reason);
    void go_on(swap_record& r);
    void promote_candidate(swap_record& r);
    void begin_probation(bool probation);
    [[nodiscard]] bool moves_ordered_keys(const policy_table& table) const;
    void start_shadow(double share);
    void run_shadow(policy_table& table);
    static void stop_shadow(policy_table& table);
    void start_canary(swap_record& r, double share);
    void look_at_candidate(std::int64_t now);
    void look_at_probation(swap_record& r, std::int64_t now);
    [[nodiscard]] swap::judgement judge_canary() const;
    [[nodiscard]] swap::judgement judge_probation() const;
    std::string roll_back(std::string reason);
    std::string carry_out(swap_verb verb, std::uint64_t id, double share, std::string reason);
    void end_swaps();
    void watch_over();
    void arm_watch_over();
    void show_progress();

    // ---- calls that hang (watchdog.cpp) ----
    struct decider;
    void decide_elsewhere(operation& op);
    void run_decider(decider& d);
    void stop_decider();
    void arm_watchdog();
    void look_for_hung_calls();
    void take_over(thread_slot& slot, std::uint64_t call);

    // ---- files that change (watcher.cpp) ----
    struct watcher;
    void start_watch();
    void stop_watch();
    void watch_files();
    void look_at_files(const std::vector<std::string>& files);
    void take_file(bool plugins_changed);
    void say_trouble(std::string text);

    // ---- credentials and certificates, which change (security.cpp) ----
    struct security;
    void take_security(const std::optional<credentials>& who, std::shared_ptr<tls::context> certificates);
    void start_security();
    void stop_security();
    void watch_security();
    void change_security(const acl_options& acl, const tls_options& tls);
    void sign_as(const std::optional<credentials>& who);
    void renew_credentials();
    void renew_certificates();
    void say_once(std::string& said, const std::vector<config::problem>& problems, std::string_view what);

    // ---- life (core.cpp) ----
    void begin_close(std::int64_t deadline_ns);
    void maybe_closed();
    void cancel_all();
    void say_goodbye();
    void closed();
    void write_record();
    void note(observe::level l, std::string_view text);

    // While sends wait for a queue their routes are asked for so often: a little less than the cache allows.
    static constexpr std::int64_t ask_for_queues_ns = 1'050'000'000;

    struct topic_state {
        /// As the tables see it: one for each set of facts about brokers, the first those of the table in force.
        std::map<const strategy::facts_table*, std::shared_ptr<const strategy::route_view>> views;
        std::shared_ptr<const route::topic_route> route;
        std::map<std::string, std::int64_t, std::less<>> aside;  // broker -> until
        op_list waiting;                                         // for the route
        std::vector<std::shared_ptr<answering>> answered;
        bool retry_armed = false;
        std::vector<target*> targets;
    };
    [[nodiscard]] std::vector<std::string> set_aside(topic_state& t) const;
    [[nodiscard]] const std::shared_ptr<const strategy::route_view>& view_of(topic_state& t, const policy_table& table);
    struct probe_state : net::timer_hook {
        core* owner = nullptr;
        std::string policy;
        std::uint32_t broker = 0;
        bool running = false;
    };
    struct core_hook : net::timer_hook {
        core* owner = nullptr;
    };

    // Fixed after the start.
    const producer_options options_;
    const wire::header_format format_;
    std::unique_ptr<cluster::embedded_cluster> embedded_;
    std::string group_;      // as brokers know it
    std::string client_id_;
    std::vector<wire::field> extra_fields_;  // of every request; views of the options

    // Shared by both sides.
    observe::log log_;
    epoch_domain epochs_;
    std::shared_ptr<slot_pool> slots_;
    send::room<operation, op_list> room_;
    mutable std::shared_mutex topic_rooms_lock_;
    std::map<std::string, std::unique_ptr<topic_room>, std::less<>> topic_rooms_;  // of topics that have, or had, limits of their own
    std::atomic<operation*> inbox_{nullptr};
    std::atomic<bool> wake_posted_{false};  // the I/O side will look at the inbox; false before it does
    std::atomic<operation*> pool_{nullptr};
    std::atomic<operation*> ended_{nullptr};   // released after the I/O side had ended
    std::atomic<bool> io_over_{false};         // it takes nothing from the inbox any more
    std::atomic<bool> closing_{false};
    std::atomic<std::uint64_t> open_{0};  // sends accepted and not completed
    std::atomic<std::uint32_t> checks_waiting_{0};
    std::atomic<const in_force*> in_force_{nullptr};  // replaced by the I/O side; read under an epoch mark
    std::atomic<std::uint64_t> generation_{1};        // of what is in force
    mutable std::shared_mutex targets_lock_;
    std::map<std::string, std::unique_ptr<target>, std::less<>> targets_;  // topic, or topic NUL policy
    wire::id_origin ids_;
    std::atomic<std::uint64_t> id_counter_{0};
    std::int64_t month_start_ms_ = 0;
    std::atomic<std::uint64_t> random_state_{0};
    struct {
        std::atomic<std::uint64_t> sends{0}, stored{0}, not_sent{0}, unknown{0}, rejected{0}, attempts{0}, route_changes{0},
            heartbeats{0}, callbacks_threw{0}, trace_dropped{0}, lanes{0}, route_queries{0};
    } count_;
    mutable std::mutex tables_lock_;                  // for tables_ and swaps_: the I/O side writes, others read
    std::vector<std::shared_ptr<policy_table>> tables_;  // all that are not let go yet
    std::vector<record_ptr> swaps_;                   // the latest
    std::uint64_t next_swap_ = 1;
    struct past_counts {
        std::uint64_t plugin_errors = 0, abstained = 0;
    };
    std::map<std::string, past_counts, std::less<>> past_;  // of policies that are gone, by name; under tables_lock_
    std::atomic<std::uint64_t> previous_table_{0};    // id of what a rollback brings back; 0: nothing
    std::unique_ptr<statistics> statistics_;              // null: nobody looks
    std::unique_ptr<admin_desk> admin_;               // null: there is no endpoint

    // The I/O side's.
    std::shared_ptr<io_loop> own_loop_;  // the thread's too: a handler on it may be the last owner of the core
    boost::asio::any_io_executor executor_;
    std::function<bool()> on_io_side_;
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
    std::thread own_thread_;
    bool own_thread_over_ = false;  // and what comes to its context is run on the callback thread
    std::unique_ptr<net::links> links_;
    std::unique_ptr<name_servers> servers_;
    std::unique_ptr<boost::asio::steady_timer> address_timer_;
    std::shared_ptr<net::http_fetch> address_fetch_;
    bool fetch_noted_ = false, servers_told_ = false;
    std::unique_ptr<route_cache> routes_;
    thread_slot* io_slot_ = nullptr;
    strategy::broker_book book_{keep_name};
    std::vector<std::string> address_of_;     // by broker id; empty: in no route
    [[nodiscard]] std::string send_address(const std::string& address) const;
    std::map<std::string, topic_state, std::less<>> topics_;
    send::lanes<operation*> lanes_;
    op_list queue_waiting_, ready_;
    operation* live_ = nullptr;
    // Policy tables: the one in force, the one before it (for rolling back), and one that may come.
    std::shared_ptr<policy_table> current_, previous_, candidate_;
    std::uint64_t next_table_ = 1, next_generation_ = 1, next_map_ = 1;
    swap::key_maps key_maps_;
    std::deque<std::shared_ptr<admission>> admissions_;  // the first is at work
    helper_threads helpers_;
    std::shared_ptr<watcher> watcher_;  // null: nothing is watched
    std::size_t tables_going_ = 0;  // let go, and perhaps still looked at
    swap::tally before_probation_;
    std::uint64_t errors_at_begin_ = 0, errors_before_ = 0;
    core_hook watch_over_timer_, keys_timer_, watchdog_timer_;
    std::shared_ptr<decider> decider_;  // null: none was needed yet
    std::vector<shunt_feedback> feedback_, feeding_;
    std::map<std::pair<std::string, std::uint32_t>, std::unique_ptr<probe_state>> probes_;
    std::deque<std::pair<std::int64_t, strategy::broker_entry*>> penalties_;
    core_hook verdict_timer_, penalty_timer_, close_timer_, queue_timer_, route_timer_, aside_timer_;
    std::unique_ptr<boost::asio::steady_timer> heartbeat_timer_;
    std::map<std::string, int> missed_heartbeats_;
    std::set<std::string, std::less<>> known_at_;  // addresses whose broker has heard of this client, on the present connection
    std::vector<std::string> kept_topics_;         // whose routes are kept though nothing is sent there
    std::shared_ptr<const transaction_checker> checker_;
    bool noted_no_checker_ = false;
    std::map<std::string, std::shared_ptr<pending_request>, std::less<>> requests_;  // by correlation id
    std::unique_ptr<gatherer> gatherer_;           // null: messages are not batched by themselves
    std::uint64_t verdict_gen_ = 0, route_gen_ = 0;
    bool cancelling_ = false, closed_io_ = false, saying_goodbye_ = false, in_turn_ = false;
    std::int64_t close_deadline_ns_ = 0;
    std::size_t goodbyes_ = 0;
    operation* callback_first_ = nullptr;
    operation* callback_last_ = nullptr;
    callback_thread callbacks_;
    std::vector<std::shared_ptr<send_observer>> observers_;  // fixed after the start
    std::shared_ptr<tracer> tracer_;          // null: nothing is traced; one of the observers
    std::shared_ptr<security> security_;
    std::unique_ptr<recorder> recorder_;      // null: no record is wanted

    mutable std::mutex closed_lock_;
    std::condition_variable closed_cv_;
    bool closed_done_ = false, close_asked_ = false;
    std::string record_error_;
    mutable std::mutex route_error_lock_;
    std::string route_error_, first_server_;
    std::atomic<bool> closed_clean_{true};
    std::mutex join_lock_;
};

}  // namespace shunt::client
