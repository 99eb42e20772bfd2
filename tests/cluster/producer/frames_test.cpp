// What the producer writes, beside the frames of the Java client that did the same: every difference is one that
// core/README.md lists with its reason.

#include <support/fake_peer.hpp>
#include <support/listed_differences.hpp>
#include <support/producer_situation.hpp>
#include <unit/wire/captured.hpp>

#include <wire/batch.hpp>
#include <wire/heartbeat.hpp>
#include <wire/properties.hpp>

#include <algorithm>
#include <functional>

namespace shunt::test {
namespace {

using wire::test::captured;
using wire::test::captured_frame;

/// A name server and a broker that stores, called and numbered like those the frames were captured from.
struct recorded_broker {
    fake_peer broker;
    fake_name_server names;

    recorded_broker()
        : broker([](fake_peer::session& s, const heard& h) {
              if (h.oneway)
                  return;
              const bool stores = h.is_send() || h.code == wire::code::send_batch_message || h.code == wire::code::send_reply_message_v2;
              if (h.body == "first of many")
                  s.pause(300ms);  // so that others gather behind it
              s.write(stores ? stored_answer(h) : answer_to(h, 0, {{"msgId", "FD00"}}));
          }),
          names({{"FrameT", route_json({{"broker-a", broker.address(), 4, 6}})},
                 {"FrameReq", route_json({{"broker-a", broker.address(), 4, 6}})},
                 {"MQ_INST_1%FrameT", route_json({{"broker-a", broker.address(), 4, 6}})}})
    {
    }
    [[nodiscard]] producer_options options(const std::string& group = "PG_frames") const
    {
        auto o = options_for(names.address());
        o.group = group;
        return o;
    }
    /// The last request of a kind; waits for it.
    [[nodiscard]] heard last(const fake_peer& peer, std::int32_t code) const
    {
        EXPECT_TRUE(peer.wait_until([&] { return peer.count(code) != 0; }, patience)) << "no request " << code;
        heard found;
        for (const heard& h : peer.all())
            if (h.code == code)
                found = h;
        return found;
    }
};

std::map<std::string, std::string> properties_in(std::string_view text)
{
    std::map<std::string, std::string> out;
    wire::each_property(text, [&out](std::string_view name, std::string_view value) { out[std::string(name)] = value; });
    return out;
}

/// Each send has its own value, whoever sends.
const std::set<std::string> own_value{"e", "g", "clientID", "commitLogOffset", "msgId", "tranStateTableOffset", "transactionId",
                                      "UNIQ_KEY", "CORRELATION_ID", "REPLY_TO_CLIENT", "TIMER_DELIVER_MS", "TTL"};

void compare(const std::map<std::string, std::string>& java, const std::map<std::string, std::string>& ours, std::set<std::string>& out)
{
    for (const auto& [name, value] : java) {
        const auto same = ours.find(name);
        if (same == ours.end())
            out.insert(name + " only of Java");
        else if (same->second != value && !own_value.contains(name) && name != "i")
            out.insert(name + "=" + value + ", here " + same->second);
    }
    for (const auto& [name, value] : ours)
        if (!java.contains(name))
            out.insert(name + " only here");
}

std::vector<std::string> items_of(std::string_view body, std::set<std::string>& out)
{
    std::vector<std::string> items;
    wire::batch_item item;
    std::string what;
    while (wire::read_batch_item(body, item, what)) {
        std::string text = std::to_string(item.flag) + " " + std::string(item.body);
        for (const auto& [name, value] : properties_in(item.properties))
            text += " " + name + "=" + (own_value.contains(name) ? "..." : value);
        items.push_back(text);
    }
    if (!what.empty())
        out.insert(what);
    std::sort(items.begin(), items.end());  // those that gather come in any order
    return items;
}

/// What is different, in words.
std::set<std::string> differences_of(const captured& java, const heard& ours)
{
    std::set<std::string> out;
    if (java.code != ours.code)
        out.insert("code=" + std::to_string(java.code) + ", here " + std::to_string(ours.code));
    if (((java.flag & wire::flag_oneway) != 0) != ours.oneway)
        out.insert(ours.oneway ? "one-way only here" : "one-way only of Java");
    compare(java.fields, ours.fields, out);
    if (java.fields.contains("i"))
        compare(properties_in(java.fields.at("i")), properties_in(ours.field("i")), out);
    const std::string body = java.bytes.substr(java.bytes.size() - java.body_size);
    if (java.code == wire::code::send_batch_message) {
        if (items_of(body, out) != items_of(ours.body, out))
            out.insert("items");
    } else if (java.code == wire::code::heart_beat) {
        wire::heartbeat theirs, here;
        std::string what;
        if (!wire::read_heartbeat(body, theirs, what) || !wire::read_heartbeat(ours.body, here, what))
            out.insert("body: " + what);
        for (const std::string& group : theirs.producer_groups)
            if (std::find(here.producer_groups.begin(), here.producer_groups.end(), group) == here.producer_groups.end())
                out.insert("group " + group + " only of Java");
        for (const std::string& group : here.producer_groups)
            if (std::find(theirs.producer_groups.begin(), theirs.producer_groups.end(), group) == theirs.producer_groups.end())
                out.insert("group " + group + " only here");
        const auto members = [](const std::string& text) {
            std::map<std::string, std::string> all;
            const auto whole = boost::json::parse(text);
            for (const auto& [name, value] : whole.as_object())
                if (name != "producerDataSet")
                    all[name] = boost::json::serialize(value);
            return all;
        };
        compare(members(body), members(ours.body), out);
    } else if ((std::stoi(java.fields.contains("f") ? java.fields.at("f") : "0") & 1) == 0 && body != ours.body) {
        out.insert("body");  // of compressed ones the bytes are the library's
    }
    return out;
}

/// Does with a producer what the Java program did, and gives back the frame that was written for it.
struct deed {
    const char* frame;
    std::function<heard(recorded_broker&)> done;
};

std::string lines()
{
    std::string body;
    for (int i = 0; i < 300; ++i)
        body += "line " + std::to_string(i) + " of a compressible body\n";
    return body;
}

std::function<heard(recorded_broker&)> sent(const std::function<message()>& make, const std::function<void(producer_options&)>& set = {},
                                            const std::string& group = "PG_frames")
{
    return [=](recorded_broker& b) {
        auto o = b.options(group);
        if (set)
            set(o);
        auto p = started(o);
        const receipt r = p.deliver(make());
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        return b.last(b.broker, wire::code::send_message_v2);
    };
}

std::function<heard(recorded_broker&)> asked(std::int32_t code, bool of_name_server, const std::function<void(producer_options&)>& set = {},
                                             const std::string& group = "PG_frames")
{
    return [=](recorded_broker& b) {
        auto o = b.options(group);
        if (set)
            set(o);
        auto p = started(o);
        EXPECT_EQ(p.deliver(message("FrameT", "hello")).outcome, outcome::stored);
        p.close();
        return b.last(of_name_server ? static_cast<fake_peer&>(b.names) : b.broker, code);
    };
}

std::function<heard(recorded_broker&)> transaction(transaction_end end, std::int32_t code)
{
    return [=](recorded_broker& b) {
        auto p = started(b.options("PG_tx"));
        (void)p.send_transaction(message("FrameT", "transaction body").add_key("tx-key").set_tag("TagX"),
                                 [end](const message&, const receipt&) { return end; });
        return b.last(b.broker, code);
    };
}

heard batch(recorded_broker& b, wire_format format)
{
    auto o = b.options();
    o.format = format;
    auto p = started(o);
    std::vector<message> list;
    for (int i = 0; i < 3; ++i) {
        const std::string n = std::to_string(i);
        list.push_back(message("FrameT", "item " + n + (i == 1 ? " \xe4\xb8\x96\xe7\x95\x8c" : "")).set_tag("Tag" + n).add_key("key" + n).set_flag(i));
    }
    list.back().set_property("p", "v");
    EXPECT_EQ(p.deliver_batch(std::move(list)).send.outcome, outcome::stored);
    return b.last(b.broker, wire::code::send_batch_message);
}

heard gathered(recorded_broker& b)
{
    auto o = b.options();
    o.auto_batch = true;
    o.batch_messages = 4;
    auto p = started(o);
    send_options to;
    to.queue = {"broker-a", 2};
    collector all;
    p.async_send(message("FrameT", "first of many"), to, all.handler(0));
    EXPECT_TRUE(b.broker.wait_until([&] { return b.broker.count(wire::code::send_message_v2) == 1; }, patience));
    for (int i = 0; i < 4; ++i) {
        const std::string n = std::to_string(i);
        p.async_send(message("FrameT", "auto " + n).set_tag("TagB").add_key("kb" + n), to, all.handler(i + 1));
    }
    EXPECT_TRUE(all.wait(5));
    return b.last(b.broker, wire::code::send_batch_message);
}

heard question_about_a_transaction(recorded_broker& b)
{
    const std::string question = captured_frame("tx-check-from-broker").bytes;
    b.broker.set([question](fake_peer::session& s, const heard& h) {
        if (h.oneway)
            return;
        s.write(answer_to(h, 0));
        if (h.code == wire::code::heart_beat)
            s.write(question);
    });
    auto p = started(b.options("PG_tx"));
    p.answer_checks({"FrameT"}, [](const stored_message&) { return transaction_end::commit; });
    return b.last(b.broker, wire::code::end_transaction);
}

heard request(recorded_broker& b)
{
    auto p = started(b.options());
    send_options within;
    within.timeout = 3000ms;
    p.async_request(message("FrameReq", "the question 1").set_tag("TagR"), within, [](const error_code&, const reply_receipt&) {});
    return b.last(b.broker, wire::code::send_message_v2);
}

heard reply(recorded_broker& b)
{
    const captured asked = captured_frame("reply-send.req");
    const auto given = properties_in(asked.fields.at("i"));
    b.names.set_route("DefaultCluster_REPLY_TOPIC", route_json({{"broker-a", b.broker.address(), 1, 6}}));
    auto p = started(b.options("PG_replier"));
    stored_message m;
    m.topic = "FrameReq";
    m.broker = "broker-a";
    m.properties = {{"CLUSTER", "DefaultCluster"}, {"CORRELATION_ID", given.at("CORRELATION_ID")}, {"REPLY_TO_CLIENT", given.at("REPLY_TO_CLIENT")}, {"TTL", "3000"}};
    const receipt r = p.reply(m, message("", "the answer"));
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    return b.last(b.broker, wire::code::send_reply_message_v2);
}

heard recalled(recorded_broker& b)
{
    auto p = started(b.options());
    (void)p.recall("FrameT", captured_frame("recall.req").fields.at("recallHandle"));
    return b.last(b.broker, wire::code::recall_message);
}

message later() { return message("FrameT", "timer").set_tag("TagT"); }
message rich()
{
    return message("FrameT", "h\xc3\xa9llo \xe4\xb8\x96\xe7\x95\x8c \xf0\x9f\x98\x80").set_tag("TagA").add_key("order-1").add_key("order-2")
        .set_property("emoji", "\xf0\x9f\x98\x80").set_property("city", "\xe5\x8c\x97\xe4\xba\xac")
        .set_property("na\xc3\xafve", "\xc3\xbc\"\\/\t<>&\x7f\xe2\x80\xa8").set_property("n", "42").set_flag(7).set_wait_store(false);
}
message hello() { return message("FrameT", "hello"); }
message large() { return message("FrameT", lines()).set_tag("TagZ"); }
const auto binary = [](producer_options& o) { o.format = wire_format::rocketmq; };
const auto old_namespace = [](producer_options& o) { o.namespace_v1 = "MQ_INST_1"; };
const auto new_namespace = [](producer_options& o) { o.namespace_v2 = "tenant-1"; };
std::function<void(producer_options&)> compressing(compression by) { return [by](producer_options& o) { o.compress = by; }; }

const deed deeds[] = {
    {"send-plain.req", sent(hello)},
    {"send-props.req", sent(rich)},
    {"send-oneway", [](recorded_broker& b) {
         auto p = started(b.options());
         EXPECT_FALSE(p.deliver_oneway(message("FrameT", "one-way").set_tag("TagA")).error);
         return b.last(b.broker, wire::code::send_message_v2);
     }},
    {"send-batch.req", [](recorded_broker& b) { return batch(b, wire_format::json); }},
    {"send-autobatch.req", gathered},
    {"send-zlib.req", sent(large, compressing(compression::zlib))},
    {"send-lz4.req", sent(large, compressing(compression::lz4))},
    {"send-zstd.req", sent(large, compressing(compression::zstd))},
    {"send-delay-level.req", sent([] { return message("FrameT", "delayed").set_tag("TagD").set_delay_level(2); })},
    {"send-timer-sec.req", sent([] { return later().set_delay(5s); })},
    {"send-timer-ms.req", sent([] { return later().set_delay(4500ms); })},
    {"send-timer-at.req", sent([] { return later().set_deliver_at(std::chrono::system_clock::now() + 5s); })},
    {"send-ordered-1.req", sent([] { return message("FrameT", "step 0").set_tag("TagO").add_key("k0").set_order_key("order-1"); },
                                [](producer_options& o) { o.write_order_key = true; })},
    {"tx-prepare.req", transaction(transaction_end::commit, wire::code::send_message_v2)},
    {"tx-commit", transaction(transaction_end::commit, wire::code::end_transaction)},
    {"tx-rollback", transaction(transaction_end::rollback, wire::code::end_transaction)},
    {"tx-check-answer", question_about_a_transaction},
    {"request.req", request},
    {"reply-send.req", reply},
    {"recall.req", recalled},
    {"ns1-route.req", asked(wire::code::get_route_by_topic, true, old_namespace)},
    {"ns1-send.req", sent(hello, old_namespace)},
    {"ns1-heartbeat.req", asked(wire::code::heart_beat, false, old_namespace)},
    {"ns2-route.req", asked(wire::code::get_route_by_topic, true, new_namespace)},
    {"ns2-send.req", sent(hello, new_namespace)},
    {"ns2-heartbeat.req", asked(wire::code::heart_beat, false, new_namespace)},
    {"route-existing.req", asked(wire::code::get_route_by_topic, true)},
    {"heartbeat.req", asked(wire::code::heart_beat, false)},
    {"tx-heartbeat.req", asked(wire::code::heart_beat, false, {}, "PG_tx")},
    {"unregister.req", asked(wire::code::unregister_client, false)},
    {"bin-route.req", asked(wire::code::get_route_by_topic, true, binary)},
    {"bin-send.req", sent(hello, binary)},
    {"bin-send-props.req", sent(rich, binary)},
    {"bin-send-batch.req", [](recorded_broker& b) { return batch(b, wire_format::rocketmq); }},
    {"bin-heartbeat.req", asked(wire::code::heart_beat, false, binary)},
    {"bin-unregister.req", asked(wire::code::unregister_client, false, binary)},
};

TEST(Frames, DifferFromJavasInWhatIsListedAndInNothingElse)
{
    differences found;
    for (const deed& d : deeds) {
        SCOPED_TRACE(d.frame);
        recorded_broker b;
        const heard ours = d.done(b);
        std::string name = d.frame;
        name = name.substr(0, name.find('.'));
        for (const std::string& what : differences_of(captured_frame(d.frame), ours))
            found[what].insert(name);
    }
    EXPECT_EQ(shown(found), shown(listed_differences("frames")));
}

TEST(Frames, HaveIdsOfJavasForm)
{
    recorded_broker b;
    const auto ours = properties_in(sent(hello)(b).field("i")).at("UNIQ_KEY");
    EXPECT_GE(ours.size(), 32u);
    EXPECT_EQ(ours.find_first_not_of("0123456789ABCDEF"), std::string::npos) << ours;
}

}  // namespace
}  // namespace shunt::test
