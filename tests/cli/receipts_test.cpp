// Receipts are written in the order of submission, with a bounded number of lines waiting; and what they look like.

#include "../../core/cli/json.hpp"
#include "../../core/cli/receipts.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using shunt::cli::receipt_file;

class ReceiptFile : public testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(path.parent_path()); }
    void TearDown() override { std::filesystem::remove_all(path.parent_path()); }
    [[nodiscard]] std::string text() const
    {
        std::ifstream in(path);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    const std::filesystem::path path =
        std::filesystem::path(testing::TempDir()) / ("shunt-receipts-" + std::to_string(::getpid())) / "receipts";
};

TEST_F(ReceiptFile, PutsLinesInTheOrderOfSubmissionWhateverOrderTheyComeIn)
{
    receipt_file file(path);
    for (const int i : {2, 0, 4, 3, 1})
        file.put(static_cast<std::uint64_t>(i), std::to_string(i));
    EXPECT_EQ(file.finish(), "");
    EXPECT_EQ(text(), "0\n1\n2\n3\n4\n");
}

TEST_F(ReceiptFile, KeepsBackWhoIsTooFarAheadUntilTheOldestHasEnded)
{
    receipt_file file(path, 4);
    for (std::uint64_t i = 0; i < 4; ++i)
        EXPECT_TRUE(file.admit(i));
    for (std::uint64_t i = 1; i < 4; ++i)
        file.put(i, std::to_string(i));
    auto fifth = std::async(std::launch::async, [&] { return file.admit(4); });
    EXPECT_EQ(fifth.wait_for(50ms), std::future_status::timeout) << "message 4 may not start while message 0 is under way";

    file.put(0, "0");
    EXPECT_TRUE(fifth.get());
    file.put(4, "4");
    EXPECT_EQ(file.finish(), "");
    EXPECT_EQ(text(), "0\n1\n2\n3\n4\n");
}

TEST_F(ReceiptFile, SaysThatAFileCannotBeMade) { EXPECT_THROW(receipt_file(path / "no" / "folder"), std::system_error); }

TEST_F(ReceiptFile, AdmitsNothingMoreOnceWritingFailed)
{
    receipt_file file("/dev/full");
    ASSERT_TRUE(file.admit(0));
    file.put(0, "0");  // written at once: nothing was for a while
    EXPECT_FALSE(file.admit(1));
    EXPECT_EQ(file.finish(), "receipts cannot be written to '/dev/full': No space left on device");
}

TEST(ReceiptLine, TellsWhereAMessageLiesAndEveryAttempt)
{
    shunt::receipt r;
    r.outcome = shunt::outcome::stored;
    r.msg_id.assign("ID");
    r.offset_msg_id.assign("OFFSET-ID");
    r.broker = "broker-a";
    r.queue = 3;
    r.offset = 17;
    r.policy = "default";
    r.generation = 1;
    r.latency = 1'500'999ns;
    auto& first = r.attempts.emplace_back();
    first.broker = "broker-b";
    first.queue = 0;
    first.outcome = shunt::outcome::unknown;
    first.text = "no \"answer\"\n";
    first.latency = 1ms;
    first.why = "rotation";
    EXPECT_EQ(shunt::cli::receipt_line(5, r),
              R"({"i":5,"outcome":"stored","msg_id":"ID","offset_msg_id":"OFFSET-ID","broker":"broker-a","queue":3,"offset":17,)"
              R"("status":"ok","policy":"default","generation":1,"latency_us":1500,"attempts":[{"broker":"broker-b","queue":0,)"
              R"("outcome":"unknown","code":-1,"text":"no \"answer\"\u000a","latency_us":1000,"why":"rotation"}]})");
}

TEST(Json, ReplacesBytesThatAreNoUtf8AndKeepsTheRest)
{
    using shunt::cli::json;
    const auto quoted = [](std::string_view text) { return json{}.value(text).take(); };
    EXPECT_EQ(quoted("a\x80z"), "\"a\xEF\xBF\xBDz\"");
    EXPECT_EQ(quoted("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"), "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
    EXPECT_EQ(quoted("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"") << "a surrogate is no character";
    EXPECT_EQ(quoted("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"") << "longer than needed";
    EXPECT_EQ(quoted("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"") << "cut off";
    EXPECT_EQ(quoted(std::string_view("\0\x1f\"\\", 4)), R"("\u0000\u001f\"\\")");
}

TEST(Json, PutsCommasBetweenMembersAndNowhereElse)
{
    shunt::cli::json out;
    out.object().key("a").array().value(1).value("x").array().end_array().end_array().key("b").object().end_object();
    out.member("c", true).key("d").value(0.5, 2).end_object();
    EXPECT_EQ(out.text(), R"({"a":[1,"x",[]],"b":{},"c":true,"d":0.50})");
}

}  // namespace
