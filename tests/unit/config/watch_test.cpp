// Real files, made-up time: what happened is there to be read as soon as the call that did it has returned.

#include <config/watch.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::config {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t t0 = 1'000'000 * ms;

class FileWatch : public testing::Test {
protected:
    FileWatch()
    {
        std::string name = testing::TempDir() + "shunt-watch-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no folder");
        folder_ = name;
    }
    ~FileWatch() override
    {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    [[nodiscard]] std::string at(const std::string& name) const { return folder_ + "/" + name; }
    void write(const std::string& name, std::string_view text = "x") const { std::ofstream(at(name), std::ios::trunc) << text; }
    void rename(const std::string& from, const std::string& to) const { fs::rename(at(from), at(to)); }
    /// Reads what happened and asks what is due, both at `now`.
    std::vector<std::string> look(std::int64_t now)
    {
        watch_.readable(now);
        return watch_.due(now);
    }
    [[nodiscard]] std::vector<std::string> only(const std::string& name) const { return {at(name)}; }
    void watch(const std::vector<std::string>& names, std::int64_t now = t0)
    {
        std::vector<std::string> files;
        for (const std::string& name : names)
            files.push_back(at(name));
        watch_.watch(files, now);
    }

    static inline const std::vector<std::string> nothing;
    std::string folder_;
    file_watch watch_;
};

TEST_F(FileWatch, TellsARenameOverTheFileAtOnce)
{
    write("f");
    watch({"f"});
    EXPECT_EQ(look(t0), nothing);
    for (int i = 0; i < 3; ++i) {  // a watch on the file itself would end with the first
        write("f.new");
        EXPECT_EQ(look(t0 + i), nothing) << "another name";
        rename("f.new", "f");
        EXPECT_EQ(look(t0 + i), only("f"));
        EXPECT_EQ(look(t0 + i), nothing) << "once";
    }
}

TEST_F(FileWatch, WaitsForAWriterToCloseAndForQuiet)
{
    write("f");
    watch({"f"});
    const int fd = ::open(at("f").c_str(), O_WRONLY | O_TRUNC);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::write(fd, "half", 4), 4);
    EXPECT_EQ(look(t0), nothing);
    EXPECT_EQ(look(t0 + 10'000 * ms), nothing) << "half of it is there, however long";
    ASSERT_EQ(::write(fd, "full", 4), 4);
    ::close(fd);
    EXPECT_EQ(look(t0 + 10'000 * ms), nothing);
    EXPECT_EQ(watch_.next_ns(), t0 + 10'250 * ms);
    EXPECT_EQ(look(t0 + 10'249 * ms), nothing);
    EXPECT_EQ(look(t0 + 10'250 * ms), only("f"));
}

TEST_F(FileWatch, AnotherWriteStartsTheQuietAnew)
{
    write("f");
    watch({"f"});
    write("f", "one");
    EXPECT_EQ(look(t0), nothing);
    write("f", "two");
    EXPECT_EQ(look(t0 + 200 * ms), nothing);
    EXPECT_EQ(look(t0 + 300 * ms), nothing);
    EXPECT_EQ(look(t0 + 450 * ms), only("f"));
}

// As Kubernetes does it: FILE -> ..data/FILE, ..data -> ..FOLDER, and ..data is switched by renaming.
TEST_F(FileWatch, TellsASwitchedLinkOnTheWayAtOnceEachTime)
{
    const auto publish = [&](const std::string& version) {
        fs::create_directory(at("..v" + version));
        write("..v" + version + "/f", version);
        fs::create_directory_symlink("..v" + version, at("..data_tmp"));
        rename("..data_tmp", "..data");
    };
    publish("1");
    fs::create_symlink("..data/f", at("f"));
    watch({"f"});
    for (const std::string version : {"2", "3", "4"}) {
        EXPECT_EQ(look(t0), nothing);
        publish(version);
        EXPECT_EQ(look(t0), only("f")) << version;
        fs::remove_all(at("..v" + std::to_string(std::stoi(version) - 1)));
        EXPECT_EQ(look(t0), nothing) << "the old folder goes";
    }
}

TEST_F(FileWatch, FollowsALinkToTheFileItself)
{
    fs::create_directory(at("real"));
    write("real/f");
    fs::create_symlink(at("real/f"), at("f"));
    watch({"f"});
    write("real/f", "new");
    EXPECT_EQ(look(t0), nothing);
    EXPECT_EQ(look(t0 + 250 * ms), only("f"));
    write("g");
    fs::remove(at("f"));
    fs::create_symlink("g", at("f"));
    EXPECT_EQ(look(t0 + 300 * ms), only("f"));
    write("g", "newer");
    EXPECT_EQ(look(t0 + 400 * ms), nothing);
    EXPECT_EQ(look(t0 + 650 * ms), only("f")) << "the new way is watched";
}

TEST_F(FileWatch, KnowsHowEditorsSave)
{
    write("f");
    watch({"f"});
    std::int64_t now = t0;
    const auto expect_once = [&](const char* editor) {
        std::vector<std::string> seen;
        for (int i = 0; i < 10; ++i, now += 100 * ms)
            for (const std::string& file : look(now))
                seen.push_back(file);
        EXPECT_EQ(seen, only("f")) << editor;
    };
    rename("f", "f~");  // the old one becomes the backup, then it is written anew
    write("f", "vi");
    expect_once("vi");
    write(".f.swp");    // beside it, then renamed
    rename(".f.swp", "f");
    expect_once("sed -i");
    fs::remove(at("f"));
    write("f", "removed and written");
    expect_once("remove and write");
    write("t", "link");  // whole in its place at once
    fs::remove(at("f"));
    fs::create_hard_link(at("t"), at("f"));
    expect_once("ln");
}

TEST_F(FileWatch, TellsADeletionWhenNothingTookItsPlace)
{
    write("f");
    watch({"f"});
    fs::remove(at("f"));
    EXPECT_EQ(look(t0), nothing);
    EXPECT_EQ(look(t0 + 250 * ms), only("f"));
    write("f");
    EXPECT_EQ(look(t0 + 300 * ms), nothing);
    EXPECT_EQ(look(t0 + 550 * ms), only("f")) << "it is back";
}

TEST_F(FileWatch, TellsAFolderInItsPlace)
{
    write("f");
    watch({"f"});
    fs::remove(at("f"));
    fs::create_directory(at("f"));
    EXPECT_EQ(look(t0), only("f"));
}

TEST_F(FileWatch, TellsEachOfSeveralFilesApart)
{
    fs::create_directory(at("other"));
    write("f");
    write("g");
    write("other/f");
    watch({"f", "g", "other/f"});
    write("g", "new");
    EXPECT_EQ(look(t0 + 1), nothing);
    EXPECT_EQ(look(t0 + 250 * ms + 1), only("g"));
    write("other/f", "new");
    (void)look(t0 + 300 * ms);
    EXPECT_EQ(look(t0 + 550 * ms), only("other/f"));
    watch({"g"}, t0 + 600 * ms);
    write("f", "new");
    write("other/f", "newer");
    (void)look(t0 + 600 * ms);
    EXPECT_EQ(look(t0 + 900 * ms), nothing) << "no longer watched";
}

TEST_F(FileWatch, FindsTheFileWhenItsFolderComesBack)
{
    fs::create_directory(at("d"));
    write("d/f");
    watch({"d/f"});
    fs::remove_all(at("d"));
    (void)look(t0);
    (void)look(t0 + 250 * ms);
    fs::create_directory(at("d"));
    write("d/f", "new");
    std::vector<std::string> seen;
    for (std::int64_t now = t0 + 300 * ms; now < t0 + 5'000 * ms; now += 100 * ms)
        for (const std::string& file : look(now))
            seen.push_back(file);
    EXPECT_FALSE(seen.empty());
    EXPECT_LE(seen.size(), 2u);
    write("d/f", "newer");
    EXPECT_EQ(look(t0 + 6'000 * ms), nothing);
    EXPECT_EQ(look(t0 + 6'250 * ms), only("d/f"));
}

// Where no event comes, as on some network file systems.
TEST_F(FileWatch, LooksEachHalfMinute)
{
    write("f");
    watch({"f"});
    EXPECT_EQ(watch_.next_ns(), t0 + file_watch::look_ns);
    EXPECT_EQ(watch_.due(t0 + file_watch::look_ns), nothing) << "it is as it was";
    write("f", "longer");  // the event is not read
    EXPECT_EQ(watch_.due(t0 + 2 * file_watch::look_ns - 1), nothing);
    EXPECT_EQ(watch_.due(t0 + 2 * file_watch::look_ns), only("f"));
}

// truncate(2) by name: no writer closes it.
TEST_F(FileWatch, FindsAFileThatIsCutOff)
{
    write("f", "long");
    watch({"f"});
    fs::resize_file(at("f"), 2);
    EXPECT_EQ(look(t0), nothing);
    EXPECT_EQ(look(t0 + file_watch::look_ns), nothing) << "somebody may still be writing";
    EXPECT_EQ(look(t0 + 2 * file_watch::look_ns), only("f"));
}

TEST_F(FileWatch, LeavesNoDescriptorBehind)
{
    const auto open = [] {
        std::size_t n = 0;
        for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd"))
            ++n;
        return n;
    };
    write("f");
    const std::size_t before = open();
    for (int i = 0; i < 10; ++i) {
        file_watch w;
        w.watch({at("f")}, t0);
    }
    EXPECT_EQ(open(), before);
}

}  // namespace
}  // namespace shunt::config
