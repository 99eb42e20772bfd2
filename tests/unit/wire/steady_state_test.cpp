// The hot path allocates nothing once its buffers have grown.

#include <unit/wire/allocation_count.hpp>
#include <wire/send.hpp>

#include <gtest/gtest.h>

namespace shunt::wire {
namespace {

TEST(SteadyState, SendsAndAnswersAllocateNothing)
{
    send_head head;
    head.group = "PG_demo";
    head.topic = "TopicTest";
    head.properties = "UNIQ_KEY\x01" "0A00000512670A0B0C0D000186A00001\x02WAIT\x01true\x02";
    head.broker = "broker-a";
    const field fields[] = {{"msgId", "7F00000100002A9F0000000000001234"}, {"queueId", "2"}, {"queueOffset", "57"},
                            {"odd", "\x01\"\\"}};
    buffer request, answer;
    command_decoder decoder;
    const auto round = [&](header_format format) {
        request.clear();
        encode_send_head(request, format, code::send_message_v2, 1, false, head, 0);
        answer.clear();
        encode(answer, format, {.opaque = 1, .flag = flag_response, .language = "JAVA", .fields = fields}, "");
        for (const buffer* b : {&request, &answer}) {
            command got;
            const scan_result r = scan(b->view());
            if (r.status != scan_status::complete || !decoder.decode(r.parts, got))
                return false;
            send_answer out;
            if (b == &answer && !read_send_answer(got, out))
                return false;
        }
        return true;
    };
    ASSERT_TRUE(round(header_format::json));
    ASSERT_TRUE(round(header_format::binary));

    const long before = test::allocations();
    bool good = true;
    for (int i = 0; i < 1000; ++i)
        good = good && round(i % 2 == 0 ? header_format::json : header_format::binary);
    const long after = test::allocations();

    EXPECT_TRUE(good);
    EXPECT_EQ(after - before, 0);
    EXPECT_GT(before, 0) << "nothing was counted";
}

}  // namespace
}  // namespace shunt::wire
