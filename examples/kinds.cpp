// Every kind of message, one after another, against the cluster of the configuration that is named (or one inside this
// process). The pieces are those of core/README.md.

#include <shunt/observer.hpp>
#include <shunt/producer.hpp>
#include <shunt/template.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;

struct order {
    int id = 0;
};
template <>
struct shunt::payload_converter<order> {
    static std::string to_body(const order& o) { return "{\"id\":" + std::to_string(o.id) + "}"; }
};

namespace {

void later(shunt::producer& producer)
{
    const auto in_a_while = shunt::message("orders", "pay me").set_delay(15min);
    const auto at_a_time = shunt::message("orders", "happy new year").set_deliver_at(std::chrono::system_clock::now() + 24h);
    const auto by_level = shunt::message("orders", "in ten seconds").set_delay_level(3);
    const shunt::receipt r = producer.deliver(in_a_while);
    if (const auto id = producer.recall("orders", r.recall_handle))
        std::cout << "taken back: " << (*id == r.msg_id.view()) << '\n';
    std::cout << "later: " << to_string(producer.deliver(at_a_time).outcome) << ' ' << to_string(producer.deliver(by_level).outcome) << '\n';
}

void batches(shunt::producer& producer)
{
    std::vector<shunt::message> list;
    for (int i = 0; i < 1000; ++i)
        list.push_back(shunt::message("orders", "item " + std::to_string(i)).add_key("item-" + std::to_string(i)));
    for (const shunt::batch_receipt& batch : producer.deliver_batches(list)) {
        std::cout << "batch of " << batch.size() << ": " << to_string(batch.send.outcome) << '\n';
        const shunt::receipt first = batch.of(0);  // as if it had been sent alone
        std::cout << "its first at an offset: " << (first.offset >= 0) << '\n';
    }
}

void transaction(shunt::producer& producer)
{
    // Asked by brokers that never heard the end: also after a restart.
    producer.answer_checks({"orders"}, [](const shunt::stored_message& half) {
        return half.property("order") == "7" ? shunt::transaction_end::commit : shunt::transaction_end::rollback;
    });
    const auto t = producer.send_transaction(shunt::message("orders", "paid").set_property("order", "7"),
                                             [](const shunt::message&, const shunt::receipt&) {
                                                 return shunt::transaction_end::commit;  // once the database has committed
                                             });
    std::cout << "transaction: " << to_string(t.end) << (t.confirmed ? ", confirmed" : "") << '\n';
}

void request(shunt::producer& producer)
{
    producer.answer_requests("prices", [](const shunt::stored_message& asked) { return "the price of " + asked.body; });
    shunt::send_options within;
    within.timeout = 2s;
    for (int i = 0; i < 20; ++i) {  // the answering side may still be looking for its queues
        const shunt::reply_receipt reply = producer.request(shunt::message("prices", "tea"), within);
        if (!reply.error) {
            std::cout << "reply: " << reply.body << '\n';
            return;
        }
    }
    std::cout << "no reply\n";
}

void destinations(shunt::producer& producer)
{
    shunt::message_template to(producer);
    const shunt::receipt sent = to.sync_send("orders:paid", order{7}, 2s);  // theirs: syncSend("orders:paid", order, 2000)
    const shunt::receipt same_queue = to.sync_send_orderly("orders:paid", order{7}, "customer-42");
    auto later = to.async_send("orders:paid", shunt::with_payload(order{8}).add_key("8"), boost::asio::use_future);
    const shunt::receipt nothing = to.sync_send("orders:paid", nullptr);
    std::cout << nothing.reason << '\n';  // destination "orders:paid": the payload is absent; there must be something to send
    std::cout << "to destinations: " << to_string(sent.outcome) << ' ' << to_string(same_queue.outcome) << ' '
              << to_string(later.get().outcome) << '\n';
}

void questions(shunt::producer& producer)
{
    shunt::topic_settings settings;
    settings.queues = 8;
    if (const auto brokers = producer.create_topic("prices", settings))
        std::cout << "topic on " << brokers->size() << " brokers\n";
    const shunt::receipt r = producer.deliver(shunt::message("prices", "to be found").add_key("order-7"));
    if (const auto found = producer.view("prices", r.msg_id.str()))
        std::cout << "found: " << found->body << '\n';
    if (const auto found = producer.query("prices", "order-7"))
        std::cout << "by its key: " << found->size() << '\n';
}

boost::asio::awaitable<void> pour(shunt::producer& producer, int many)
{
    for (int i = 0; i < many; ++i) {
        const std::string line = "line " + std::to_string(i);  // read from somewhere that can wait
        shunt::room place = co_await producer.async_room("orders", line.size(), 10s, boost::asio::use_awaitable);
        shunt::message m("orders", line);
        producer.async_send(std::move(place), std::move(m), {}, [](const shunt::error_code&, const shunt::receipt&) {});
    }
}

void back_pressure(shunt::producer& producer)
{
    boost::asio::io_context mine;
    auto all = boost::asio::co_spawn(mine, pour(producer, 1000), boost::asio::use_future);
    mine.run();
    all.get();
    std::cout << "as fast as there is room: all are on their way\n";
}

class spans : public shunt::send_observer {
    void before(shunt::message& m) override { m.set_property("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"); }
    void after(const shunt::observed_send& s) override { total += s.receipt.latency; }
    std::chrono::nanoseconds total{0};
};

}  // namespace

int main(int argc, char** argv)
{
    shunt::producer_options inside;
    inside.embedded = true;
    inside.trace = "orders*";
    inside.observers = {std::make_shared<spans>()};
    auto producer = argc > 1 ? shunt::producer::open(argv[1]) : shunt::producer::create(inside);
    if (!producer) {
        std::cerr << producer.error().text << '\n';
        return 1;
    }
    later(*producer);
    batches(*producer);
    transaction(*producer);
    destinations(*producer);
    questions(*producer);
    back_pressure(*producer);
    request(*producer);
    return 0;
}
