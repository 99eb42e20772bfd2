#include <plugin/image.hpp>

#include <plugin/refuse.hpp>

#include <boost/dll/shared_library.hpp>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <cxxabi.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

namespace shunt::plugin {

namespace {

namespace fs = std::filesystem;
using strategy::in_quotes;

constexpr std::size_t largest_file = 256 * 1024 * 1024;

class descriptor {
public:
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    ~descriptor()
    {
        if (fd_ >= 0)
            ::close(fd_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
};

std::string error_text(int number) { return std::generic_category().message(number); }

// Whoever owns the program can change what it does anyway, so its plugins may be theirs too.
std::optional<uid_t> owner_of_program()
{
    struct stat st {};
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&host_handshake), &info) != 0 && info.dli_fname != nullptr &&
        ::stat(info.dli_fname, &st) == 0)
        return st.st_uid;
    if (::stat("/proc/self/exe", &st) == 0)
        return st.st_uid;
    return std::nullopt;
}

bool is_trusted(uid_t owner)
{
    static const std::optional<uid_t> program = owner_of_program();
    return owner == 0 || owner == ::geteuid() || owner == program;
}

// A user's own group, of the same name and with nobody else in it, as many systems make it: with the umask that comes
// with it every file one builds can be written by that group.
bool is_private_group(gid_t group, uid_t owner)
{
    if (owner == 0 || owner != ::geteuid())
        return false;
    std::array<char, 16384> user_text, group_text;
    passwd user{}, *found_user = nullptr;
    ::group g{}, *found_group = nullptr;
    if (::getpwuid_r(owner, &user, user_text.data(), user_text.size(), &found_user) != 0 || found_user == nullptr ||
        ::getgrgid_r(group, &g, group_text.data(), group_text.size(), &found_group) != 0 || found_group == nullptr)
        return false;
    if (user.pw_gid != group || std::strcmp(user.pw_name, g.gr_name) != 0)
        return false;
    for (char** member = g.gr_mem; *member != nullptr; ++member)
        if (std::strcmp(*member, user.pw_name) != 0)
            return false;
    return true;
}

// Why others than root, this user and the program's owner could change a file or folder; empty: they cannot.
// A sticky folder counts too: others may put files into it.
std::string who_else_writes(const struct stat& st)
{
    if (!is_trusted(st.st_uid))
        return fmt::format("belongs to user {}", st.st_uid);
    if ((st.st_mode & S_IWOTH) != 0)
        return fmt::format("can be written by everyone (mode {:04o})", st.st_mode & 07777u);
    if ((st.st_mode & S_IWGRP) != 0 && !is_private_group(st.st_gid, st.st_uid))
        return fmt::format("can be written by group {} (mode {:04o})", st.st_gid, st.st_mode & 07777u);
    return {};
}

load_error check_writers(const std::string& file, const std::string& real, const struct stat& st)
{
    constexpr std::string_view right = "it must belong to root, to this user or to the program's owner, and mode go-w";
    if (const std::string why = who_else_writes(st); !why.empty())
        return refuse(file, refusal::writable_by_others, "the file " + why, right);
    const std::string folder = fs::path(real).parent_path().string();
    struct stat of_folder {};
    if (::stat(folder.c_str(), &of_folder) != 0)
        return refuse(file, refusal::not_found, fmt::format("its folder {}: {}", in_quotes(folder), error_text(errno)),
                      "it must be there");
    if (const std::string why = who_else_writes(of_folder); !why.empty())
        return refuse(file, refusal::writable_by_others, fmt::format("its folder {} {}", in_quotes(folder), why), right);
    return {};
}

std::string sha256_of(std::string_view bytes)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1)
        return {};
    std::string hex;
    for (unsigned int i = 0; i < length; ++i)
        hex += fmt::format("{:02x}", digest[i]);
    return hex;
}

// ---- the private copy ----

// Where private copies may lie, first choice first.
const char* place_of_copies(std::string_view variable)
{
    return variable.empty() ? "/tmp" : std::getenv(variable.data());
}
constexpr std::array variables_of_places{"XDG_RUNTIME_DIR", "TMPDIR", ""};

// Folders of processes that were killed. One of a living process in another pid namespace may be taken for such:
// that process has mapped its files and goes on.
void remove_orphans(const std::string& in)
{
    std::error_code ignored;
    for (fs::directory_iterator i(in, fs::directory_options::skip_permission_denied, ignored), end; i != end;
         i.increment(ignored)) {
        const std::string name = i->path().filename().string();
        struct stat st {};
        pid_t pid = 0;
        if (!name.starts_with("shunt-") || name.size() < 14)
            continue;
        const auto [rest, failure] = std::from_chars(name.data() + 6, name.data() + name.size(), pid);
        if (failure != std::errc{} || pid <= 0 || *rest != '-' || name.data() + name.size() - rest != 7)
            continue;
        if (::lstat(i->path().c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == ::geteuid() &&
            ::kill(pid, 0) != 0 && errno == ESRCH) {
            std::error_code not_ours;
            fs::remove_all(i->path(), not_ours);
        }
    }
}

}  // namespace

load_error make_private_folder(const std::string& file, std::string& path)
{
    std::string tried;
    for (const char* const variable : variables_of_places) {
        const char* const value = place_of_copies(variable);
        if (value == nullptr || *value != '/')
            continue;
        struct statvfs system {};
        if (::statvfs(value, &system) != 0 || (system.f_flag & ST_NOEXEC) != 0) {
            tried += fmt::format(" {} (missing or noexec)", in_quotes(value));
            continue;
        }
        remove_orphans(value);
        std::string name = fmt::format("{}/shunt-{}-XXXXXX", value, ::getpid());
        if (::mkdtemp(name.data()) != nullptr) {  // mode 0700
            path = name;
            return {};
        }
        tried += fmt::format(" {} ({})", in_quotes(value), error_text(errno));
    }
    return refuse(file, refusal::copy_failed, "no folder takes a private copy: tried" + tried,
                  "set TMPDIR to a folder that can be written and is not mounted noexec");
}

namespace {

// A folder of this process that only this user can enter. Each copy gets a name never used before: the loader knows
// libraries by name, and gives old code for an old name whatever lies there by now. Copies stay until the process ends,
// for debuggers and profilers, and because overwriting or cutting a mapped file would be fatal.
class private_folder {
public:
    load_error copy(const file_content& content, std::string& path)
    {
        if (pid_ != ::getpid() || ::access(path_.c_str(), W_OK | X_OK) != 0)  // after fork(): not ours
            if (load_error e = make_private_folder(content.file, path_))
                return e;
        pid_ = ::getpid();
        path = fmt::format("{}/{}-{}.so", path_, ++copies_, content.sha256.substr(0, 12));
        const descriptor out(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        const auto failed = [&] {
            const int number = errno;
            ::unlink(path.c_str());
            return refuse(content.file, refusal::copy_failed, fmt::format("no private copy at {}: {}", in_quotes(path), error_text(number)),
                          "it needs room there; TMPDIR says where else");
        };
        if (out.get() < 0)
            return failed();
        for (std::string_view rest = content.bytes; !rest.empty();) {
            const ssize_t n = ::write(out.get(), rest.data(), rest.size());
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                return failed();
            rest.remove_prefix(static_cast<std::size_t>(n));
        }
        return ::fchmod(out.get(), 0500) == 0 ? load_error{} : failed();
    }

    void remove() noexcept
    {
        if (path_.empty() || pid_ != ::getpid())
            return;
        std::error_code ignored;
        fs::remove_all(path_, ignored);
        path_.clear();
    }

private:
    std::string path_;
    pid_t pid_ = 0;
    std::uint64_t copies_ = 0;
};

}  // namespace

class image {
public:
    boost::dll::shared_library library;
};

namespace {

// Never destroyed: images outlive every static object that may still call into them.
struct process_images {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const image>> by_sha256;
    std::atomic<std::size_t> count{0};  // of them: to be read while one is loaded
    private_folder folder;
    bool keeps_copies = true;
};

process_images& images()
{
    static process_images* const all = [] {
        auto* const made = new process_images;
        std::atexit([] { images().folder.remove(); });
        return made;
    }();
    return *all;
}

std::string demangled(const std::string& symbol)
{
    int status = 0;
    char* const text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    if (text == nullptr)
        return symbol;
    std::string result = text;
    std::free(text);
    return result;
}

// The loader's words, told apart: it says what is wrong only in text.
load_error explain(const file_content& content, const std::string& copy, std::string text)
{
    const auto after = [&](std::string_view mark) -> std::optional<std::string> {
        const std::size_t at = text.find(mark);
        if (at == std::string::npos)
            return std::nullopt;
        return text.substr(at + mark.size());
    };
    for (std::size_t at = text.find(copy); at != std::string::npos; at = text.find(copy))
        text.replace(at, copy.size(), content.file);
    if (const auto symbol = after("undefined symbol: ")) {
        const std::string name = symbol->substr(0, symbol->find_first_of(", \t("));
        return refuse(content.file, refusal::undefined_symbol, fmt::format("calls {}, which nothing defines", in_quotes(demangled(name))),
                      "link what defines it into the plugin; -Wl,-z,defs finds this when linking");
    }
    if (const auto version = after("version `"))
        return refuse(content.file, refusal::missing_version,
                      fmt::format("needs the version {} of {}, which this system lacks", in_quotes(version->substr(0, version->find('\''))),
                                  in_quotes(text.substr(0, text.find(": ")))),
                      "build it on a system no newer than this one");
    if (after("cannot open shared object file"))
        return refuse(content.file, refusal::missing_dependency,
                      fmt::format("needs {}, which is not on this system", in_quotes(text.substr(0, text.find(": ")))),
                      "install it where the loader looks, or link it into the plugin");
    if (after("static TLS block"))
        return refuse(content.file, refusal::static_tls, "needs more thread-local room of the static model than is left: " + text,
                      "compile it without -ftls-model=initial-exec");
    return refuse(content.file, refusal::load_failed, "the loader says: " + text, "see its words");
}

}  // namespace

load_error read_file(const std::string& file, path_rules rules, file_content& out)
{
    out = {};
    out.file = file;
    char* const real = ::realpath(file.c_str(), nullptr);
    if (real == nullptr)
        return refuse(file, refusal::not_found, error_text(errno), "name a file that is there and can be read");
    out.real = real;
    std::free(real);
    // Links are resolved: one that appears only now is somebody's doing. Not blocking, for what is no file.
    const descriptor in(::open(out.real.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat st {};
    if (in.get() < 0 || ::fstat(in.get(), &st) != 0)
        return refuse(file, refusal::not_found, error_text(errno), "name a file that is there and can be read");
    if (!S_ISREG(st.st_mode))
        return refuse(file, refusal::not_a_file, S_ISDIR(st.st_mode) ? "it is a folder" : "it is no regular file", "name a file");
    if (rules == path_rules::strict)
        if (load_error e = check_writers(file, out.real, st))
            return e;
    if (static_cast<std::uint64_t>(st.st_size) > largest_file)
        return refuse(file, refusal::not_a_file, fmt::format("it has {} bytes", st.st_size),
                      fmt::format("a plugin has at most {}", largest_file));
    out.bytes.resize(static_cast<std::size_t>(st.st_size));
    std::size_t have = 0;
    for (;;) {
        if (have == out.bytes.size() && have <= largest_file)
            out.bytes.resize(have + 4096);  // it may be growing
        const ssize_t n = ::read(in.get(), out.bytes.data() + have, out.bytes.size() - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return refuse(file, refusal::not_found, "cannot be read: " + error_text(errno), "name a file that can be read");
        if (n == 0)
            break;
        have += static_cast<std::size_t>(n);
    }
    out.bytes.resize(have);
    out.sha256 = sha256_of(out.bytes);
    return {};
}

load_error check_pin(const file_content& content, const std::string& pin)
{
    if (pin.empty())
        return {};
    std::string wanted = pin;
    std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (wanted.size() != 64 || wanted.find_first_not_of("0123456789abcdef") != std::string::npos)
        return refuse(content.file, refusal::sha256_differs, fmt::format("is pinned to {}, which is no sha256", in_quotes(pin)),
                      "a sha256 is 64 hex digits, as `sha256sum` prints it");
    if (wanted != content.sha256)
        return refuse(content.file, refusal::sha256_differs, fmt::format("its sha256 is {}, pinned is {}", content.sha256, wanted),
                      "find out why it changed before you pin the new value");
    return {};
}

load_error inspect_file(const std::string& file, elf_facts& out)
{
    out = {};
    file_content content;
    if (load_error e = read_file(file, path_rules::readable, content))
        return e;
    return inspect_bytes(file, content.bytes, out);
}

load_error load_image(const file_content& content, std::size_t max_images, std::shared_ptr<const image>& out)
{
    process_images& all = images();
    const std::lock_guard lock(all.mutex);
    if (const auto known = all.by_sha256.find(content.sha256); known != all.by_sha256.end()) {
        out = known->second;
        return {};
    }
    if (all.by_sha256.size() >= max_images)
        return refuse(content.file, refusal::too_many_images,
                      fmt::format("{} plugin files are loaded already, and none is unloaded while the program runs", all.by_sha256.size()),
                      "restart the program, or raise max_images under [plugins]");
    std::string copy;
    if (load_error e = all.folder.copy(content, copy))
        return e;
    const auto made = std::make_shared<image>();
    boost::dll::fs::error_code failure;
    namespace mode = boost::dll::load_mode;
    made->library.load(copy, mode::rtld_now | mode::rtld_local | static_cast<mode::type>(RTLD_NODELETE), failure);
    if (failure) {
        const char* const text = ::dlerror();  // the error code itself says nothing
        ::unlink(copy.c_str());
        return explain(content, copy, text != nullptr ? text : failure.message());
    }
    if (!all.keeps_copies)
        all.folder.remove();
    out = all.by_sha256.emplace(content.sha256, made).first->second;
    ++all.count;
    return {};
}

std::size_t loaded_images() { return images().count; }

void keep_no_copies() noexcept
{
    process_images& all = images();
    const std::lock_guard lock(all.mutex);
    all.keeps_copies = false;
}

void remove_left_folders()
{
    for (const char* const variable : variables_of_places)
        if (const char* const value = place_of_copies(variable); value != nullptr && *value == '/')
            remove_orphans(value);
}

load_error entry_of(const image& loaded, const std::string& file, shunt_entry_fn& out)
{
    if (!loaded.library.has(SHUNT_ENTRY_NAME))
        return refuse(file, refusal::missing_entry, fmt::format("does not export {}", SHUNT_ENTRY_NAME),
                      "name the entry exactly so, in C or as extern \"C\", visible");
    out = &loaded.library.get<std::remove_pointer_t<shunt_entry_fn>>(SHUNT_ENTRY_NAME);
    // The look-up also searches the libraries that the plugin needs.
    Dl_info where{};
    link_map *of_entry = nullptr, *of_image = nullptr;
    if (::dladdr1(reinterpret_cast<const void*>(out), &where, reinterpret_cast<void**>(&of_entry), RTLD_DL_LINKMAP) == 0 ||
        ::dlinfo(loaded.library.native(), RTLD_DI_LINKMAP, &of_image) != 0 || of_entry != of_image)
        return refuse(file, refusal::entry_elsewhere,
                      fmt::format("its entry lies in {}", in_quotes(where.dli_fname != nullptr ? where.dli_fname : "another file")),
                      "the entry must be in the plugin's own file");
    return {};
}

shunt_handshake host_handshake() noexcept
{
    static constexpr std::string_view version = SHUNT_VERSION;
    return {sizeof(shunt_handshake), SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR, {version.data(), version.size()}};
}

}  // namespace shunt::plugin
