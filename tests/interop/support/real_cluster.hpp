// A real RocketMQ on loopback: name servers and several masters, started from Maven's jars, ended with the test.
//
// Everything lies in a folder of its own below the build tree, which goes away with the object (SHUNT_KEEP=1 keeps it and
// says where it is). Functions throw std::runtime_error with what failed and the end of the log it failed in. One thread
// at a time may use an object.

#pragma once

#include <interop/support/admin_client.hpp>
#include <interop/support/child.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace shunt::interop {

struct real_cluster_options {
    std::string broker_version = "5.3.2";  ///< a folder maven/broker-VERSION
    std::size_t brokers = 2;
    std::size_t name_servers = 1;
    bool auto_create_topics = false;
    std::string broker_conf = {};                    ///< more lines of broker.conf, for each broker
    std::string name_server_conf = {};
    std::map<std::string, std::string> broker_files = {};  ///< content of more files, by path below rocketmq.home.dir of each broker
    std::string access_key = {}, secret_key = {};          ///< what the tests' own questions to brokers are signed with
    /// More words for each broker's JVM: "-Dtls.server.mode=enforcing". "{name}" in them stands for the broker's name.
    std::vector<std::string> broker_java = {};
    std::vector<std::string> name_server_java = {};
    std::shared_ptr<tls::context> certificates = {};       ///< the tests' own questions to brokers go under TLS
};

class real_cluster {
public:
    /// Starts everything and returns when all masters are registered and answer.
    explicit real_cluster(real_cluster_options options = {});
    real_cluster(real_cluster&&) = delete;
    ~real_cluster();

    /// "127.0.0.1:PORT"; brokers register with each of them.
    [[nodiscard]] const std::string& name_server(std::size_t i = 0) const { return servers_.at(i)->address; }
    [[nodiscard]] std::size_t brokers() const noexcept { return nodes_.size(); }
    /// "broker-a", "broker-b", ..., as in the embedded cluster.
    [[nodiscard]] const std::string& broker_name(std::size_t i) const { return nodes_.at(i)->name; }
    [[nodiscard]] const std::string& broker_address(std::size_t i) const { return nodes_.at(i)->address; }
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

    /// The first that runs.
    [[nodiscard]] admin_client& ask_name_server();
    void kill_name_server(std::size_t i) { servers_.at(i)->process.reset(); }  ///< kill -9
    [[nodiscard]] admin_client& ask_broker(std::size_t i) { return nodes_.at(i)->client; }

    /// Creates the topic on every master and returns when the route shows all of them.
    void create_topic(const std::string& topic, const topic_settings& settings = {});
    void create_topic_on(std::size_t i, const std::string& topic, const topic_settings& settings = {});
    /// Changes settings of one running broker, or of all: lines of "key=value".
    void configure(std::size_t i, const std::string& lines) { ask_broker(i).configure(lines); }
    void configure_all(const std::string& lines);

    void kill_broker(std::size_t i);      ///< kill -9; back when the process is gone. The route may still show it
    void end_broker(std::size_t i);       ///< SIGTERM: it goes in its own time, see broker_left()
    [[nodiscard]] bool broker_left(std::size_t i);  ///< it is gone; afterwards as if killed
    void restart_broker(std::size_t i);   ///< after kill_broker: same ports, same store; back when its topics are in the route
    void stop_broker(std::size_t i);      ///< hangs: accepts connections, answers nothing
    void continue_broker(std::size_t i);  ///< well again

    /// All that lies in a topic on the masters that run, by broker, queue and offset.
    [[nodiscard]] std::vector<stored> messages(const std::string& topic);
    /// The same as Java's own consumer sees it: java/Reader.java, one JSON object a line.
    [[nodiscard]] std::vector<std::string> java_reader(const std::string& topic);

    /// Asks until `true` comes, at most `limit` long. False: it did not. Ends early, throwing, when a broker dies.
    [[nodiscard]] bool eventually(const std::function<bool()>& ask, std::chrono::milliseconds limit = std::chrono::seconds(120));

private:
    struct node {
        std::string name;
        std::string address;
        std::filesystem::path folder;
        admin_client client;
        std::unique_ptr<child> process;
        std::set<std::string> topics;
    };

    struct name_server_node {
        std::string address;
        std::filesystem::path folder;
        admin_client client;
        std::unique_ptr<child> process;
    };

    void start_name_server(int port);
    void start_broker(node& n);
    void wait_until_registered(const std::vector<node*>& expected);
    [[nodiscard]] bool route_shows(const std::string& topic, const std::string& broker);
    [[noreturn]] void give_up(const std::string& what);

    real_cluster_options options_;
    std::filesystem::path folder_;
    std::vector<std::unique_ptr<name_server_node>> servers_;
    std::vector<std::unique_ptr<node>> nodes_;
};

struct java_run {
    int status = 0;
    std::vector<std::string> out;  ///< lines of standard output
    std::string err;
};

/// Runs a Java program of tests/interop/java against the official client 5.3.2: `name` is its class. Compiled once, into the
/// cache, for each content of its source. `scratch` takes its output.
[[nodiscard]] java_run run_java(const std::string& name, const std::vector<std::string>& arguments,
                                const std::filesystem::path& scratch, std::chrono::milliseconds limit = std::chrono::minutes(2));

/// The folder of a set of jars ("broker-5.3.2", "namesrv-5.1.4"), fetched if need be.
[[nodiscard]] std::filesystem::path jars(const std::string& set);

/// A new folder below the build tree.
[[nodiscard]] std::filesystem::path make_scratch(const std::string& prefix);

}  // namespace shunt::interop
