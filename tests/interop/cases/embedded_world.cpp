#include <interop/cases/world.hpp>

#include <cluster/embedded_cluster.hpp>

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace shunt::cases {

namespace {

class embedded final : public world {
public:
    embedded() : cluster_(wanted()) {}

    std::string name() const override { return "embedded"; }
    std::string name_server() const override { return cluster_.name_server(); }
    std::size_t brokers() const override { return 2; }
    std::string broker(std::size_t i) const override { return "broker-" + std::string(1, static_cast<char>('a' + i)); }
    void create_topic(const std::string& topic, int queues, int perm) override
    {
        cluster::topic_settings t;
        t.queues = queues;
        t.perm = perm;
        must(cluster_.create_topic(topic, t));
    }
    std::vector<lying> messages(const std::string& topic) override
    {
        std::vector<lying> all;
        for (const cluster::stored_record& r : cluster_.snapshot(topic)) {
            lying& m = all.emplace_back();
            m.broker = r.broker;
            m.queue = r.queue;
            m.offset = r.offset;
            m.flag = r.flag;
            m.body = r.body;
            for (const auto& [name, value] : r.properties)
                m.properties[name] = value;
        }
        std::sort(all.begin(), all.end(), [](const lying& a, const lying& b) {
            return std::tie(a.broker, a.queue, a.offset) < std::tie(b.broker, b.queue, b.offset);
        });
        return all;
    }
    void kill(std::size_t i) override { tell(i, "gone"); }
    void restart(std::size_t i) override { tell(i, "ok"); }
    void hang(std::size_t i) override { tell(i, "hang"); }
    void unhang(std::size_t i) override { tell(i, "ok"); }
    void read_only(std::size_t i, bool on) override { tell(i, on ? "perm 4" : "perm 6"); }
    void resize_topic(const std::string& topic, int queues) override
    {
        for (std::size_t i = 0; i < brokers(); ++i)
            tell(i, "queues " + std::to_string(queues) + " " + topic);
    }

private:
    static cluster::options wanted()
    {
        cluster::options o;
        o.brokers = 2;
        o.auto_create = false;
        o.recall = true;
        o.transaction_timeout = std::chrono::seconds(1);
        o.transaction_interval = std::chrono::seconds(1);
        return o;
    }
    static void must(const std::optional<std::string>& error)
    {
        if (error)
            throw std::runtime_error(*error);
    }
    void tell(std::size_t i, const std::string& what) { must(cluster_.command(broker(i) + " " + what)); }

    cluster::embedded_cluster cluster_;
};

}  // namespace

std::unique_ptr<world> embedded_world() { return std::make_unique<embedded>(); }

}  // namespace shunt::cases
