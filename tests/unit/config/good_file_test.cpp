// Files that are right: exactly these options, and where each value came from.

#include "situation.hpp"

#include <set>

namespace shunt::config {
namespace {

using namespace std::chrono_literals;

TEST(GoodFile, OfTheDesignGivesExactlyTheseOptions)
{
    const loaded l = good(R"(
[producer]
group        = "orders"
name_servers = ["10.0.0.1:9876", "[fd00::2]:9876", "mq_1.example.com:1", "[fe80::1%eth0]:65535"]
send_timeout = "4s"
attempts     = 16
retry_backoff = "0ms"
retry_backoff_max = "1m"
max_in_flight_messages = 10
max_in_flight_bytes = "1KiB"
when_full = "suspend"
max_body = "1MiB"
write_order_key = true
auto_create_topics = false
default_topic = "MY_DEFAULT"
default_topic_queues = 8
route_refresh = "1m"
heartbeat = "10s"
connect_timeout = "250ms"
format = "rocketmq"
client_id = "10.0.0.7@4711"
watch = true

[log]
level = "warn"

[plugins]
path = ["/usr/lib/shunt/plugins"]
max_images = 3
[plugins.load.tenant-pin]
file   = "/opt/acme/libtenant_pin.so"
sha256 = "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"

[policies.default]
selector = { use = "best-queue" }
fault    = { use = "latency-fault", profile = "5.x" }

[policies.by-order]
filters = [{ use = "machine-room", rooms = ["hz-1"] }]
selector = { use = "hash" }
fault    = { use = "none" }
ordered  = true
key_from = "property:tenant"
when_no_queue = "fail"

[[bindings]]
topic  = "orders-*"
policy = "by-order"
[[bindings]]
topic  = "%RETRY%x|y"
policy = "default"

[[limits]]
topic = "bulk-*"
max_in_flight_messages = 1000
max_in_flight_bytes = "64MiB"
[[limits]]
topic = "*"
max_in_flight_bytes = "1MiB"

[[brokers]]
name = "broker-a"
room = "hz-1"
weight = 2
[[brokers]]
name = "broker-b"
)");
    const producer_options& o = l.options;
    EXPECT_EQ(o.group, "orders");
    EXPECT_EQ(o.name_servers, (std::vector<std::string>{"10.0.0.1:9876", "[fd00::2]:9876", "mq_1.example.com:1", "[fe80::1%eth0]:65535"}));
    EXPECT_FALSE(o.embedded);
    EXPECT_EQ(o.send_timeout, 4s);
    EXPECT_EQ(o.attempts, 16u);
    EXPECT_EQ(o.retry_backoff, 0ms);
    EXPECT_EQ(o.retry_backoff_max, 60s);
    EXPECT_EQ(o.max_in_flight_messages, 10u);
    EXPECT_EQ(o.max_in_flight_bytes, 1024u);
    EXPECT_EQ(o.when_full, when_full::suspend);
    EXPECT_EQ(o.max_body, 1024u * 1024u);
    EXPECT_TRUE(o.write_order_key);
    EXPECT_FALSE(o.auto_create_topics);
    EXPECT_EQ(o.default_topic, "MY_DEFAULT");
    EXPECT_EQ(o.default_topic_queues, 8u);
    EXPECT_EQ(o.route_refresh, 60s);
    EXPECT_EQ(o.heartbeat, 10s);
    EXPECT_EQ(o.connect_timeout, 250ms);
    EXPECT_EQ(o.format, wire_format::rocketmq);
    EXPECT_EQ(o.client_id, "10.0.0.7@4711");
    EXPECT_TRUE(o.watch);
    EXPECT_EQ(o.log_level, "warn");
    EXPECT_EQ(o.file, "f.toml");

    EXPECT_EQ(o.plugins.path, std::vector<std::string>{"/usr/lib/shunt/plugins"});
    EXPECT_EQ(o.plugins.max_images, 3u);
    ASSERT_EQ(o.plugins.load.size(), 1u);
    EXPECT_EQ(o.plugins.load.at("tenant-pin").file, "/opt/acme/libtenant_pin.so");
    EXPECT_EQ(o.plugins.load.at("tenant-pin").sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(o.plugins.load.at("tenant-pin").where.line, 30u);

    ASSERT_EQ(o.policies.size(), 2u);
    const policy_options& by_default = o.policies.find("default")->second;
    EXPECT_EQ(by_default.selector.use, "best-queue");
    EXPECT_TRUE(by_default.selector.settings.empty());
    EXPECT_EQ(by_default.fault.use, "latency-fault");
    EXPECT_EQ(by_default.fault.settings, (setting_table{{"profile", "5.x"}}));
    EXPECT_EQ(by_default.fault.where.line, 36u);
    EXPECT_EQ(by_default.fault.where.column, 20u);
    EXPECT_FALSE(by_default.ordered);
    EXPECT_EQ(by_default.key_from.what, key_source::kind::order_key);
    EXPECT_EQ(by_default.when_no_queue, when_no_queue::wait);
    const policy_options& by_order = o.policies.find("by-order")->second;
    EXPECT_EQ(by_order.selector.use, "hash");
    EXPECT_EQ(by_order.fault.use, "none");
    ASSERT_EQ(by_order.filters.size(), 1u);
    EXPECT_EQ(by_order.filters[0].use, "machine-room");
    EXPECT_EQ(by_order.filters[0].settings, (setting_table{{"rooms", setting_array{"hz-1"}}}));
    EXPECT_TRUE(by_order.ordered);
    EXPECT_EQ(by_order.key_from.what, key_source::kind::property);
    EXPECT_EQ(by_order.key_from.property, "tenant");
    EXPECT_EQ(by_order.when_no_queue, when_no_queue::fail);
    EXPECT_EQ(by_order.where.line, 38u);

    ASSERT_EQ(o.bindings.size(), 2u);
    EXPECT_EQ(o.bindings[0].topic, "orders-*");
    EXPECT_EQ(o.bindings[0].policy, "by-order");
    ASSERT_EQ(o.limits.size(), 2u);
    EXPECT_EQ(o.limits[0].topic, "bulk-*");
    EXPECT_EQ(o.limits[0].max_in_flight_messages, 1000u);
    EXPECT_EQ(o.limits[0].max_in_flight_bytes, 64u * 1024 * 1024);
    EXPECT_EQ(o.limits[1].max_in_flight_messages, 0u) << "no such limit";
    EXPECT_EQ(o.bindings[1].topic, "%RETRY%x|y");
    ASSERT_EQ(o.brokers.size(), 2u);
    EXPECT_EQ(o.brokers.find("broker-a")->second.room, "hz-1");
    EXPECT_EQ(o.brokers.find("broker-a")->second.weight, 2u);
    EXPECT_EQ(o.brokers.find("broker-b")->second.room, "");
    EXPECT_EQ(o.brokers.find("broker-b")->second.weight, 1u);
    EXPECT_EQ(check_options(o), std::vector<problem>());
}

TEST(GoodFile, WithoutPoliciesHasTheDefaultOne)
{
    const producer_options o = good("[producer]\nembedded = true\n").options;
    ASSERT_EQ(o.policies.count("default"), 1u);
    EXPECT_EQ(o.policies.find("default")->second.selector.use, "best-queue");
    EXPECT_EQ(o.policies.find("default")->second.fault.use, "latency-fault");
    EXPECT_EQ(check_options(o), std::vector<problem>());
}

TEST(GoodFile, MayNameServersInOneStringAsJavaDoes)
{
    EXPECT_EQ(good("[producer]\nname_servers = \"h1:9876;h2:9877\"\n").options.name_servers,
              (std::vector<std::string>{"h1:9876", "h2:9877"}));
}

TEST(GoodFile, MayWriteStrategiesAsTablesOfTheirOwn)
{
    const producer_options o = good(after_producer("[policies.default.selector]\nuse = \"machine-room\"\nrooms = [\"a\"]\n"
                                                   "[[policies.default.filters]]\nuse = \"hash\"\n")).options;
    const policy_options& p = o.policies.find("default")->second;
    EXPECT_EQ(p.selector.use, "machine-room");
    EXPECT_EQ(p.selector.settings, (setting_table{{"rooms", setting_array{"a"}}}));
    EXPECT_EQ(p.fault.use, "latency-fault");
    ASSERT_EQ(p.filters.size(), 1u);
    EXPECT_EQ(p.filters[0].use, "hash");
}

TEST(GoodFile, KeepsTheOrderOfBindings)
{
    const producer_options o = good(after_producer("[policies.a]\n[policies.b]\n[[bindings]]\ntopic = \"z*\"\npolicy = \"b\"\n"
                                                   "[[bindings]]\ntopic = \"a*\"\npolicy = \"a\"\n")).options;
    ASSERT_EQ(o.bindings.size(), 2u);
    EXPECT_EQ(o.bindings[0].topic, "z*");
    EXPECT_EQ(o.bindings[1].topic, "a*");
}

TEST(GoodFile, AcceptsEveryBoundOfARange)
{
    (void)good(producer("attempts = 1\nsend_timeout = \"1ms\"\nmax_in_flight_messages = 1\nmax_in_flight_bytes = \"1B\"\n"
                        "max_body = \"1B\"\nembedded_brokers = 1\nembedded_queues = 1\nheartbeat = \"10ms\"\nclient_id = \"\""));
    (void)good(producer("attempts = 16\nsend_timeout = \"24h\"\nmax_in_flight_messages = 16777216\n"
                        "max_in_flight_bytes = \"1024GiB\"\nmax_body = \"15MiB\"\nembedded_brokers = 26\n"
                        "embedded_queues = 65535\nheartbeat = \"2m\"\ngroup = \"" + std::string(120, 'g') + "\""));
}

TEST(Origin, OfEveryKeyIsItsLineOrTheDefault)
{
    const loaded l = good("[producer]\nname_servers = \"h1:9876;h2:9876\"\nattempts = 5\n[policies.default]\nfault = { use = \"latency-fault\", "
                          "latency_max = [\"1ms\", \"2s\"] }\n[[brokers]]\nname = \"a\"\n[[bindings]]\ntopic = \"*\"\npolicy = \"default\"\n",
                          "dir/shunt.toml");
    EXPECT_EQ(value_of(l, "producer.attempts"), "5 from dir/shunt.toml:3");
    EXPECT_EQ(value_of(l, "producer.name_servers"), "[\"h1:9876\", \"h2:9876\"] from dir/shunt.toml:2");
    EXPECT_EQ(value_of(l, "producer.send_timeout"), "\"3s\" from default");
    EXPECT_EQ(value_of(l, "producer.max_in_flight_bytes"), "\"256MiB\" from default");
    EXPECT_EQ(value_of(l, "producer.when_full"), "\"wait\" from default");
    EXPECT_EQ(value_of(l, "producer.client_id"), "\"\" from default");
    EXPECT_EQ(value_of(l, "log.level"), "\"off\" from default");
    EXPECT_EQ(value_of(l, "plugins.max_images"), "64 from default");
    EXPECT_EQ(value_of(l, "policies.default.selector.use"), "\"best-queue\" from default");
    EXPECT_EQ(value_of(l, "policies.default.fault.use"), "\"latency-fault\" from dir/shunt.toml:5");
    EXPECT_EQ(value_of(l, "policies.default.fault.latency_max"), "[\"1ms\", \"2s\"] from dir/shunt.toml:5");
    EXPECT_EQ(value_of(l, "policies.default.key_from"), "\"order-key\" from default");
    EXPECT_EQ(value_of(l, "policies.default.when_no_queue"), "\"wait\" from default");
    EXPECT_EQ(value_of(l, "brokers[0].name"), "\"a\" from dir/shunt.toml:7");
    EXPECT_EQ(value_of(l, "brokers[0].weight"), "1 from default");
    EXPECT_EQ(value_of(l, "bindings[0].policy"), "\"default\" from dir/shunt.toml:10");
}

TEST(Origin, IsToldOnceAKey)
{
    const loaded l = good("[producer]\nembedded = true\n[policies.x]\nordered = true\n");
    std::set<std::string> keys;
    for (const origin& o : l.origins)
        EXPECT_TRUE(keys.insert(o.key).second) << o.key;
    EXPECT_EQ(keys.count("policies.x.ordered"), 1u);
    EXPECT_EQ(keys.count("policies.default.ordered"), 1u);
}

// ---- paths ----

TEST(PluginPath, IsRelativeToTheFoldersOfTheFile)
{
    const producer_options o = good("[producer]\nembedded = true\n[plugins]\npath = [\"plugins\", \"/opt/p\", \"../q\"]\n"
                                    "[plugins.load.pin]\nfile = \"libpin.so\"\n", "/etc/shunt/shunt.toml").options;
    EXPECT_EQ(o.plugins.path, (std::vector<std::string>{"/etc/shunt/plugins", "/opt/p", "/etc/shunt/../q"}));
    EXPECT_EQ(o.plugins.load.at("pin").file, "/etc/shunt/libpin.so");
}

TEST(PluginPath, StaysAsItIsWhereTheTextHasNoFolder)
{
    EXPECT_EQ(good("[producer]\nembedded = true\n[plugins]\npath = [\"plugins\"]\n", "shunt.toml").options.plugins.path,
              std::vector<std::string>{"plugins"});
}

TEST(PluginPath, OfAFileDoesNotDependOnTheWorkingDirectory)
{
    const temporary_folder folder;
    (void)folder.write("etc/shunt.toml", "[producer]\nembedded = true\n[plugins]\npath = [\"plugins\"]\n");
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    std::vector<problem> problems;
    const loaded l = load_file("etc/shunt.toml", problems);
    std::filesystem::current_path(before);
    EXPECT_EQ(problems, std::vector<problem>());
    ASSERT_EQ(l.options.plugins.path.size(), 1u);
    EXPECT_EQ(l.options.plugins.path[0], (std::filesystem::canonical(folder.path()) / "etc/plugins").string());
    EXPECT_EQ(l.options.file, "etc/shunt.toml");
}

TEST(PluginPath, MayHaveBlanksQuotesAndAnyLetters)
{
    const std::string long_name(255, 'n');
    EXPECT_EQ(good(after_producer("[plugins]\npath = ['/p lug/it\"s', \"/ключ_订单\", \"/" + long_name + "\"]")).options.plugins.path,
              (std::vector<std::string>{"/p lug/it\"s", "/ключ_订单", "/" + long_name}));
}

TEST(File, MayLieAnywhere)
{
    const temporary_folder folder;
    for (const std::string name : {"ключ_订单/é.toml", "with blank/a 'b\".toml", "not-utf8-\xff.toml"}) {
        std::vector<problem> problems;
        const std::string path = folder.write(name, "[producer]\nembedded = true\ngroup = \"g7\"\n");
        EXPECT_EQ(load_file(path, problems).options.group, "g7") << name;
        EXPECT_EQ(problems, std::vector<problem>());
    }
}

TEST(File, IsNamedInProblemsWithItsOddBytesEscaped)
{
    const temporary_folder folder;
    std::vector<problem> problems;
    (void)load_file(folder.write("é\xff\n.toml", "[producer]\nembedded = true\nattempts = 0\n"), problems);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].file, (folder.path() / "é\\xff\\x0a.toml").string());
}

TEST(File, MayBeReadThroughLinks)
{
    const temporary_folder folder;
    (void)folder.write("..v1/shunt.toml", "[producer]\nembedded = true\n[plugins]\npath = [\"plugins\"]\n");
    std::filesystem::create_directory_symlink("..v1", folder.path() / "..data");
    std::filesystem::create_symlink("..data/shunt.toml", folder.path() / "shunt.toml");
    std::vector<problem> problems;
    const loaded l = load_file((folder.path() / "shunt.toml").string(), problems);
    EXPECT_EQ(problems, std::vector<problem>());
    EXPECT_EQ(l.options.plugins.path, std::vector<std::string>{(folder.path() / "plugins").string()})
        << "a ConfigMap's links are swapped: the folder is that of the path as given";
}

TEST(File, ThatIsNotThereIsToldInTheSystemsWords)
{
    std::vector<problem> problems;
    (void)load_file("/nowhere/shunt.toml", problems);
    EXPECT_EQ(problems, (std::vector<problem>{{"/nowhere/shunt.toml", 0, 0, "", "cannot be read: No such file or directory", "a file that can be read", ""}}));
}

TEST(File, ThatIsAFolderIsRefused)
{
    const temporary_folder folder;
    std::vector<problem> problems;
    (void)load_file(folder.path().string(), problems);
    EXPECT_EQ(problems, (std::vector<problem>{{folder.path().string(), 0, 0, "", "a folder", "a file that can be read", ""}}));
}

TEST(File, WithAPathNoSystemTakesIsRefused)
{
    for (const std::string& path : {std::string(5000, 'p'), std::string(), std::string("a\0b", 3)}) {
        std::vector<problem> problems;
        (void)load_file(path, problems);
        ASSERT_EQ(problems.size(), 1u);
        EXPECT_EQ(problems[0].expected, "a path of 1 to 4095 bytes");
    }
}

TEST(File, LargerThanAConfigurationIsNotReadWhole)
{
    const temporary_folder folder;
    const std::string path = folder.write("large.toml", "#");
    std::filesystem::resize_file(path, std::uintmax_t{1} << 36);  // sparse
    std::vector<problem> problems;
    (void)load_file(path, problems);
    EXPECT_EQ(problems, (std::vector<problem>{{path, 0, 0, "", "more than 1048576 bytes", "a file of at most 1048576 bytes", ""}}));
}

TEST(File, CutShortIsReadAsItStands)
{
    // A half-written file cannot be told from a short one here; the watcher waits until it is quiet.
    const temporary_folder folder;
    std::vector<problem> problems;
    (void)load_file(folder.write("cut.toml", "[producer]\nembedded = tr"), problems);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].line, 2u);
}

}  // namespace
}  // namespace shunt::config
