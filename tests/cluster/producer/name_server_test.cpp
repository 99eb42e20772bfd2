// Lists of name servers that change while the producer runs: told by an HTTP server, or by another configuration.

#include <cluster/swap/swap_situation.hpp>
#include <support/producer_situation.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

namespace shunt::test {
namespace {

using boost::asio::ip::tcp;

/// Answers each request with what it was told last.
class address_server {
public:
    explicit address_server(std::string answer) : answer_(std::move(answer)), acceptor_(context_, {tcp::v4(), 0}), thread_([this] { serve(); }) {}
    ~address_server()
    {
        over_ = true;
        boost::system::error_code ignored;
        tcp::socket wake(context_);
        wake.connect({boost::asio::ip::address_v4::loopback(), port_}, ignored);
        wake.close(ignored);
        thread_.join();
    }
    void tell(std::string answer)
    {
        const std::lock_guard held(lock_);
        answer_ = std::move(answer);
    }
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/rocketmq/nsaddr"; }
    [[nodiscard]] int asked() const { return asked_; }
    [[nodiscard]] std::string heard()
    {
        const std::lock_guard held(lock_);
        return heard_;
    }
    static std::string ok(const std::string& body)
    {
        return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }

private:
    void serve()
    {
        while (!over_) {
            boost::system::error_code ec;
            tcp::socket peer = acceptor_.accept(ec);
            std::string request;
            boost::asio::read_until(peer, boost::asio::dynamic_buffer(request), "\r\n\r\n", ec);
            if (ec)
                continue;
            const std::lock_guard held(lock_);
            heard_ = request;
            ++asked_;
            boost::asio::write(peer, boost::asio::buffer(answer_), ec);
        }
    }
    boost::asio::io_context context_;
    std::mutex lock_;
    std::string answer_, heard_;
    std::atomic<bool> over_{false};
    std::atomic<int> asked_{0};
    tcp::acceptor acceptor_;
    const std::uint16_t port_ = acceptor_.local_endpoint().port();
    std::thread thread_;
};

struct NameServers : testing::Test {
    NameServers() { topic(cluster, "T"); }
    producer_options told_at(const std::string& url)
    {
        auto o = options_for(cluster);
        o.name_servers.clear();
        o.name_server_url = url;
        return o;
    }
    [[nodiscard]] std::string by_name() const
    {
        const std::string address = cluster.name_server();
        return "localhost" + address.substr(address.rfind(':'));
    }
    cluster::embedded_cluster cluster;
};

TEST_F(NameServers, AreToldByAnHttpServer)
{
    address_server server(address_server::ok(cluster.name_server() + "; " + cluster.name_server() + "\n"));
    producer p = started(told_at(server.url()));
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(p.name_server(), cluster.name_server());
    EXPECT_TRUE(server.heard().starts_with("GET /rocketmq/nsaddr HTTP/1.1\r\n")) << server.heard();
}

TEST_F(NameServers, ThatAreNotKnownYetAreWaitedFor)
{
    address_server server("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    auto o = told_at(server.url());
    o.send_timeout = 300ms;
    producer p = started(o);
    ASSERT_TRUE(eventually([&] { return server.asked() > 0; }));
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::not_sent);
    EXPECT_NE(r.reason.find("no name server is known"), std::string::npos) << r.reason;
    EXPECT_NE(r.reason.find("answered 503"), std::string::npos) << r.reason;
    send_options patient;
    patient.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
    auto waits = std::async(std::launch::async, [&] { return p.deliver(message("T", "waits"), patient); });
    server.tell(address_server::ok(cluster.name_server()));
    EXPECT_EQ(waits.get().outcome, outcome::stored);
}

TEST_F(NameServers, StayWhenTheListIsBad)
{
    const std::string bodies[] = {"", "no address", "127.0.0.1:0", "127.0.0.1:9876;<html>", std::string(100'000, 'x')};
    for (const std::string& body : bodies) {
        address_server server(address_server::ok(body));
        auto o = told_at(server.url());
        o.name_servers = {cluster.name_server()};
        producer p = started(o);
        ASSERT_TRUE(eventually([&] { return server.asked() > 0; }));
        EXPECT_EQ(p.deliver(message("T", "x")).outcome, outcome::stored) << body.substr(0, 40);
        EXPECT_EQ(p.name_server(), cluster.name_server());
    }
}

TEST_F(NameServers, AreReplacedByAnotherConfiguration)
{
    auto o = plainly(options_for(cluster));
    producer p = started(o);
    ASSERT_TRUE(p.send(message("T", "x")));
    o.name_servers = {by_name()};
    in_force(p, o);
    EXPECT_TRUE(eventually([&] { return p.name_server() == by_name(); }));
    topic(cluster, "U");
    EXPECT_EQ(p.deliver(message("U", "x")).outcome, outcome::stored) << "the new one is asked";
    EXPECT_TRUE(p.close(5s));
}

TEST_F(NameServers, ThatNeverComeEndTheirWaitersWithTheProducer)
{
    address_server server("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    auto o = told_at(server.url());
    o.send_timeout = 60s;
    producer p = started(o);
    auto waits = std::async(std::launch::async, [&] { return p.deliver(message("T", "waits")); });
    ASSERT_TRUE(eventually([&] { return p.counters().sends == 1; }));
    EXPECT_FALSE(p.close(100ms));
    EXPECT_EQ(waits.get().outcome, outcome::not_sent);
}

}  // namespace
}  // namespace shunt::test
