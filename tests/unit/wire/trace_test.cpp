// Trace records: as the Java client writes them, and read back.

#include <unit/wire/captured.hpp>

#include <wire/trace.hpp>

namespace shunt::wire::test {
namespace {

using records = std::vector<std::vector<std::string>>;

records read(std::string_view body)
{
    records all;
    each_trace(body, [&](const std::vector<std::string_view>& fields) { all.emplace_back(fields.begin(), fields.end()); });
    return all;
}

TEST(Trace, IsWrittenAsTheJavaClientWritesIt)
{
    const captured frame = captured_frame("trace-send.req");
    trace_send s;
    s.time_ms = 1796035653103;
    s.region = "DefaultRegion";
    s.group = "PG_frames";
    s.topic = "FrameT";
    s.msg_id = "FD000000000000000000000000000002527D30946E0997A945EE0000";
    s.tag = "TagA";
    s.keys = "key1";
    s.address = "127.0.0.1:30911";
    s.body_bytes = 5;
    s.cost_ms = 23;
    s.offset_id = "7F000001000078BF0000000000005770";
    s.stored = true;
    buffer out;
    put_trace(out, s);
    EXPECT_TRUE(frame.bytes.ends_with(out.view())) << out.view();
}

TEST(Trace, SaysNullForWhatIsNotThere)
{
    trace_send s;
    s.region = "r";
    s.type = trace_type::delay;
    buffer out;
    put_trace(out, s);
    EXPECT_EQ(read(out.view()), (records{{"Pub", "0", "r", "", "", "", "null", "null", "", "0", "0", "3", "null", "false"}}));
}

TEST(Trace, TellsTheEndOfATransaction)
{
    trace_end e{.time_ms = 7, .region = "r", .group = "g", .topic = "t", .msg_id = "i", .tag = "a", .keys = "k1 k2", .address = "h:1",
                .transaction_id = "i", .state = "COMMIT_MESSAGE", .by_check = true};
    buffer out;
    put_trace(out, e);
    put_trace(out, e);
    const std::vector<std::string> one{"EndTransaction", "7", "r", "g", "t", "i", "a", "k1 k2", "h:1", "2", "i", "COMMIT_MESSAGE", "true"};
    EXPECT_EQ(read(out.view()), (records{one, one}));
}

TEST(Trace, IsReadWhateverTheBytes)
{
    EXPECT_EQ(read(""), records{});
    EXPECT_EQ(read("\x02\x02"), records{});
    EXPECT_EQ(read("\x01"), (records{{"", ""}}));
    EXPECT_EQ(read("Pub\x01" "x"), (records{{"Pub", "x"}}));
}

}  // namespace
}  // namespace shunt::wire::test
