#include <cluster/embedded_cluster.hpp>

#include <cluster/broker.hpp>
#include <cluster/server.hpp>
#include <wire/message_id.hpp>
#include <wire/properties.hpp>

#include <boost/asio/system_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <ostream>
#include <stdexcept>
#include <thread>
#include <type_traits>

namespace shunt::cluster {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

wire::host_address to_host(const asio::ip::address& address, std::uint16_t port)
{
    wire::host_address host;
    host.ipv6 = address.is_v6();
    host.port = port;
    const auto put = [&host](const auto& bytes) { std::copy(bytes.begin(), bytes.end(), host.address.begin()); };
    if (host.ipv6)
        put(address.to_v6().to_bytes());
    else
        put(address.to_v4().to_bytes());
    return host;
}

stored_record to_record(const broker& b, const record& r)
{
    stored_record out;
    out.sequence = r.sequence;
    out.broker = b.name();
    out.topic = r.topic->config.name;
    out.queue = r.queue_id;
    out.offset = r.queue_offset;
    const wire::host_address& host = b.messages().host();
    out.offset_msg_id = wire::offset_id({host.address.data(), host.ipv6 ? 16U : 4U}, host.port, r.commit_log_offset);
    wire::each_property(r.properties(), [&out](std::string_view name, std::string_view value) {
        if (name == "UNIQ_KEY")
            out.msg_id = value;
        else if (name == "KEYS")
            out.key = value;
        else if (name == "TAGS")
            out.tag = value;
        out.properties.emplace_back(name, value);
    });
    if (out.msg_id.empty())
        out.msg_id = out.offset_msg_id;
    out.body = r.body();
    out.flag = r.flag;
    out.sys_flag = r.sys_flag;
    out.born_ms = r.born_ms;
    out.stored_ms = r.stored_ms;
    return out;
}

}  // namespace

struct embedded_cluster::impl {
    struct place {
        broker* what = nullptr;
        std::unique_ptr<server> at;
        tcp::endpoint home;
    };

    explicit impl(options wanted)
    {
        cluster.settings = std::move(wanted);
        const options& o = cluster.settings;
        cluster.style = {o.binary_answers ? wire::header_format::binary : wire::header_format::json, o.version};
        if (o.brokers < 1 || o.brokers > 26)
            throw std::runtime_error(fmt::format("embedded cluster: {} brokers; it must be a number from 1 to 26", o.brokers));
        if (o.queues < 1 || o.queues > 65535)
            throw std::runtime_error(fmt::format("embedded cluster: {} queues; it must be a number from 1 to 65535", o.queues));
        boost::system::error_code ec;
        address = asio::ip::make_address(o.host, ec);
        if (ec)
            throw std::runtime_error(fmt::format("embedded cluster: host '{}'; it must be an IPv4 or IPv6 address", o.host));

        cluster.access.set(o.accounts);
        cluster.wake_at = [this](std::int64_t ms) { wake_at(ms); };
        if (o.tls) {
            if (const auto wrong = use_tls(o.tls))
                throw std::runtime_error("embedded cluster: " + *wrong);
        }
        names_at = std::make_unique<server>(io, names, state);
        start(*names_at, o.port, "name server");
        names_at->secured = secure;
        names_home = tcp::endpoint(address, names_at->port());
        for (int i = 0; i < o.brokers; ++i) {
            const std::string name = std::string("broker-") + static_cast<char>('a' + i);
            auto& b = cluster.brokers.emplace_back(
                std::make_unique<broker>(name, to_host(address, 0), address.to_string(), cluster));
            place& p = places.emplace_back();
            p.what = b.get();
            p.at = std::make_unique<server>(io, *b, state);
            start(*p.at, 0, name);
            p.at->secured = secure;
            p.home = tcp::endpoint(address, p.at->port());
            b->set_port(p.at->port());
        }
        thread = std::thread([this] { io.run(); });
    }

    ~impl()
    {
        asio::post(io, [this] {
            std::lock_guard lock(state.mutex);
            names_at->close();
            for (place& p : places)
                p.at->close();
            due_timer.cancel();
            due_ms = -1;  // and none after it
            work.reset();
        });
        thread.join();
    }

    /// Nothing, or what is wrong with them.
    std::optional<std::string> use_tls(const std::optional<tls_settings>& settings)
    {
        server::security fresh;
        if (settings) {
            std::vector<tls::problem> problems;
            fresh.context = tls::context::server({settings->certificate, settings->key, settings->ca}, problems);
            fresh.enforced = settings->enforced;
            if (!problems.empty())
                return fmt::format("tls.{} is {}; it must be {}", problems[0].key, problems[0].found, problems[0].expected);
        }
        secure = std::move(fresh);
        return std::nullopt;
    }

    void start(server& s, std::uint16_t port, std::string_view who)
    {
        if (const auto ec = s.listen(tcp::endpoint(address, port)); ec)
            throw std::runtime_error(fmt::format("embedded cluster: {} cannot listen at {}:{}: {}", who, address.to_string(),
                                                 port, ec.message()));
    }

    /// Runs `what` on the cluster's thread, with the guard held, and returns what it returns.
    std::optional<std::string> on_thread(const std::function<std::optional<std::string>()>& what)
    {
        std::promise<std::optional<std::string>> done;
        asio::post(io, [&] {
            std::optional<std::string> result;
            {
                std::lock_guard lock(state.mutex);
                result = what();
                state.tell();
            }
            done.set_value(std::move(result));
        });
        return done.get_future().get();
    }

    void wake_at(std::int64_t ms)
    {
        if (ms >= due_ms)
            return;
        due_ms = ms;
        due_timer.expires_at(std::chrono::system_clock::time_point(std::chrono::milliseconds(ms)));
        due_timer.async_wait([this](const boost::system::error_code& ec) {
            if (ec || due_ms < 0)
                return;
            std::lock_guard lock(state.mutex);
            due_ms = INT64_MAX;
            const auto now = std::chrono::system_clock::now().time_since_epoch();
            for (place& p : places)
                p.what->due(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
            state.tell();
        });
    }

    std::string broker_list() const
    {
        std::string list;
        for (const place& p : places)
            list += (list.empty() ? "" : ", ") + p.what->name();
        return list;
    }

    place* find(std::string_view name)
    {
        const auto it = std::find_if(places.begin(), places.end(), [name](const place& p) { return p.what->name() == name; });
        return it == places.end() ? nullptr : &*it;
    }

    std::optional<std::string> listen_at(place& p, const tcp::endpoint& at)
    {
        if (const auto ec = p.at->listen(at); ec)
            return fmt::format("{} cannot listen at port {}: {}", p.what->name(), at.port(), ec.message());
        p.what->set_port(p.at->port());
        return std::nullopt;
    }

    std::optional<std::string> refuse(server& s, std::string_view who)
    {
        if (const auto ec = s.refuse(); ec)
            return fmt::format("{} refuses, but could not keep its port {}: {}", who, s.port(), ec.message());
        return std::nullopt;
    }

    std::optional<std::string> apply(place& p, const change& what)
    {
        broker& b = *p.what;
        return std::visit(
            [&](const auto& c) -> std::optional<std::string> {
                using T = std::decay_t<decltype(c)>;
                if constexpr (std::is_same_v<T, set_refuse>) {
                    b.registered = true;
                    return refuse(*p.at, b.name());
                } else if constexpr (std::is_same_v<T, set_gone>) {
                    b.registered = false;
                    return refuse(*p.at, b.name());
                } else if constexpr (std::is_same_v<T, set_stall>) {
                    p.at->stall(true);
                    return std::nullopt;
                } else if constexpr (std::is_same_v<T, set_move>) {
                    b.registered = true;
                    return listen_at(p, tcp::endpoint(address, c.port));
                } else if constexpr (std::is_same_v<T, set_ok>) {
                    b.undo_faults();
                    p.at->stall(false);
                    return listen_at(p, p.home);
                } else if constexpr (std::is_same_v<T, check_transactions>) {
                    b.check_transactions();
                    return std::nullopt;
                } else if constexpr (std::is_same_v<T, set_forget> || std::is_same_v<T, set_stale>) {
                    return std::nullopt;
                } else {
                    b.apply(c);
                    return std::nullopt;
                }
            },
            what);
    }

    std::optional<std::string> apply_to_names(const change& what)
    {
        if (std::holds_alternative<set_behaviour>(what))
            names.hangs = true;
        else if (std::holds_alternative<set_forget>(what))
            names.forgot = true;
        else if (std::holds_alternative<set_stale>(what))
            names.keep_routes();
        else if (std::holds_alternative<set_refuse>(what))
            return refuse(*names_at, name_server_subject);
        else {
            names.hangs = names.forgot = false;
            names.renew_routes();
            if (const auto ec = names_at->listen(names_home); ec)
                return fmt::format("name-server cannot listen at port {}: {}", names_home.port(), ec.message());
        }
        return std::nullopt;
    }

    const counters* counts_of(std::string_view subject)
    {
        if (subject == name_server_subject)
            return &names.counts();
        const place* p = find(subject);
        return p == nullptr ? nullptr : &p->what->counts();
    }

    template <typename F>
    void each_record(std::string_view topic, F&& f) const
    {
        for (const auto& b : cluster.brokers)
            for (const record* r : b->messages().log())
                if (topic.empty() || r->topic->config.name == topic)
                    f(*b, *r);
    }

    guard state;
    shared_state cluster;
    shunt::cluster::name_server names{cluster};
    asio::io_context io{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
    asio::ip::address address;
    tcp::endpoint names_home;
    server::security secure;
    std::unique_ptr<server> names_at;
    std::vector<place> places;
    asio::system_timer due_timer{io};
    std::int64_t due_ms = INT64_MAX;
    std::thread thread;
};

embedded_cluster::embedded_cluster(options wanted) : impl_(std::make_unique<impl>(std::move(wanted))) {}

embedded_cluster::~embedded_cluster() = default;

std::string embedded_cluster::name_server() const
{
    return impl_->address.is_v6() ? fmt::format("[{}]:{}", impl_->address.to_string(), impl_->names_home.port())
                                  : fmt::format("{}:{}", impl_->address.to_string(), impl_->names_home.port());
}

std::vector<std::string> embedded_cluster::broker_names() const
{
    std::vector<std::string> names;
    for (const auto& p : impl_->places)
        names.push_back(p.what->name());
    return names;
}

std::string embedded_cluster::broker_address(std::string_view broker) const
{
    std::lock_guard lock(impl_->state.mutex);
    const auto* p = impl_->find(broker);
    return p == nullptr ? std::string{} : p->what->address();
}

std::optional<std::string> embedded_cluster::command(std::string_view line)
{
    fault_command fault;
    if (std::string wrong = parse_fault(line, fault); !wrong.empty())
        return wrong;
    return impl_->on_thread([&]() -> std::optional<std::string> {
        if (fault.subject == name_server_subject)
            return impl_->apply_to_names(fault.what);
        impl::place* p = impl_->find(fault.subject);
        if (p == nullptr)
            return fmt::format("no broker '{}'; there are {}, and name-server", fault.subject, impl_->broker_list());
        return impl_->apply(*p, fault.what);
    });
}

std::optional<std::string> embedded_cluster::create_topic(std::string_view topic, const topic_settings& settings)
{
    if (const std::string problem = topic_problem(topic); !problem.empty())
        return fmt::format("topic '{}': {}", topic, problem);
    if (is_system_topic(topic))
        return fmt::format("topic '{}' is one of the system's own; take another name", topic);
    if (settings.queues < 0 || settings.queues > 65535)
        return fmt::format("topic '{}': {} queues; it must be a number from 0 to 65535", topic, settings.queues);
    return impl_->on_thread([&]() -> std::optional<std::string> {
        std::vector<broker*> on;
        for (const std::string& name : settings.brokers) {
            impl::place* p = impl_->find(name);
            if (p == nullptr)
                return fmt::format("topic '{}': no broker '{}'; there are {}", topic, name, impl_->broker_list());
            on.push_back(p->what);
        }
        if (on.empty())
            for (const auto& b : impl_->cluster.brokers)
                on.push_back(b.get());
        std::string order;
        for (broker* b : on) {
            b->messages().put_topic({.name = std::string(topic),
                                     .read_queues = settings.queues,
                                     .write_queues = settings.queues,
                                     .perm = settings.perm,
                                     .order = settings.order});
            order += fmt::format("{}{}:{}", order.empty() ? "" : ";", b->name(), settings.queues);
        }
        const std::pair key{std::string(order_namespace), std::string(topic)};
        if (settings.order)
            impl_->cluster.kv[key] = order;
        else
            impl_->cluster.kv.erase(key);
        return std::nullopt;
    });
}

std::optional<std::string> embedded_cluster::set_tls(const std::optional<tls_settings>& settings)
{
    return impl_->on_thread([&]() -> std::optional<std::string> {
        if (auto wrong = impl_->use_tls(settings))
            return wrong;
        impl_->names_at->secured = impl_->secure;
        for (impl::place& p : impl_->places)
            p.at->secured = impl_->secure;
        return std::nullopt;
    });
}

void embedded_cluster::set_accounts(std::vector<account> accounts)
{
    (void)impl_->on_thread([&]() -> std::optional<std::string> {
        impl_->cluster.access.set(accounts);
        return std::nullopt;
    });
}

std::vector<stored_record> embedded_cluster::snapshot(std::string_view topic) const
{
    std::vector<stored_record> records;
    {
        std::lock_guard lock(impl_->state.mutex);
        impl_->each_record(topic, [&](const broker& b, const record& r) { records.push_back(to_record(b, r)); });
    }
    std::sort(records.begin(), records.end(),
              [](const stored_record& a, const stored_record& b) { return a.sequence < b.sequence; });
    return records;
}

std::map<std::pair<std::string, std::int32_t>, std::uint64_t> embedded_cluster::stored_by_queue(std::string_view topic) const
{
    std::map<std::pair<std::string, std::int32_t>, std::uint64_t> counts;
    std::lock_guard lock(impl_->state.mutex);
    for (const auto& b : impl_->cluster.brokers)
        if (const topic_log* log = std::as_const(*b).messages().find(topic); log != nullptr)
            for (std::size_t queue = 0; queue < log->queues.size(); ++queue)
                if (!log->queues[queue].empty())
                    counts[{b->name(), static_cast<std::int32_t>(queue)}] = log->queues[queue].size();
    return counts;
}

std::uint64_t embedded_cluster::stored() const
{
    std::lock_guard lock(impl_->state.mutex);
    return impl_->cluster.sequence;
}

void embedded_cluster::write_ledger(std::ostream& out) const
{
    std::vector<stored_record> records = snapshot();
    std::sort(records.begin(), records.end(), [](const stored_record& a, const stored_record& b) {
        return std::tie(a.broker, a.topic, a.queue, a.offset) < std::tie(b.broker, b.topic, b.queue, b.offset);
    });
    for (const stored_record& r : records)
        out << to_json(r) << '\n';
}

counters embedded_cluster::counts(std::string_view subject) const
{
    std::lock_guard lock(impl_->state.mutex);
    const counters* found = impl_->counts_of(subject);
    return found == nullptr ? counters{} : *found;
}

bool embedded_cluster::wait_until(const std::function<bool()>& holds, std::chrono::milliseconds limit) const
{
    const auto deadline = std::chrono::steady_clock::now() + limit;
    guard& state = impl_->state;
    for (;;) {
        std::uint64_t seen = 0;
        {
            std::lock_guard lock(state.mutex);
            seen = state.events;
        }
        if (holds())
            return true;
        std::unique_lock lock(state.mutex);
        ++state.waiting;
        const bool more = state.happened.wait_until(lock, deadline, [&] { return state.events != seen; });
        --state.waiting;
        if (!more) {
            lock.unlock();
            return holds();
        }
    }
}

bool embedded_cluster::wait_requests(std::string_view subject, std::int32_t code, std::uint64_t count,
                                     std::chrono::milliseconds limit) const
{
    return wait_until(
        [&] {
            std::lock_guard lock(impl_->state.mutex);
            const counters* c = impl_->counts_of(subject);
            if (c == nullptr)
                return false;
            const auto it = c->by_code.find(code);
            return it != c->by_code.end() && it->second >= count;
        },
        limit);
}

bool embedded_cluster::wait_sends(std::string_view broker, std::uint64_t count, std::chrono::milliseconds limit) const
{
    return wait_until(
        [&] {
            std::lock_guard lock(impl_->state.mutex);
            const counters* c = impl_->counts_of(broker);
            return c != nullptr && c->sends >= count;
        },
        limit);
}

bool embedded_cluster::wait_stored(std::uint64_t count, std::chrono::milliseconds limit) const
{
    return wait_until([&] { return stored() >= count; }, limit);
}

}  // namespace shunt::cluster
