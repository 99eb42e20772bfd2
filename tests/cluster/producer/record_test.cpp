// The record of a run: of which topics it is, when it is written, and what is told when it cannot be.

#include <support/producer_situation.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace shunt::test {
namespace {

class Record : public testing::Test {
protected:
    Record()
    {
        std::string made = (std::filesystem::temp_directory_path() / "shunt-record-XXXXXX").string();
        if (mkdtemp(made.data()) == nullptr)
            throw std::runtime_error("no temporary folder");
        folder = made;
        topic(cluster, "one");
        topic(cluster, "two");
    }
    ~Record() override
    {
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }
    [[nodiscard]] producer_options recording_to(const std::string& name) const
    {
        producer_options o = options_for(cluster);
        o.record = (folder / name).string();
        return o;
    }
    [[nodiscard]] std::optional<std::string> text_of(const std::string& name) const
    {
        std::ifstream in(folder / name, std::ios::binary);
        if (!in)
            return std::nullopt;
        return std::string(std::istreambuf_iterator<char>(in), {});
    }
    [[nodiscard]] std::size_t files() const
    {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
    }

    cluster::embedded_cluster cluster;
    std::filesystem::path folder;
};

TEST_F(Record, IsWrittenByCloseAndNotBefore)
{
    auto p = started(recording_to("run.toml"));
    ASSERT_TRUE(p.send(message("one", "x")));
    EXPECT_EQ(files(), 0u);

    p.close();
    EXPECT_EQ(p.counters().record_error, "");
    const auto text = text_of("run.toml");
    ASSERT_TRUE(text);
    EXPECT_NE(text->find("recorded: 1 sends to topic one"), std::string::npos) << *text;
    EXPECT_EQ(files(), 1u);
}

TEST_F(Record, IsOfTheFirstTopicThatIsSentTo)
{
    auto p = started(recording_to("run.toml"));
    ASSERT_TRUE(p.route("two"));
    ASSERT_TRUE(p.send(message("one", "x")));
    ASSERT_TRUE(p.send(message("two", "x")));
    ASSERT_TRUE(p.send(message("one", "x")));
    p.close();

    const auto text = text_of("run.toml");
    ASSERT_TRUE(text);
    EXPECT_NE(text->find("2 sends to topic one"), std::string::npos) << *text;
}

TEST_F(Record, OfEachTopicIsAFileWhereTheNameSaysSo)
{
    auto p = started(recording_to("run-{topic}.toml"));
    for (int i = 0; i < 20; ++i) {
        const std::string name = "t" + std::to_string(i);
        topic(cluster, name);
        ASSERT_TRUE(p.send(message(name, "x")));
    }
    p.close();

    EXPECT_EQ(p.counters().record_error, "");
    EXPECT_EQ(files(), 16u) << "of the first so many";
    EXPECT_TRUE(text_of("run-t0.toml"));
    EXPECT_TRUE(text_of("run-t15.toml"));
}

TEST_F(Record, ThatCannotBeWrittenIsRefusedAtTheStart)
{
    const auto p = producer::create(recording_to("none/run.toml"));
    ASSERT_FALSE(p);
    EXPECT_NE(p.error().text.find("/none/run.toml'; it must be a file that can be written: No such file or directory"), std::string::npos)
        << p.error().text;
    EXPECT_FALSE(producer::create(recording_to(".")));
}

TEST_F(Record, ThatCannotBeWrittenAtTheEndIsTold)
{
    std::filesystem::create_directory(folder / "gone");
    auto p = started(recording_to("gone/run.toml"));
    ASSERT_TRUE(p.send(message("one", "x")));
    std::filesystem::remove(folder / "gone");
    p.close();

    EXPECT_NE(p.counters().record_error.find("gone/run.toml': No such file or directory"), std::string::npos) << p.counters().record_error;
}

TEST_F(Record, TellsPoliciesKeysThreadsAndWhatBrokersDid)
{
    auto o = with_policy(recording_to("run.toml"), "hash");
    o.policies["other"] = policy_options{};
    o.brokers["broker-c"] = {.room = "north", .weight = 7};
    auto p = started(o);
    command(cluster, "broker-a refuse");
    send_options named;
    named.policy = "other";
    std::thread other([&] { (void)p.deliver(message("one", "x").set_order_key("key-b"), named); });
    other.join();
    for (int i = 0; i < 20; ++i)
        (void)p.deliver(message("one", "x").set_order_key("key-" + std::to_string(i)));
    p.close();

    const auto text = text_of("run.toml");
    ASSERT_TRUE(text);
    for (const char* said : {"room = \"north\"", "weight = 7", "key = \"key-7\"", "key = \"key-b\"", "broker = \"broker-a\"\nrefuse = true",
                             "policy = { selector = { use = \"best-queue\" }", "20 sends named another policy than 'other'"})
        EXPECT_NE(text->find(said), std::string::npos) << said << " in\n" << *text;
}

TEST_F(Record, SaysNothingOfBrokersWhereThisSideEndedTheAttempt)
{
    auto p = started(recording_to("run.toml"));
    ASSERT_TRUE(p.send(message("one", "x")));
    command(cluster, "broker-a hang");
    command(cluster, "broker-b hang");
    command(cluster, "broker-c hang");
    collector sent;
    p.async_send(message("one", "x"), sent.handler(0));
    ASSERT_TRUE(eventually([&] { return p.counters().attempts == 2; }));
    p.close(0ms);
    ASSERT_TRUE(sent.wait(1));

    ASSERT_TRUE(eventually([&] { return text_of("run.toml").has_value(); }));
    EXPECT_EQ(text_of("run.toml")->find("hang = true"), std::string::npos);
}

}  // namespace
}  // namespace shunt::test
