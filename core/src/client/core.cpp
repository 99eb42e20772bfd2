#include <client/core.hpp>

#include <client/admin_desk.hpp>
#include <client/statistics.hpp>
#include <client/tracer.hpp>
#include <cluster/embedded_cluster.hpp>
#include <config/certificates.hpp>
#include <config/credentials.hpp>
#include <config/load.hpp>
#include <config/names.hpp>
#include <plugin/registry.hpp>
#include <wire/resource_name.hpp>
#include <wire/url.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <ctime>
#include <future>
#include <random>
#include <utility>

namespace shunt::client {

namespace {

constexpr std::int64_t goodbye_ns = 300'000'000;  // brokers have so long to confirm that we leave,
constexpr std::int64_t late_goodbye_ns = 50'000'000;  // and so long beyond the deadline of close()
constexpr std::chrono::milliseconds close_grace{100};
constexpr std::chrono::milliseconds fetch_limit{3000}, fetch_again{1000};
constexpr std::chrono::minutes fetch_every{2};

std::uint64_t true_random()
{
    std::random_device device;
    return static_cast<std::uint64_t>(device()) << 32 | device();
}

/// The first IPv4 address that is not loopback, else loopback.
std::array<std::uint8_t, 4> local_address()
{
    std::array<std::uint8_t, 4> found{127, 0, 0, 1};
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0)
        return found;
    for (const ifaddrs* a = all; a != nullptr; a = a->ifa_next) {
        if (a->ifa_addr == nullptr || a->ifa_addr->sa_family != AF_INET)
            continue;
        const auto* in = reinterpret_cast<const sockaddr_in*>(a->ifa_addr);
        std::array<std::uint8_t, 4> bytes;
        std::memcpy(bytes.data(), &in->sin_addr, bytes.size());
        if (bytes[0] != 127) {
            found = bytes;
            break;
        }
    }
    freeifaddrs(all);
    return found;
}

std::int64_t month_start_ms()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    parts.tm_mday = 1;
    parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
    parts.tm_isdst = -1;
    return static_cast<std::int64_t>(std::mktime(&parts)) * 1000;
}

}  // namespace

boost::system::result<std::shared_ptr<core>, setup_error> core::make(producer_options options,
                                                                     std::optional<boost::asio::any_io_executor> executor)
{
    std::shared_ptr<core> made(new core(options));
    core& c = *made;
    std::string wrong;
    const auto table = c.build_table(std::move(options), c.options_.swap.preflight == preflight_rule::always, wrong);
    if (table == nullptr)
        return setup_error{wrong};
    std::vector<config::problem> problems;
    const auto who = config::read_credentials(c.options_.acl, problems);
    auto certificates = config::read_certificates(c.options_.tls, problems);
    if (!problems.empty())
        return setup_error{config::lines(problems)};
    if (!c.options_.record.empty())
        if (auto obstacle = recorder::obstacle(c.options_.record))
            return setup_error{*std::move(obstacle)};
    if (!c.options_.admin.listen.empty()) {
        std::string obstacle;
        c.admin_ = admin_desk::open(c, obstacle);
        if (c.admin_ == nullptr)
            return setup_error{obstacle};
        c.statistics_ = std::make_unique<statistics>();
    }
    if (c.options_.embedded) {
        cluster::options wanted;
        wanted.brokers = static_cast<int>(c.options_.embedded_brokers);
        wanted.queues = static_cast<int>(c.options_.embedded_queues);
        wanted.recall = true;
        try {
            c.embedded_ = std::make_unique<cluster::embedded_cluster>(wanted);
        } catch (const std::exception& e) {
            return setup_error{std::string("embedded cluster: ") + e.what()};
        }
    }

    if (executor) {
        auto strand = boost::asio::make_strand(*executor);
        c.executor_ = strand;
        c.on_io_side_ = [strand] { return strand.running_in_this_thread(); };
    } else {
        c.own_loop_ = std::make_shared<io_loop>();
        c.executor_ = c.own_loop_->context.get_executor();
        c.work_.emplace(boost::asio::make_work_guard(c.own_loop_->context));
        c.on_io_side_ = [&context = c.own_loop_->context] { return context.get_executor().running_in_this_thread(); };
    }
    c.links_ = std::make_unique<net::links>(c.executor_, c.options_.connect_timeout);
    c.links_->lifetime = made;
    c.links_->extra = c.extra_fields_;
    c.take_security(who, std::move(certificates));
    c.links_->refresh();
    c.links_->on_turn = [&c] { c.on_turn(); };
    c.links_->on_up = [&c](net::connection& up) {
        c.note(observe::level::info, "connected to " + up.address());
        if (!c.closed_io_ && std::find(c.address_of_.begin(), c.address_of_.end(), up.address()) != c.address_of_.end())
            c.heartbeat(up.address());  // the broker must know the group before it can ask it anything
    };
    c.links_->on_request = [&c](net::connection& from, const wire::command& request, std::string_view body) {
        return c.heard_request(from, request, body);
    };
    if (c.options_.auto_batch)
        c.gatherer_ = std::make_unique<gatherer>(c);
    c.links_->on_down = [&c](const std::string& address, std::string_view why) {
        c.known_at_.erase(address);
        c.note(observe::level::info, "no connection to " + address + ": " + std::string(why));
    };
    const auto servers = c.embedded_ ? std::vector<std::string>{c.embedded_->name_server()} : c.options_.name_servers;
    c.servers_ = std::make_unique<name_servers>(*c.links_, servers, c.format_, c.random());
    c.first_server_ = servers.empty() ? std::string{} : servers.front();
    c.address_timer_ = std::make_unique<boost::asio::steady_timer>(c.executor_);
    route_settings settings;
    settings.refresh = c.options_.route_refresh;
    settings.auto_create = c.options_.auto_create_topics;
    settings.default_topic = c.options_.default_topic;
    settings.default_topic_queues = static_cast<std::int32_t>(c.options_.default_topic_queues);
    c.routes_ = std::make_unique<route_cache>(*c.links_, *c.servers_, settings, c.random(),
                                              [&c](const auto& r, const auto& changes) { c.route_changed(r, changes); });
    c.routes_->on_note = [&c](std::string_view text) { c.note(observe::level::warn, text); };
    if (!c.options_.record.empty())
        c.recorder_ = std::make_unique<recorder>(c.options_.record, c.options_.plugins);
    c.observers_ = c.options_.observers;
    if (!c.options_.trace.empty())
        c.observers_.push_back(c.tracer_ = std::make_shared<tracer>(c));
    c.heartbeat_timer_ = std::make_unique<boost::asio::steady_timer>(c.executor_);
    for (core_hook* hook : {&c.watch_over_timer_, &c.keys_timer_, &c.watchdog_timer_})
        hook->owner = &c;
    c.watch_over_timer_.expired = [](net::timer_hook& hook) { static_cast<core_hook&>(hook).owner->watch_over(); };
    c.watchdog_timer_.expired = [](net::timer_hook& hook) { static_cast<core_hook&>(hook).owner->look_for_hung_calls(); };
    c.keys_timer_.expired = [](net::timer_hook& hook) { static_cast<core_hook&>(hook).owner->sweep_keys(); };
    for (core_hook* hook : {&c.verdict_timer_, &c.penalty_timer_, &c.close_timer_, &c.queue_timer_, &c.route_timer_, &c.aside_timer_})
        hook->owner = &c;
    c.verdict_timer_.expired = [](net::timer_hook& hook) { static_cast<core_hook&>(hook).owner->verdict_time(); };
    c.penalty_timer_.expired = [](net::timer_hook& hook) { static_cast<core_hook&>(hook).owner->drop_penalties(); };
    c.queue_timer_.expired = [](net::timer_hook& hook) { static_cast<core_hook&>(hook).owner->ask_again_for_queues(); };
    c.route_timer_.expired = [](net::timer_hook& hook) { static_cast<core_hook&>(hook).owner->ask_again_for_routes(); };
    c.aside_timer_.expired = [](net::timer_hook& hook) { static_cast<core_hook&>(hook).owner->end_aside(); };
    c.close_timer_.expired = [](net::timer_hook& hook) {
        core& self = *static_cast<core_hook&>(hook).owner;
        if (self.saying_goodbye_)
            self.closed();
        else
            self.cancel_all();
    };
    c.start_with(table);
    boost::asio::post(c.executor_, [made] {
        made->arm_heartbeat();
        made->arm_watchdog();
        made->start_watch();
        made->fetch_servers();
        made->start_security();
    });
    if (c.admin_ != nullptr) {
        c.admin_->start();
        c.note(observe::level::info, "the admin endpoint is at " + c.admin_->address());
    }
    if (c.own_loop_ != nullptr)
        c.own_thread_ = std::thread([loop = c.own_loop_, weak = std::weak_ptr<core>(made)] {
            for (;;) {
                try {
                    loop->context.run();
                    return;
                } catch (const std::exception& e) {  // a handler bound to our executor threw
                    if (const auto self = weak.lock())
                        self->handler_threw(e.what());
                }
            }
        });
    return made;
}

core::core(producer_options options)
    : options_(std::move(options)), format_(options_.format == wire_format::json ? wire::header_format::json : wire::header_format::binary),
      log_(options_.log_level), room_(options_.max_in_flight_messages, options_.max_in_flight_bytes),
      key_maps_(bounded_ns(options_.swap.quiet)), callbacks_([this](operation& op) { run_callback(op); })
{
    const std::uint64_t seed = true_random();
    random_state_ = seed;
    slots_ = std::make_shared<slot_pool>(epochs_, seed);
    io_slot_ = &slots_->make();
    const auto address = local_address();
    std::copy(address.begin(), address.end(), ids_.address.begin());
    ids_.pid = static_cast<std::uint32_t>(getpid());
    ids_.constant = static_cast<std::uint32_t>(true_random());
    month_start_ms_ = month_start_ms();
    group_ = wire::in_namespace(options_.namespace_v1, options_.group);
    if (!options_.namespace_v2.empty())
        extra_fields_ = {{"nsd", "true"}, {"ns", options_.namespace_v2}};
    client_id_ = options_.client_id;
    if (client_id_.empty()) {
        char shown[INET_ADDRSTRLEN] = {};
        inet_ntop(AF_INET, address.data(), shown, sizeof shown);
        client_id_ = std::string(shown) + "@" + std::to_string(ids_.pid) + "#" + std::to_string(true_random());
    }
    if (!options_.unit_name.empty())
        client_id_ += "@" + options_.unit_name;
}

core::~core()
{
    admin_.reset();
    callbacks_.stop();
    if (own_thread_.joinable()) {
        // The last owner may be a handler on our own thread: that thread then ends by itself, right after this.
        if (own_thread_.get_id() == std::this_thread::get_id())
            own_thread_.detach();
        else
            own_thread_.join();
    }
    slots_->clear();
    for (operation* list : {inbox_.exchange(nullptr), pool_.exchange(nullptr), ended_.exchange(nullptr), callback_first_}) {
        while (list != nullptr)
            delete std::exchange(list, list->next);
    }
    delete in_force_.load(std::memory_order_relaxed);
    current_ = previous_ = candidate_ = nullptr;
    tables_.clear();
    epochs_.collect();
    targets_.clear();
    links_.reset();
}

// ---- the environment of plugins ----

std::int64_t core::now_ns() { return net::monotonic_ns(); }

std::uint64_t core::random()
{
    std::uint64_t z = random_state_.fetch_add(0x9e3779b97f4a7c15ULL, std::memory_order_relaxed) + 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

void core::log(std::int32_t level, std::string_view text)
{
    note(level <= SHUNT_LOG_DEBUG ? observe::level::debug : level == SHUNT_LOG_INFO ? observe::level::info
         : level == SHUNT_LOG_WARN                                                  ? observe::level::warn
                                                                                    : observe::level::error,
         text);
}

void core::note(observe::level l, std::string_view text)
{
    if (log_.on(l))
        log_.write(l, text);
}

// ---- asked from outside ----

result<route_info> core::route(const std::string& topic, std::chrono::milliseconds timeout)
{
    if (on_io_side_())
        return make_error_code(errc::would_deadlock);
    struct asked {
        std::promise<result<route_info>> answer;
        std::atomic<bool> done{false};
    };
    auto a = std::make_shared<asked>();
    auto future = a->answer.get_future();
    if (closing_.load(std::memory_order_seq_cst))
        return make_error_code(errc::closed);
    const std::int64_t deadline = net::monotonic_ns() + bounded_ns(timeout);
    boost::asio::post(executor_, [self = shared_from_this(), this, name = topic, topic = wire_topic(topic), a, deadline] {
        links_->refresh();
        if (closed_io_ || saying_goodbye_) {
            a->answer.set_value(make_error_code(errc::closed));
            return;
        }
        topics_[topic];
        routes_->need(topic, deadline, [this, name, topic, a](route_cache::answer heard, std::string_view) {
            if (a->done.exchange(true))
                return;
            const auto r = routes_->find(topic);
            if (heard != route_cache::answer::known || r == nullptr) {
                a->answer.set_value(make_error_code(heard == route_cache::answer::unknown_topic ? errc::no_route : routes_->why_failed(topic)));
                return;
            }
            route_info info;
            info.topic = name;
            info.ordered = r->ordered;
            for (const route::queue& q : r->publish)
                info.publish.emplace_back(r->brokers[q.broker].name, q.queue_id);
            for (const route::queue& q : r->subscribe)
                info.subscribe.emplace_back(r->brokers[q.broker].name, q.queue_id);
            for (const route::broker& b : r->brokers) {
                route_info::broker& out = info.brokers.emplace_back();
                out.name = b.name;
                out.cluster = b.cluster;
                out.addresses.assign(b.addresses.begin(), b.addresses.end());
                out.perm = b.perm;
                out.read_queues = b.read_queues;
                out.write_queues = b.write_queues;
            }
            info.age = routes_->age(topic);
            a->answer.set_value(std::move(info));
        });
        links_->flush_all();
    });
    const std::chrono::steady_clock::time_point latest{std::chrono::nanoseconds(deadline) + close_grace};
    if (future.wait_until(latest) != std::future_status::ready && !a->done.exchange(true))
        return make_error_code(errc::route_timeout);
    return future.get();
}

std::string core::admin_address() const { return admin_ == nullptr ? std::string{} : admin_->address(); }

std::string core::name_server() const
{
    const std::lock_guard lock(route_error_lock_);
    return first_server_;
}

/// From now on these name servers are asked.
void core::use_servers(const std::vector<std::string>& addresses)
{
    if (servers_->addresses() == addresses)
        return;
    std::string text;
    for (const std::string& a : addresses)
        text += (text.empty() ? "" : ", ") + a;
    note(observe::level::info, "name servers: " + text);
    {
        const std::lock_guard lock(route_error_lock_);
        first_server_ = addresses.empty() ? std::string{} : addresses.front();
    }
    servers_->replace(addresses);
    links_->flush_all();
}

/// Asks name_server_url, now and again and again.
void core::fetch_servers()
{
    const auto url = wire::split_url(options_.name_server_url);
    if (!url || closed_io_)
        return;
    if (servers_->addresses().empty())
        servers_->none_because("no name server is known: " + options_.name_server_url + " has not answered yet");
    address_fetch_ = net::http_get(executor_, *url, fetch_limit, [weak = weak_from_this()](net::fetched f) {
        const auto self = weak.lock();
        if (self == nullptr || self->closed_io_)
            return;
        self->links_->refresh();
        self->take_servers(std::move(f));
    });
}

void core::take_servers(net::fetched f)
{
    std::vector<std::string> found;
    for (std::string_view rest = f.text; f.ok && !rest.empty();) {
        const auto end = std::min(rest.find_first_of(";, \r\n\t"), rest.size());
        const std::string_view one = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (one.empty())
            continue;
        if (!config::is_address(one)) {
            f = {false, "it told " + config::in_marks(one) + ", which is no HOST:PORT"};
            break;
        }
        if (std::find(found.begin(), found.end(), one) == found.end())
            found.emplace_back(one);
    }
    if (f.ok && found.empty())
        f = {false, "it told no name server"};
    if (f.ok) {
        fetch_noted_ = false;
        servers_told_ = true;
        use_servers(found);
    } else {
        const std::string text = options_.name_server_url + ": " + f.text;
        if (!std::exchange(fetch_noted_, true))
            note(observe::level::warn, (servers_->addresses().empty() ? "no name server is known: " : "the name servers stay: ") + text);
        if (servers_->addresses().empty())
            servers_->none_because("no name server is known: " + text);
    }
    address_timer_->expires_after(servers_told_ ? fetch_every : fetch_again);
    address_timer_->async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
        if (const auto self = weak.lock(); self != nullptr && !ec)
            self->fetch_servers();
    });
}

shunt::counters core::counters() const
{
    const auto get = [](const std::atomic<std::uint64_t>& v) { return v.load(std::memory_order_relaxed); };
    shunt::counters c;
    c.sends = get(count_.sends);
    c.stored = get(count_.stored);
    c.not_sent = get(count_.not_sent);
    c.unknown = get(count_.unknown);
    c.rejected = get(count_.rejected);
    c.attempts = get(count_.attempts);
    c.decisions = slots_->decisions();
    {
        const std::lock_guard lock(tables_lock_);
        for (const auto& [name, past] : past_) {
            c.plugin_errors += past.plugin_errors;
            c.selector_abstained += past.abstained;
        }
        for (const auto& table : tables_) {
            for (const auto& [name, pol] : table->policies) {
                c.plugin_errors += pol->plugin_errors.load(std::memory_order_relaxed) + pol->verdicts().errors();
                c.selector_abstained += pol->abstained.load(std::memory_order_relaxed);
                if (c.last_plugin_error.empty())
                    c.last_plugin_error = pol->last_failure();
            }
        }
    }
    net::link_counters& l = links_->counts();
    c.late_answers = get(l.late_answers);
    c.bad_frames = get(l.bad_frames);
    c.connects = get(l.connects);
    c.connects_failed = get(l.connects_failed);
    c.connections_lost = get(l.connections_lost);
    c.writes = get(l.writes);
    c.bytes_written = get(l.bytes_written);
    c.connections = get(l.connections);
    c.tls_handshakes = get(l.tls_handshakes);
    c.tls_resumed = get(l.tls_resumed);
    c.route_queries = routes_->queries();
    c.route_changes = get(count_.route_changes);
    c.heartbeats = get(count_.heartbeats);
    c.callbacks_threw = get(count_.callbacks_threw);
    c.trace_dropped = get(count_.trace_dropped);
    c.in_flight_messages = room_.all.messages();
    c.in_flight_bytes = room_.all.bytes();
    c.lanes = get(count_.lanes);
    {
        const std::lock_guard lock(route_error_lock_);
        c.route_error = route_error_;
    }
    const std::lock_guard lock(closed_lock_);
    c.record_error = record_error_;
    return c;
}

// ---- the end ----

bool core::close(std::chrono::milliseconds deadline)
{
    const std::int64_t deadline_ns = net::monotonic_ns() + bounded_ns(deadline);
    bool first = false;
    {
        const std::lock_guard lock(closed_lock_);
        first = !std::exchange(close_asked_, true);
    }
    closing_.store(true, std::memory_order_seq_cst);
    if (first)
        boost::asio::post(executor_, [self = shared_from_this(), deadline_ns] { self->begin_close(deadline_ns); });
    if (on_io_side_() || callbacks_.is_this_thread())
        return true;
    const auto latest = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns)) + close_grace;
    {
        std::unique_lock lock(closed_lock_);
        if (!closed_cv_.wait_until(lock, latest, [&] { return closed_done_; }))
            return false;
    }
    {
        const std::lock_guard lock(join_lock_);
        if (own_thread_.joinable())
            own_thread_.join();
        if (admin_ != nullptr)
            admin_->stop();
    }
    (void)callbacks_.wait_idle(latest);
    return closed_clean_;
}

void core::begin_close(std::int64_t deadline_ns)
{
    links_->refresh();
    close_deadline_ns_ = deadline_ns;
    on_turn();
    if (closed_io_ || saying_goodbye_)
        return;
    links_->set_timer(close_timer_, deadline_ns);
    end_waits_for_room();
    maybe_closed();
}

void core::maybe_closed()
{
    if (close_deadline_ns_ == 0 || saying_goodbye_ || closed_io_ || open_.load(std::memory_order_seq_cst) != 0)
        return;
    if (tracer_ != nullptr && !cancelling_ && tracer_->flush())
        return;  // when that has ended we come here again
    say_goodbye();
}

void core::cancel_all()
{
    if (live_ == nullptr && open_.load(std::memory_order_seq_cst) == 0) {
        maybe_closed();
        return;
    }
    closed_clean_ = false;
    cancelling_ = true;
    if (tracer_ != nullptr)
        tracer_->stop();
    cancel_requests();
    while (operation* op = live_) {
        if (op->wanted == want::transmit) {
            net::reply r;
            net::connection* c = op->under_way();
            if (op->ride != nullptr || op->gathered != nullptr)
                r.how = gatherer_->take_off(*op) == send::ending::expired ? send::ending::expired : send::ending::cancelled;
            else
                r.how = c == nullptr || c->withdraw(*op) ? send::ending::cancelled : send::ending::expired;
            r.text = "the producer closed before an answer came";
            r.latency_ns = links_->now_ns() - op->attempt_start_ns;
            attempt_over(*op, r);
        } else {
            if (op->wanted == want::lane && op->laned && lanes_.remove(op->msg.topic(), op->key, op))
                op->laned = op->follows = false;
            finish(*op, errc::cancelled, "the producer closed before the send had ended");
        }
    }
    // What a sender is deciding at this moment still comes in, and ends at once: see service().
    links_->set_timer(close_timer_, links_->now_ns() + 1'000'000);
    on_turn();
}

/// Tells the brokers that this client leaves; they have a moment to confirm.
void core::say_goodbye()
{
    saying_goodbye_ = true;
    heartbeat_timer_->cancel();
    address_timer_->cancel();
    if (address_fetch_ != nullptr)
        address_fetch_->cancel();
    routes_->stop();
    const std::int64_t until = std::min(links_->now_ns() + goodbye_ns, std::max(links_->now_ns(), close_deadline_ns_) + late_goodbye_ns);
    for (const std::string& address : links_->up()) {
        if (std::find(address_of_.begin(), address_of_.end(), address) == address_of_.end())
            continue;
        ++goodbyes_;
        net::question q;
        q.code = wire::code::unregister_client;
        q.fields = {{"clientID", client_id_}, {"producerGroup", group_}};
        net::ask(*links_, address, format_, std::move(q), until, [this](const net::reply&) {
            if (--goodbyes_ == 0 && !closed_io_)
                boost::asio::post(executor_, [self = shared_from_this()] { self->closed(); });
        });
    }
    links_->flush_all();
    if (goodbyes_ == 0)
        boost::asio::post(executor_, [self = shared_from_this()] { self->closed(); });
}

void core::closed()
{
    if (std::exchange(closed_io_, true))
        return;
    if (tracer_ != nullptr)
        tracer_->stop();
    links_->clear_timer(close_timer_);
    links_->clear_timer(verdict_timer_);
    for (core_hook* hook : {&penalty_timer_, &queue_timer_, &route_timer_, &aside_timer_, &watch_over_timer_, &keys_timer_, &watchdog_timer_})
        links_->clear_timer(*hook);
    probes_.clear();
    stop_security();
    checker_.reset();
    stop_watch();
    end_swaps();
    links_->close_all("the producer is closed");
    links_->on_turn = nullptr;
    flush_callbacks();
    io_over_.store(true, std::memory_order_seq_cst);
    release_what_is_left();
    work_.reset();
    write_record();
    {
        const std::lock_guard lock(closed_lock_);
        closed_done_ = true;
    }
    closed_cv_.notify_all();
}

}  // namespace shunt::client
