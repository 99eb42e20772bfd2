#include <interop/support/real_cluster.hpp>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace shunt::interop {
namespace {

using namespace std::chrono_literals;
using std::filesystem::path;

constexpr auto start_limit = 180s;  // a loaded machine has been seen to need 47 s

// Holds a port while others are being picked.
class held_port {
public:
    explicit held_port(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        const int on = 1;
        ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = htonl(INADDR_ANY);  // that is where Java listens
        a.sin_port = htons(static_cast<std::uint16_t>(port));
        ok_ = ::bind(fd_, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0 && ::listen(fd_, 1) == 0;
    }
    held_port(held_port&& other) noexcept : fd_(std::exchange(other.fd_, -1)), ok_(other.ok_) {}
    held_port& operator=(held_port&&) = delete;
    ~held_port()
    {
        if (fd_ >= 0)
            ::close(fd_);
    }
    [[nodiscard]] bool ok() const noexcept { return ok_; }

private:
    int fd_;
    bool ok_ = false;
};

// Ports p - 2, p, p + 1 free for each p: a broker listens on all three. They lie below the range that the kernel hands out
// for outgoing connections: while a broker is down nobody else must get its port, not even a client that tries to reach it.
std::vector<int> pick_ports(std::size_t count)
{
    std::random_device random;
    std::uniform_int_distribution<int> any(20010, 32000);
    std::vector<held_port> held;
    std::vector<int> ports;
    for (int tries = 0; ports.size() < count; ++tries) {
        if (tries == 1000)
            throw std::runtime_error("no free ports between 20000 and 32000");
        const int p = any(random);
        std::vector<held_port> three;
        for (const int port : {p - 2, p, p + 1})
            three.emplace_back(port);
        if (!std::all_of(three.begin(), three.end(), [](const held_port& h) { return h.ok(); }))
            continue;
        std::move(three.begin(), three.end(), std::back_inserter(held));
        ports.push_back(p);
    }
    return ports;
}

std::vector<std::string> java_words(const std::string& heap, const path& home, const path& jar_folder)
{
    return {"java", "-Xms64m", "-Xmx" + heap, "-XX:MaxDirectMemorySize=256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData", "-Drocketmq.home.dir=" + home.string(), "-Duser.home=" + home.string(),
            "-cp", home.string() + ":" + (jar_folder / "*").string()};
}

// A folder for one server. The logging file, found first on the class path, keeps it quiet.
void make_home(const path& home)
{
    create_directories(home);
    std::ofstream(home / "rmq.logback.xml") << "<configuration><root level=\"OFF\"/></configuration>\n";
}

}  // namespace

real_cluster::real_cluster(real_cluster_options options) : options_(std::move(options)), folder_(make_scratch("rocketmq"))
{
    const std::vector<int> ports = pick_ports(options_.brokers + options_.name_servers);
    std::string servers;
    for (std::size_t i = 0; i < options_.name_servers; ++i) {
        start_name_server(ports[options_.brokers + i]);
        servers += (servers.empty() ? "" : ";") + servers_.back()->address;
    }
    std::vector<node*> all;
    for (std::size_t i = 0; i < options_.brokers; ++i) {
        const std::string name = std::string("broker-") + static_cast<char>('a' + i);
        const std::string address = "127.0.0.1:" + std::to_string(ports[i]);
        nodes_.push_back(std::unique_ptr<node>(new node{.name = name, .address = address, .folder = folder_ / name,
                                                        .client = admin_client(address), .process = nullptr, .topics = {}}));
        node& n = *nodes_.back();
        make_home(n.folder);
        for (const auto& [file, content] : options_.broker_files) {
            create_directories((n.folder / file).parent_path());
            std::ofstream(n.folder / file) << content;
        }
        n.client.use_tls(options_.certificates);
        if (!options_.access_key.empty())
            n.client.sign_as(options_.access_key, options_.secret_key);
        const path store = n.folder / "store";
        std::ofstream(n.folder / "broker.conf")
            << "brokerClusterName=C\nbrokerName=" << name << "\nbrokerId=0\nbrokerIP1=127.0.0.1\nbrokerIP2=127.0.0.1\n"
            << "listenPort=" << ports[i] << "\nfastListenPort=" << ports[i] - 2 << "\nhaListenPort=" << ports[i] + 1
            << "\nnamesrvAddr=" << servers << "\nstorePathRootDir=" << store.string()
            << "\nstorePathCommitLog=" << (store / "commitlog").string()
            << "\nmappedFileSizeCommitLog=16777216\nmappedFileSizeConsumeQueue=60000\nmaxIndexNum=20000\nmaxHashSlotNum=5000"
            << "\ndiskMaxUsedSpaceRatio=98\nwarmMapedFileEnable=false"
            << "\nautoCreateTopicEnable=" << (options_.auto_create_topics ? "true" : "false") << '\n'
            << options_.broker_conf << '\n';
        start_broker(n);
        all.push_back(&n);
    }
    wait_until_registered(all);
}

real_cluster::~real_cluster()
{
    for (const auto& n : nodes_)
        n->process.reset();
    for (const auto& s : servers_)
        s->process.reset();
    if (std::getenv("SHUNT_KEEP") != nullptr) {
        std::cerr << "kept: " << folder_.string() << '\n';
        return;
    }
    std::error_code ignored;
    remove_all(folder_, ignored);
}

void real_cluster::start_name_server(int port)
{
    const path home = folder_ / (servers_.empty() ? "namesrv" : "namesrv-" + std::to_string(servers_.size()));
    make_home(home);
    const std::string address = "127.0.0.1:" + std::to_string(port);
    std::ofstream(home / "namesrv.conf") << "listenPort=" << port << "\nkvConfigPath=" << (home / "kv.json").string()
                                         << "\norderMessageEnable=true\n" << options_.name_server_conf << '\n';
    auto argv = java_words("128m", home, jars("namesrv-5.1.4"));
    argv.insert(argv.begin() + 1, options_.name_server_java.begin(), options_.name_server_java.end());
    argv.insert(argv.end(), {"org.apache.rocketmq.namesrv.NamesrvStartup", "-c", (home / "namesrv.conf").string()});
    servers_.push_back(std::unique_ptr<name_server_node>(new name_server_node{
        .address = address, .folder = home, .client = admin_client(address), .process = std::make_unique<child>(argv, home / "out.log", home / "out.log")}));
}

admin_client& real_cluster::ask_name_server()
{
    for (const auto& s : servers_) {
        if (s->process != nullptr)
            return s->client;
    }
    throw std::logic_error("no name server runs");
}

void real_cluster::start_broker(node& n)
{
    auto argv = java_words("384m", n.folder, jars("broker-" + options_.broker_version));
    for (std::string word : options_.broker_java) {
        constexpr std::string_view name = "{name}";
        if (const auto at = word.find(name); at != std::string::npos)
            word.replace(at, name.size(), n.name);
        argv.insert(argv.begin() + 1, word);
    }
    argv.insert(argv.end(), {"org.apache.rocketmq.broker.BrokerStartup", "-c", (n.folder / "broker.conf").string()});
    n.process = std::make_unique<child>(argv, n.folder / "out.log", n.folder / "out.log");
}

bool real_cluster::eventually(const std::function<bool()>& ask, std::chrono::milliseconds limit)
{
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        try {
            if (ask())
                return true;
        } catch (const std::runtime_error&) {
            // The server does not listen yet, or not any more: asked again until the deadline.
        }
        // The pause between two asks is spent watching the processes: one that ends says so at once.
        for (const auto& s : servers_)
            if (s->process && s->process->wait(25ms / servers_.size()))
                throw std::runtime_error("the name server ended" + tail_of(s->folder / "out.log"));
        for (const auto& n : nodes_)
            if (n->process && n->process->wait(0ms))
                throw std::runtime_error(n->name + " ended" + tail_of(n->folder / "out.log"));
        if (std::chrono::steady_clock::now() >= deadline)
            return false;
    }
}

void real_cluster::give_up(const std::string& what)
{
    std::string words = what;
    for (const auto& s : servers_)
        words += tail_of(s->folder / "out.log");
    for (const auto& n : nodes_)
        words += "\n  " + n->name + tail_of(n->folder / "out.log");
    throw std::runtime_error(words);
}

// An open port is too early, and so is the broker's own word that it has started: what counts is the name server's.
void real_cluster::wait_until_registered(const std::vector<node*>& expected)
{
    const auto all_there = [&] {
        std::map<std::string, std::string> masters = ask_name_server().masters();
        for (const auto& s : servers_) {
            if (s->process != nullptr && s->client.masters() != masters)
                return false;
        }
        return std::all_of(expected.begin(), expected.end(), [&](node* n) {
            const auto found = masters.find(n->name);
            if (found == masters.end() || found->second != n->address)
                return false;
            (void)n->client.call(wire::code::get_broker_runtime_info);  // any answer will do: one with access control refuses
            return std::all_of(n->topics.begin(), n->topics.end(), [&](const std::string& t) { return route_shows(t, n->name); });
        });
    };
    if (!eventually(all_there, start_limit))
        give_up("brokers are not registered after " + std::to_string(start_limit.count()) + " s");
}

bool real_cluster::route_shows(const std::string& topic, const std::string& broker)
{
    const auto route = ask_name_server().route(topic);
    if (!route)
        return false;
    const route::broker* found = route->find(broker);
    return found != nullptr && found->has_queue_data && found->master() != nullptr;
}

void real_cluster::create_topic(const std::string& topic, const topic_settings& settings)
{
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        create_topic_on(i, topic, settings);
}

void real_cluster::create_topic_on(std::size_t i, const std::string& topic, const topic_settings& settings)
{
    node& n = *nodes_.at(i);
    n.client.create_topic(topic, settings);
    n.topics.insert(topic);
    if (!eventually([&] { return route_shows(topic, n.name); }, 30s))
        give_up("the route of \"" + topic + "\" does not show " + n.name + " after 30 s");
}

void real_cluster::configure_all(const std::string& lines)
{
    for (const auto& n : nodes_)
        n->client.configure(lines);
}

void real_cluster::kill_broker(std::size_t i)
{
    nodes_.at(i)->process.reset();
}

void real_cluster::end_broker(std::size_t i)
{
    nodes_.at(i)->process->signal(SIGTERM);
}

bool real_cluster::broker_left(std::size_t i)
{
    auto& process = nodes_.at(i)->process;
    if (process != nullptr && !process->wait(0ms))
        return false;
    process.reset();
    return true;
}

void real_cluster::restart_broker(std::size_t i)
{
    node& n = *nodes_.at(i);
    n.process.reset();
    start_broker(n);
    wait_until_registered({&n});
}

void real_cluster::stop_broker(std::size_t i)
{
    nodes_.at(i)->process->signal(SIGSTOP);
}

void real_cluster::continue_broker(std::size_t i)
{
    nodes_.at(i)->process->signal(SIGCONT);
}

std::vector<stored> real_cluster::messages(const std::string& topic)
{
    const auto route = ask_name_server().route(topic);
    if (!route)
        throw std::runtime_error("the name server has no route of \"" + topic + "\"");
    std::vector<stored> all;
    for (const route::queue& q : route->subscribe) {
        const route::broker& broker = route->brokers.at(q.broker);
        const auto owner = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& n) { return n->name == broker.name; });
        if (owner == nodes_.end() || !(*owner)->process)
            continue;
        auto some = (*owner)->client.pull(broker.name, topic, q.queue_id);
        std::move(some.begin(), some.end(), std::back_inserter(all));
    }
    return all;
}

std::vector<std::string> real_cluster::java_reader(const std::string& topic)
{
    java_run run = run_java("Reader", {name_server(), topic}, folder_);
    if (run.status != 0)
        throw std::runtime_error("java Reader " + topic + ": exit " + std::to_string(run.status) + ": " + run.err);
    return std::move(run.out);
}

}  // namespace shunt::interop
