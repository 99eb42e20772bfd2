#include <interop/cases/world.hpp>

#include <interop/support/real_cluster.hpp>

namespace shunt::cases {

namespace {

class real final : public world {
public:
    explicit real(const std::string& version) : version_(version), cluster_(wanted(version)) {}

    std::string name() const override { return "RocketMQ " + version_; }
    std::string name_server() const override { return cluster_.name_server(); }
    std::size_t brokers() const override { return cluster_.brokers(); }
    std::string broker(std::size_t i) const override { return cluster_.broker_name(i); }
    void create_topic(const std::string& topic, int queues, int perm) override
    {
        cluster_.create_topic(topic, {.queues = queues, .perm = perm});
    }
    std::vector<lying> messages(const std::string& topic) override
    {
        std::vector<lying> all;
        for (const interop::stored& s : cluster_.messages(topic)) {
            lying& m = all.emplace_back();
            m.broker = s.broker;
            m.queue = s.queue;
            m.offset = s.offset;
            m.flag = s.flag;
            m.body = s.body;
            m.properties = s.properties;
        }
        return all;
    }
    void kill(std::size_t i) override { cluster_.kill_broker(i); }
    void restart(std::size_t i) override { cluster_.restart_broker(i); }
    void hang(std::size_t i) override { cluster_.stop_broker(i); }
    void unhang(std::size_t i) override { cluster_.continue_broker(i); }
    void read_only(std::size_t i, bool on) override { cluster_.configure(i, on ? "brokerPermission=4" : "brokerPermission=6"); }
    void resize_topic(const std::string& topic, int queues) override
    {
        for (std::size_t i = 0; i < cluster_.brokers(); ++i)
            cluster_.ask_broker(i).create_topic(topic, {.queues = queues});
    }

private:
    static interop::real_cluster_options wanted(const std::string& version)
    {
        interop::real_cluster_options o;
        o.broker_version = version;
        o.brokers = 2;
        o.broker_conf = "recallMessageEnable=true\ntransactionTimeOut=2000\ntransactionCheckInterval=2000";
        return o;
    }
    std::string version_;
    interop::real_cluster cluster_;
};

}  // namespace

std::unique_ptr<world> real_world(const std::string& version) { return std::make_unique<real>(version); }

}  // namespace shunt::cases
