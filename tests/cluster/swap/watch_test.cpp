// A producer with `watch = true` takes over what its file says, however it is written; what is wrong is said once.

#include "swap_situation.hpp"

#include <config/load.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::test {
namespace {

namespace fs = std::filesystem;

class Watch : public testing::Test {
protected:
    Watch()
    {
        std::string name = testing::TempDir() + "shunt-swap-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no folder");
        folder_ = name;
        topic(cluster_, "T");
    }
    ~Watch() override
    {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    [[nodiscard]] std::string at(const std::string& name) const { return folder_ + "/" + name; }
    void write(const std::string& name, std::string_view text) const
    {
        std::ofstream(at(name), std::ios::trunc | std::ios::binary) << text;
        ::chmod(at(name).c_str(), 0644);
    }
    void rename(const std::string& from, const std::string& to) const { fs::rename(at(from), at(to)); }
    /// A configuration whose policies are told apart by their number of attempts.
    [[nodiscard]] std::string config(int attempts, const std::string& more = "", const std::string& preflight = "off") const
    {
        return "[producer]\nname_servers = [\"" + cluster_.name_server() + "\"]\nwatch = true\nattempts = " + std::to_string(attempts) +
               "\n[swap]\nprobation = \"0ms\"\npreflight = \"" + preflight + "\"\n" + more;
    }
    /// A build of the plugin `version`, and behind it bytes that nobody reads: another file to everybody.
    [[nodiscard]] static std::string build(int version, const std::string& more = "")
    {
        std::ifstream in(in_build("/tests/gallery/sound_version_" + std::to_string(version) + ".so"), std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {}) + more;
    }
    /// A producer that goes by the plugin beside its configuration.
    [[nodiscard]] std::string with_plugin(int attempts, const std::string& preflight) const
    {
        return config(attempts, "[plugins.load.version]\nfile = \"version.so\"\n[policies.default]\nselector = { use = \"version\" }\n"
                                "fault = { use = \"none\" }\n", preflight);
    }
    [[nodiscard]] producer opened(const std::string& file) const
    {
        auto p = producer::open(file);
        if (!p)
            throw std::runtime_error(p.error().text);
        return std::move(*p);
    }
    /// The newest swap once it is `state`.
    static bool comes(const producer& p, std::size_t swaps, swap_state state)
    {
        return eventually([&] {
            const auto all = p.swaps();
            return all.size() == swaps && all.back().state == state;
        });
    }
    static std::string told(const producer& p)
    {
        std::string text;
        for (const swap_status& s : p.swaps())
            text += shown(s) + "\n";
        return text;
    }

    cluster::embedded_cluster cluster_;
    std::string folder_;
};

TEST_F(Watch, TakesARenamedFileAtOnceAndAWrittenOneWhenItIsQuiet)
{
    write("shunt.toml", config(3));
    auto p = opened(at("shunt.toml"));
    ASSERT_TRUE(p.send(message("T", "x")));
    write("new.toml", config(4));
    auto begin = clock::now();
    rename("new.toml", "shunt.toml");
    ASSERT_TRUE(comes(p, 2, swap_state::in_force)) << told(p);
    EXPECT_LT(clock::now() - begin, 250ms + grace());
    EXPECT_EQ(p.swaps().back().who, "watch");
    EXPECT_EQ(p.swaps().back().what, at("shunt.toml"));
    EXPECT_EQ(p.generation(), 2u);
    begin = clock::now();
    write("shunt.toml", config(5));
    ASSERT_TRUE(comes(p, 3, swap_state::in_force)) << told(p);
    EXPECT_LT(clock::now() - begin, 600ms + grace());
    EXPECT_GE(clock::now() - begin, 245ms) << "not before it was quiet";
    EXPECT_EQ(p.deliver(message("T", "x")).generation, 3u);
}

TEST_F(Watch, TakesASwitchedFolderOfAConfigMap)
{
    const auto publish = [&](const std::string& version, int attempts) {
        fs::create_directory(at("..v" + version));
        write("..v" + version + "/shunt.toml", config(attempts));
        fs::create_directory_symlink("..v" + version, at("..data_tmp"));
        rename("..data_tmp", "..data");
    };
    publish("1", 3);
    fs::create_symlink("..data/shunt.toml", at("shunt.toml"));
    auto p = opened(at("shunt.toml"));
    ASSERT_TRUE(p.send(message("T", "x")));
    publish("2", 4);
    ASSERT_TRUE(comes(p, 2, swap_state::in_force)) << told(p);
    fs::remove_all(at("..v1"));
    publish("3", 5);
    ASSERT_TRUE(comes(p, 3, swap_state::in_force)) << told(p);
}

TEST_F(Watch, NeverTakesAHalfWrittenFile)
{
    const std::string whole = config(4, "[policies.default]\nselector = { use = \"random\" }\n");
    write("shunt.toml", config(3));
    auto p = opened(at("shunt.toml"));
    ASSERT_TRUE(p.send(message("T", "x")));
    {
        // Each half would be a good configuration by itself, but not what is meant.
        std::ofstream out(at("shunt.toml"), std::ios::trunc);
        out << config(4) << std::flush;
        ASSERT_TRUE(p.send(message("T", "x")));
        const auto until = clock::now() + 400ms;
        ASSERT_TRUE(eventually([&] { return clock::now() > until; }));
        EXPECT_EQ(p.swaps().size(), 1u) << "its writer has not closed it";
        out << whole.substr(config(4).size());
    }
    ASSERT_TRUE(comes(p, 2, swap_state::in_force)) << told(p);
    EXPECT_EQ(p.deliver(message("T", "x")).attempts[0].why, "random");
}

TEST_F(Watch, SaysOnceWhatIsWrongAndKeepsWhatIsInForce)
{
    write("shunt.toml", config(3));
    auto p = opened(at("shunt.toml"));
    ASSERT_TRUE(p.send(message("T", "x")));
    std::size_t swaps = 1;
    const auto expect_refusal = [&](const char* what, const std::string& words) {
        ASSERT_TRUE(comes(p, ++swaps, swap_state::refused)) << what << "\n" << told(p);
        EXPECT_NE(p.swaps().back().reason.find(words), std::string::npos) << what << ": " << p.swaps().back().reason;
        EXPECT_NE(p.swaps().back().reason.find("what is in force stays"), std::string::npos);
        EXPECT_EQ(p.generation(), 1u) << what;
    };
    const auto replace = [&](const std::string& text) {
        write("new.toml", text);
        rename("new.toml", "shunt.toml");
    };
    replace(config(0));
    expect_refusal("a wrong value", "producer.attempts is 0");
    replace(config(0));
    replace("[producer");
    expect_refusal("a syntax error", "shunt.toml:1");
    replace(config(3, "# \xff\xfe\n"));
    expect_refusal("no UTF-8", "shunt.toml");
    replace(std::string(100'000'000, '#'));
    expect_refusal("100 MB", "bytes");
    fs::remove(at("shunt.toml"));
    expect_refusal("deleted", "it is not there any more");
    fs::create_directory(at("shunt.toml"));
    expect_refusal("a folder", "it is a folder now");
    fs::remove(at("shunt.toml"));
    fs::create_symlink("shunt.toml", at("shunt.toml"));
    expect_refusal("a link to itself", "it cannot be read");
    fs::remove(at("shunt.toml"));
    ASSERT_EQ(::mkfifo(at("shunt.toml").c_str(), 0600), 0);
    expect_refusal("a pipe", "no regular file");
    fs::remove(at("shunt.toml"));
    write("new.toml", config(3, "[log]\nlevel = \"error\"\n"));
    rename("new.toml", "shunt.toml");
    ASSERT_TRUE(eventually([&] { return p.swaps().back().reason.find("log.level needs a restart") == 0; })) << told(p);
    const std::size_t before = p.swaps().size();
    replace(config(7));
    ASSERT_TRUE(comes(p, before + 1, swap_state::in_force)) << told(p);
    EXPECT_EQ(p.generation(), 2u);
    ASSERT_TRUE(p.send(message("T", "x")));
}

TEST_F(Watch, TouchedFilesAreNotStagedAndWhatWasTakenBackStaysSo)
{
    write("shunt.toml", config(3));
    auto p = opened(at("shunt.toml"));
    ASSERT_TRUE(p.send(message("T", "x")));
    write("new.toml", config(4));
    rename("new.toml", "shunt.toml");
    ASSERT_TRUE(comes(p, 2, swap_state::in_force)) << told(p);
    EXPECT_EQ(p.rollback(), "");
    fs::last_write_time(at("shunt.toml"), fs::file_time_type::clock::now());
    write("shunt.toml", config(4, "# a remark\n"));
    write("new.toml", config(4));
    rename("new.toml", "shunt.toml");
    write("new.toml", config(5));
    rename("new.toml", "shunt.toml");
    ASSERT_TRUE(comes(p, 3, swap_state::in_force)) << told(p);
    EXPECT_EQ(p.generation(), 4u);
}

TEST_F(Watch, TakesAPluginFileThatIsNotPinned)
{
    const auto put = [&](int version) {
        write("new.so", build(version));
        rename("new.so", "version.so");
    };
    put(1);
    write("shunt.toml", with_plugin(3, "off"));
    auto p = opened(at("shunt.toml"));
    EXPECT_EQ(p.deliver(message("T", "x")).queue, 1);
    const auto begin = clock::now();
    put(2);
    ASSERT_TRUE(comes(p, 2, swap_state::in_force)) << told(p);
    EXPECT_LT(clock::now() - begin, 250ms + grace());
    EXPECT_EQ(p.deliver(message("T", "x")).queue, 2);
    // In place: the running code is a private copy, so nothing happens to it; half of the file is refused.
    std::string half(fs::file_size(at("version.so")) / 2, '\0');
    std::ifstream(at("version.so"), std::ios::binary).read(half.data(), static_cast<std::streamsize>(half.size()));
    write("version.so", half);
    ASSERT_TRUE(comes(p, 3, swap_state::refused)) << told(p);
    EXPECT_EQ(p.deliver(message("T", "x")).queue, 2);
    put(1);
    ASSERT_TRUE(comes(p, 4, swap_state::in_force)) << told(p);
    EXPECT_EQ(p.deliver(message("T", "x")).queue, 1);
}

// From the change of a file to the new generation in force, with a file that is tried out in a process of its own each time,
// for it is never the same. A machine that has other things to do may be late now and then; five times it may not be.
TEST_F(Watch, IsInForceSoonThoughThePluginIsTriedOutFirst)
{
    write("version.so", build(1));
    write("shunt.toml", with_plugin(3, "staged"));
    auto p = opened(at("shunt.toml"));
    EXPECT_EQ(p.deliver(message("T", "x")).queue, 1);
    std::size_t swaps = 1;
    const auto expect_within = [&](std::chrono::milliseconds bound, const char* what, const std::function<void(int)>& change) {
        constexpr int wanted = 5, most = 15;  // four times that many images and swaps are kept
        std::vector<std::chrono::milliseconds> took;
        for (int in_time = 0; in_time < wanted && took.size() < most;) {
            ++swaps;
            const int version = 1 + static_cast<int>(swaps) % 2;
            const auto begin = clock::now();
            change(version);
            ASSERT_TRUE(comes(p, swaps, swap_state::in_force)) << what << "\n" << told(p);
            took.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - begin));
            in_time += took.back() <= bound ? 1 : 0;
            ASSERT_EQ(p.deliver(message("T", "x")).queue, version) << what;
            if (slow_build)
                return;
        }
        std::sort(took.begin(), took.end());
        RecordProperty(what, std::to_string(took[took.size() / 2].count()));
        EXPECT_LE(took[wanted - 1], bound) << what << ": the fifth best of " << took.size() << " ms";
    };
    const auto replace = [&](const std::string& name, const std::string& text) {
        write("new", text);
        rename("new", name);
    };
    const auto fresh = [&](int version) { return build(version, std::to_string(swaps)); };
    expect_within(250ms, "plugin_renamed_ms", [&](int version) { replace("version.so", fresh(version)); });
    expect_within(600ms, "plugin_written_ms", [&](int version) { write("version.so", fresh(version)); });
    const auto at_once_with = [&](int version) {  // the file's own change brings the plugin, which is not looked at by itself
        replace("other" + std::to_string(swaps) + ".so", fresh(version));
        std::string text = with_plugin(3, "staged");
        return text.replace(text.find("version.so"), 10, "other" + std::to_string(swaps) + ".so");
    };
    expect_within(250ms, "configuration_renamed_ms", [&](int version) { replace("shunt.toml", at_once_with(version)); });
    expect_within(600ms, "configuration_written_ms", [&](int version) { write("shunt.toml", at_once_with(version)); });
}

// What a program says in place of its file stands whichever way the file is read again.
TEST_F(Watch, WhatTheProgramOverridesStands)
{
    write("shunt.toml", config(3));
    producer_options o;
    {
        std::vector<config::problem> problems;
        o = config::load_file(at("shunt.toml"), problems).options;
        ASSERT_TRUE(problems.empty());
    }
    o.overrides = [](producer_options& read) {
        read.client_id = "ours";  // a file that says otherwise would be refused: it needs a restart
        read.attempts = 7;
    };
    o.overrides(o);
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "x")));
    const auto file_with = [&](const char* selector) {
        return config(4, std::string("[policies.default]\nselector = { use = \"") + selector + "\" }\n");
    };
    const auto changes = [&] {
        std::string keys;
        const auto all = p.swaps();
        for (const swap_change& c : all.back().changes)
            keys += c.key + " ";
        return keys;
    };
    write("new.toml", file_with("random"));
    rename("new.toml", "shunt.toml");
    ASSERT_TRUE(comes(p, 2, swap_state::in_force)) << told(p);
    EXPECT_EQ(changes(), "policies.default.selector.use ");
    ASSERT_TRUE(p.reload().wait_for(swap_state::in_force, patience)) << told(p);
    EXPECT_EQ(changes(), "");
    write("other.toml", file_with("round-robin"));
    ASSERT_TRUE(p.stage_file(at("other.toml")).wait_for(swap_state::in_force, patience)) << told(p);
    EXPECT_EQ(changes(), "policies.default.selector.use ");
    ASSERT_TRUE(p.send(message("T", "x")));
}

TEST_F(Watch, ReloadsOnRequestWithoutWatching)
{
    std::string text = config(3);
    text.replace(text.find("watch = true"), 12, "watch = false");
    write("shunt.toml", text);
    auto p = opened(at("shunt.toml"));
    ASSERT_TRUE(p.send(message("T", "x")));
    std::string other = text;
    other.replace(other.find("attempts = 3"), 12, "attempts = 4");
    write("shunt.toml", other);
    const swap_handle h = p.reload("SIGHUP");
    ASSERT_TRUE(h.wait_for(swap_state::in_force, patience)) << shown(h.status());
    EXPECT_EQ(h.status().who, "SIGHUP");
    write("shunt.toml", "[producer");
    EXPECT_EQ(p.reload().status().state, swap_state::refused);
    EXPECT_EQ(p.generation(), 2u);
}

}  // namespace
}  // namespace shunt::test
