// Loaded code: the right one after a file was replaced, each with its own symbols, loaded once, counted, never unloaded; and
// what calls through the class table give, for plugins old, new and bad.

#include <plugin/registry.hpp>
#include <strategy/settings_check.hpp>

#include "scratch.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

// The gallery's own_symbols has a function of the same name.
std::uint32_t gallery_same_name();
std::uint32_t gallery_same_name() { return 99; }

namespace shunt::plugin {
namespace {

using namespace test;
using strategy::strategy_class_ptr;

strategy_class_ptr load(registry& r, const std::string& file)
{
    load_error error;
    const auto classes = r.load_file(file, "", error);
    EXPECT_FALSE(error) << error.text;
    return classes.empty() ? nullptr : classes.front();
}

plugin_options many() { return {.path = {}, .load = {}, .max_images = 1000}; }

shunt_pick pick(const strategy_class_ptr& c, shunt_status expected = SHUNT_OK)
{
    shunt_view view{};
    view.struct_size = sizeof view;
    view.n_queues = 1;
    shunt_msg msg{};
    msg.struct_size = sizeof msg;
    shunt_pick out{SHUNT_NONE, SHUNT_WHY_PLUGIN};
    EXPECT_EQ(c->selector().select(nullptr, &view, &msg, &out), expected);
    return out;
}

std::vector<std::string> loaded_files()
{
    std::vector<std::string> all;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
            static_cast<std::vector<std::string>*>(to)->emplace_back(info->dlpi_name);
            return 0;
        },
        &all);
    return all;
}

// ---- the same path, another file ----

class Replaced : public testing::Test {
protected:
    void SetUp() override
    {
        before = load(host, file);
        ASSERT_NE(before, nullptr);
        ASSERT_EQ(pick(before).queue_index, 1u);
    }
    void expect_new_code_and_old_code_beside()
    {
        const strategy_class_ptr after = load(host, file);
        ASSERT_NE(after, nullptr);
        EXPECT_EQ(pick(after).queue_index, 2u);
        EXPECT_EQ(pick(before).queue_index, 1u);
        EXPECT_NE(before->sha256, after->sha256);
    }

    const scratch_folder folder;
    const std::string file = folder.put("p.so", gallery("version_1"));
    const std::string other = folder.put("other", gallery("version_2"));
    registry host{many()};
    strategy_class_ptr before;
};

TEST_F(Replaced, ByRenameRunsTheNewCode)
{
    std::filesystem::rename(other, file);
    expect_new_code_and_old_code_beside();
}

TEST_F(Replaced, InPlaceRunsTheNewCodeAndDoesNotHurtTheOld)
{
    folder.put("p.so", gallery("version_2"));
    expect_new_code_and_old_code_beside();
    folder.put("p.so", "");  // a mapped file that is cut is fatal; ours is a copy
    EXPECT_EQ(pick(before).queue_index, 1u);
}

TEST_F(Replaced, ByAHardLinkRunsTheNewCode)
{
    std::filesystem::remove(file);
    std::filesystem::create_hard_link(other, file);
    expect_new_code_and_old_code_beside();
}

TEST_F(Replaced, ByAnotherLinkTargetRunsTheNewCode)
{
    const std::string link = folder.path() + "/link.so";
    std::filesystem::create_symlink(file, link);
    EXPECT_EQ(pick(load(host, link)).queue_index, 1u);
    std::filesystem::remove(link);
    std::filesystem::create_symlink(other, link);
    EXPECT_EQ(pick(load(host, link)).queue_index, 2u);
}

TEST_F(Replaced, ManyTimesAlwaysRunsWhatLiesThere)
{
    for (std::uint32_t i = 0; i < 20; ++i) {
        const std::uint32_t version = i % 2 + 1;
        const std::string next = folder.put("next", gallery("version_" + std::to_string(version)));
        std::filesystem::rename(next, file);
        ASSERT_EQ(pick(load(host, file)).queue_index, version);
    }
}

// ---- images ----

TEST(Image, OfTheSameBytesIsLoadedOnce)
{
    const scratch_folder folder;
    registry one(many()), two(many());
    const auto a = load(one, folder.put("a.so", gallery("good")));
    const auto b = load(two, folder.put("b.so", gallery("good")));
    EXPECT_EQ(a->image, b->image);
    EXPECT_EQ(a->selector().select, b->selector().select);
    EXPECT_EQ(a->file, folder.path() + "/a.so");
    EXPECT_EQ(b->file, folder.path() + "/b.so");
    EXPECT_EQ(load(one, a->file), a) << "one registry gives one class for one file";
}

TEST(Image, IsAPrivateCopyThatOnlyThisUserCanReach)
{
    const scratch_folder folder;
    registry r(many());
    const auto c = load(r, folder.put("p.so", gallery("good")));
    Dl_info info{};
    ASSERT_NE(::dladdr(reinterpret_cast<const void*>(c->selector().select), &info), 0);
    const std::filesystem::path copy = info.dli_fname;
    EXPECT_NE(copy.parent_path(), folder.path());
    EXPECT_NE(copy.filename().string().find("-" + c->sha256.substr(0, 12) + ".so"), std::string::npos) << copy;
    struct stat st {};
    ASSERT_EQ(::stat(copy.c_str(), &st), 0) << "debuggers need it as long as the process runs";
    EXPECT_EQ(st.st_mode & 07777u, 0500u);
    ASSERT_EQ(::stat(copy.parent_path().c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777u, 0700u);
    EXPECT_EQ(st.st_uid, ::geteuid());
}

TEST(Image, StaysWhenItsRegistryIsGone)
{
    const scratch_folder folder;
    shunt_selector_class table{};
    {
        registry r(many());
        table = load(r, folder.put("p.so", gallery("version_1")))->selector();
    }
    shunt_pick out{SHUNT_NONE, 0};
    EXPECT_EQ(table.select(nullptr, nullptr, nullptr, &out), SHUNT_OK);
    EXPECT_EQ(out.queue_index, 1u);
}

TEST(Image, IsRefusedWhenTooManyAreLoaded)
{
    const scratch_folder folder;
    registry before(many());
    (void)load(before, folder.put("old.so", gallery("good")));
    const auto files = loaded_files();
    registry full({.path = {}, .load = {}, .max_images = 1});
    load_error error;

    std::string fresh = gallery("good") + "x";  // bytes never loaded, with the section table where it was
    const std::string file = folder.put("new.so", fresh);
    (void)full.load_file(file, "", error);

    EXPECT_EQ(error.why, refusal::too_many_images);
    for (const char* const words : {"plugin files are loaded already", "none is unloaded", "restart the program, or raise max_images"})
        EXPECT_NE(error.text.find(words), std::string::npos) << error.text;
    EXPECT_NE(error.text.find(file), std::string::npos);
    EXPECT_EQ(loaded_files(), files);
    EXPECT_NE(load(full, folder.path() + "/old.so"), nullptr) << "what is loaded may be used again";
}

TEST(Image, LoadsOnSeveralThreadsAtOnce)
{
    const scratch_folder folder;
    std::vector<std::string> files;
    for (int i = 0; i < 8; ++i)
        files.push_back(folder.put(std::to_string(i) + ".so", gallery(i % 2 == 0 ? "version_1" : "version_2") + std::string(1, '\1')));
    registry r(many());
    std::vector<std::thread> threads;
    std::vector<strategy_class_ptr> classes(32);
    for (std::size_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i < 8; ++i)
                classes[t * 8 + i] = load(r, files[(i + t) % 8]);
        });
    for (std::thread& t : threads)
        t.join();
    for (std::size_t t = 0; t < 4; ++t)
        for (std::size_t i = 0; i < 8; ++i)
            EXPECT_EQ(pick(classes[t * 8 + i]).queue_index, (i + t) % 8 % 2 + 1);
}

TEST(Image, LeavesNoFileBehindWhenTheLoaderRefusesIt)
{
    const scratch_folder folder;
    registry r(many());
    const auto good = load(r, folder.put("good.so", gallery("good")));
    Dl_info info{};
    ASSERT_NE(::dladdr(reinterpret_cast<const void*>(good->selector().select), &info), 0);
    const auto copies = [&] {
        return std::distance(std::filesystem::directory_iterator(std::filesystem::path(info.dli_fname).parent_path()), {});
    };
    const auto before = copies();
    load_error error;
    (void)r.load_file(folder.put("bad.so", gallery("undefined_symbol")), "", error);
    EXPECT_EQ(error.why, refusal::undefined_symbol);
    EXPECT_EQ(copies(), before);
}

// What exits runs in a program of its own, which goes through the test again up to there, in the folder of the first.
class ImageDeathTest : public testing::Test {
protected:
    ImageDeathTest()
    {
        testing::GTEST_FLAG(death_test_style) = "threadsafe";
        if (const char* const first = std::getenv("SHUNT_TEST_RUNTIME")) {
            runtime = first;
            return;
        }
        folder.emplace();
        folder->put("p.so", gallery("good"));
        runtime = folder->folder("run");
        ::setenv("SHUNT_TEST_RUNTIME", runtime.c_str(), 1);
    }
    ~ImageDeathTest() override { ::unsetenv("SHUNT_TEST_RUNTIME"); }

    // 7: a plugin was loaded, and its private copy lies in `runtime`.
    [[noreturn]] void load_and_exit() const
    {
        ::setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
        registry r(many());
        load_error error;
        const bool loaded = r.load_file(runtime + "/../p.so", "", error).size() == 1;
        std::exit(loaded && copies() == 1 ? 7 : 8);
    }
    [[nodiscard]] int copies() const
    {
        int n = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(runtime))
            n += entry.path().extension() == ".so" ? 1 : 0;
        return n;
    }

    std::optional<scratch_folder> folder;
    std::string runtime;
};

TEST_F(ImageDeathTest, RemovesItsPrivateFolderAtExit)
{
    EXPECT_EXIT(load_and_exit(), testing::ExitedWithCode(7), "");
    EXPECT_TRUE(std::filesystem::is_empty(runtime));
}

TEST_F(ImageDeathTest, RemovesFoldersOfProcessesThatWereKilled)
{
    const std::string dead = runtime + "/shunt-2147483646-abcdef", other = runtime + "/shunt-something-else";
    std::filesystem::create_directories(dead + "/inner");
    std::filesystem::create_directories(other);
    EXPECT_EXIT(load_and_exit(), testing::ExitedWithCode(7), "");
    EXPECT_FALSE(std::filesystem::exists(dead));
    EXPECT_TRUE(std::filesystem::exists(other));
}

// ---- symbols ----

TEST(Symbols, OfThePluginWinOverTheHostsOfTheSameName)
{
    const scratch_folder folder;
    registry r(many());
    EXPECT_EQ(pick(load(r, folder.put("1.so", gallery("own_symbols_1")))).queue_index, 1u);
    EXPECT_EQ(pick(load(r, folder.put("2.so", gallery("own_symbols_2")))).queue_index, 2u);
    EXPECT_EQ(gallery_same_name(), 99u);
}

TEST(Symbols, OfTwoVersionsAreApartWhenBuiltByTheSdk)
{
    const scratch_folder folder;
    registry r(many());
    const auto one = load(r, folder.put("1.so", gallery("sdk/libown_symbols_1")));
    const auto two = load(r, folder.put("2.so", gallery("sdk/libown_symbols_2")));
    EXPECT_EQ(pick(one).why, 1u);  // a count in an inline static variable
    EXPECT_EQ(pick(one).why, 2u);
    EXPECT_EQ(pick(two).why, 1u);
}

// ---- older and later plugins ----

TEST(Class, OfAnOlderPluginHasWhatItLacksAsNull)
{
    const scratch_folder folder;
    registry r(many());
    const auto c = load(r, folder.put("p.so", gallery("older_struct")));
    ASSERT_NE(c, nullptr);
    EXPECT_EQ(c->selector().wants, nullptr);
    EXPECT_EQ(c->selector().filter, nullptr);
    EXPECT_EQ(c->selector().export_state, nullptr);
    EXPECT_EQ(c->selector().extension, nullptr);
    EXPECT_EQ(pick(c).queue_index, 0u);
}

TEST(Class, OfALaterPluginThatIsContentWithUsWorks)
{
    const scratch_folder folder;
    registry r(many());
    const auto c = load(r, folder.put("p.so", gallery("later_minor")));
    ASSERT_NE(c, nullptr);
    EXPECT_EQ(c->abi_minor, 9);
    EXPECT_EQ(c->selector().struct_size, sizeof(shunt_selector_class));
    EXPECT_EQ(pick(c).queue_index, 0u);
}

// ---- plugins that misbehave when called: the table shows it, the caller answers it ----

struct failing_host {
    std::string error;
    shunt_host table{};

    failing_host()
    {
        table.struct_size = sizeof table;
        table.abi_major = SHUNT_ABI_MAJOR;
        table.ctx = this;
        table.log = [](void*, std::int32_t, shunt_str) {};
        table.set_error = [](void* ctx, shunt_str text) { static_cast<failing_host*>(ctx)->error.assign(text.ptr, text.len); };
        table.now_ns = [](void*) -> std::int64_t { return 0; };
        table.random = [](void*) -> std::uint64_t { return 0; };
        table.metric = [](void*, shunt_str, shunt_str) -> std::uint32_t { return 0; };
        table.metric_add = [](void*, std::uint32_t, double) {};
        table.request_probe = [](void*, std::uint32_t, std::int64_t) -> shunt_status { return SHUNT_UNSUPPORTED; };
        table.extension = [](void*, shunt_str) -> const void* { return nullptr; };
    }
};

strategy_class_ptr named(registry& r, const std::string& file, std::string_view name)
{
    load_error error;
    for (const auto& c : r.load_file(file, "", error))
        if (c->name == name)
            return c;
    ADD_FAILURE() << "no " << name << ": " << error.text;
    return nullptr;
}

TEST(Misbehaviour, ThrowingInCreateIsAStatusAndAText)
{
    const scratch_folder folder;
    registry r(many());
    const auto c = named(r, folder.put("p.so", gallery("sdk/libthrows")), "throws-in-create");
    failing_host host;
    const strategy::checked_settings settings;
    const shunt_instance instance{sizeof instance, 0};
    shunt_selector* made = nullptr;
    EXPECT_EQ(c->selector().create(&host.table, &settings.config(), &instance, &made), SHUNT_E_EXCEPTION);
    EXPECT_EQ(made, nullptr);
    EXPECT_NE(host.error.find("no room at the inn"), std::string::npos) << host.error;
}

TEST(Misbehaviour, ThrowingInSelectIsAStatus)
{
    const scratch_folder folder;
    registry r(many());
    const auto c = named(r, folder.put("p.so", gallery("sdk/libthrows")), "throws-in-select");
    failing_host host;
    const strategy::checked_settings settings;
    const shunt_instance instance{sizeof instance, 0};
    shunt_selector* made = nullptr;
    ASSERT_EQ(c->selector().create(&host.table, &settings.config(), &instance, &made), SHUNT_OK);
    shunt_view view{};
    view.struct_size = sizeof view;
    shunt_msg msg{};
    msg.struct_size = sizeof msg;
    shunt_pick out{SHUNT_NONE, 0};
    EXPECT_EQ(c->selector().select(made, &view, &msg, &out), SHUNT_E_EXCEPTION);
    c->selector().destroy(made);
}

TEST(Misbehaviour, AnIndexOutOfRangeAndAnAnswerNotGivenCanBeSeen)
{
    const scratch_folder folder;
    registry r(many());
    EXPECT_EQ(pick(load(r, folder.put("range.so", gallery("out_of_range")))).queue_index, 4000000000u);
    const auto c = load(r, folder.put("nothing.so", gallery("never_initialises")));
    EXPECT_EQ(pick(c).queue_index, SHUNT_NONE);
    shunt_selector* made = nullptr;
    EXPECT_EQ(c->selector().create(nullptr, nullptr, nullptr, &made), SHUNT_OK);
    EXPECT_EQ(made, nullptr);
}

TEST(Misbehaviour, ABadSettingIsToldBeforeCreate)
{
    const scratch_folder folder;
    registry r(many());
    const auto c = load(r, folder.put("p.so", gallery("parameters")));
    std::vector<strategy::setting_problem> problems;
    (void)strategy::check_settings(*c, {{"size", 17}, {"ways", "left"}}, {"shunt.toml", 3, 1}, problems);
    std::vector<std::string> keys;
    for (const auto& p : problems)
        keys.push_back(p.key + " is " + p.found + ", not " + p.expected);
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys, (std::vector<std::string>{"rooms is not set, not a non-empty array of strings",
                                              "size is 17, not a whole number from 1 to 16 (messages)",
                                              "ways is an unknown setting, not one of size, pause, way, rooms"}));
}

}  // namespace
}  // namespace shunt::plugin
