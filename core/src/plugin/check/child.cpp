#include <plugin/check/child.hpp>

#include <plugin/check/confine.hpp>
#include <plugin/image.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

extern char** environ;

namespace shunt::plugin::check {

namespace {

constexpr int report_fd = 3;
constexpr std::size_t text_at = 4096;
constexpr char end_of_field = '\x1f', end_of_record = '\x1e';

/// Of one file of the process: room for a private copy of the largest plugin. What it says lies in this machine's memory.
constexpr rlim_t most_written = rlim_t{320} << 20;

/// The beginning of the report file, mapped by the process, so that it tells where that was when it died. Who started the
/// process only reads: a mapped file that a plugin cuts would be its death too.
struct head {
    phase where;
    std::uint32_t reserved;
    char rule[64], strategy[80];
    std::uint32_t completed;
    std::uint64_t refused_bytes;
};
static_assert(sizeof(head) <= text_at);

class file_handle {
public:
    explicit file_handle(int fd = -1) noexcept : fd_(fd) {}
    ~file_handle()
    {
        if (fd_ >= 0)
            ::close(fd_);
    }
    file_handle(file_handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    file_handle& operator=(file_handle&&) = delete;
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
};

/// Above the numbers that the child's own files get, whatever this process has closed.
int file_in_memory(const char* name)
{
    const file_handle first(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    return first.get() < 0 ? -1 : ::fcntl(first.get(), F_DUPFD_CLOEXEC, report_fd + 1);
}

class mapped_head {
public:
    explicit mapped_head(int fd) : at_(::mmap(nullptr, text_at, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) {}
    ~mapped_head()
    {
        if (at_ != MAP_FAILED)
            ::munmap(at_, text_at);
    }
    mapped_head(const mapped_head&) = delete;
    mapped_head& operator=(const mapped_head&) = delete;
    [[nodiscard]] head* get() const noexcept { return at_ == MAP_FAILED ? nullptr : static_cast<head*>(at_); }

private:
    void* at_;
};

std::string read_from(int fd, std::size_t from, std::size_t most)
{
    std::string text(most, '\0');
    const ssize_t n = ::pread(fd, text.data(), most, static_cast<off_t>(from));
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
}

std::string last_of(int fd, std::size_t most)
{
    struct stat st {};
    if (::fstat(fd, &st) != 0)
        return {};
    const auto size = static_cast<std::size_t>(st.st_size);
    return read_from(fd, size > most ? size - most : 0, most);
}

std::string bounded(const char* text, std::size_t size) { return {text, ::strnlen(text, size)}; }

std::string signal_text(int number)
{
    const char* const name = ::sigdescr_np(number);
    return fmt::format("was killed by signal {} ({})", number, name != nullptr ? name : "unknown");
}

// Where SIGCHLD is ignored, or the program waits for all its children itself.
constexpr std::string_view unknown_end = "ended, and how is not known";

std::chrono::milliseconds processor_time(const rusage& used)
{
    const auto of = [](const timeval& t) { return std::chrono::milliseconds(t.tv_sec * 1000 + t.tv_usec / 1000); };
    return of(used.ru_utime) + of(used.ru_stime);
}

/// Waits for the end of `pid`, at most for `time` and until `stop_fd` can be read; kills it then.
void wait_for(pid_t pid, std::chrono::milliseconds time, int stop_fd, child_end& end)
{
    const file_handle process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))), timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
    itimerspec when{};
    when.it_value.tv_sec = time.count() / 1000;
    when.it_value.tv_nsec = time.count() % 1000 * 1'000'000 + 1;
    std::array<pollfd, 3> all{pollfd{process.get(), POLLIN, 0}, pollfd{timer.get(), POLLIN, 0}, pollfd{stop_fd, POLLIN, 0}};
    if (process.get() < 0 || timer.get() < 0 || ::timerfd_settime(timer.get(), 0, &when, nullptr) != 0)
        end.death = "cannot be waited for: " + std::generic_category().message(errno);
    else
        while (::poll(all.data(), all.size(), -1) < 0 && errno == EINTR) {
        }
    const bool ended = end.death.empty() && (all[0].revents & POLLIN) != 0;
    end.stopped = !ended && (all[2].revents & POLLIN) != 0;
    end.timed_out = !ended && !end.stopped && end.death.empty();
    ::kill(-pid, SIGKILL);  // what it started too
    if (!ended)
        ::kill(pid, SIGKILL);
    int status = 0;
    rusage used{};
    pid_t got = 0;
    while ((got = ::wait4(pid, &status, 0, &used)) < 0 && errno == EINTR) {
    }
    end.spent = end.timed_out ? time : got == pid ? processor_time(used) : std::chrono::milliseconds(0);
    if (end.timed_out)
        end.death = fmt::format("did not come back within {} ms", time.count());
    else if (got != pid)
        end.death = std::string(unknown_end);
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
        end.death = "was killed as it would have started another process, or sent it a signal";  // see confine.hpp
    else if (WIFSIGNALED(status))
        end.death = signal_text(WTERMSIG(status));
    else
        end.death = fmt::format("exited with {}", WEXITSTATUS(status));
}

void read_reports(int fd, child_end& end)
{
    const std::string text = read_from(fd, text_at, std::size_t{1} << 20);
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t stop = rest.find(end_of_record);
        if (stop == std::string_view::npos)
            break;
        std::string_view record = rest.substr(0, stop);
        rest.remove_prefix(stop + 1);
        std::array<std::string, 4> fields;
        for (std::string& f : fields) {
            const std::size_t at = std::min(record.find(end_of_field), record.size());
            f = record.substr(0, at);
            record.remove_prefix(std::min(at + 1, record.size()));
        }
        report r{fields[0], fields[1], {verdict::crashed, fields[3]}};
        for (const verdict v : {verdict::passed, verdict::warned, verdict::failed, verdict::skipped})
            if (fields[2] == to_string(v))
                r.what.result = v;
        end.reports.push_back(std::move(r));
    }
}

}  // namespace

std::string find_helper()
{
    const std::string plugins = bundled_folder();
    if (plugins.empty())
        return {};
    const std::string file = (std::filesystem::path(plugins).parent_path() / "shunt-preflight").string();
    return ::access(file.c_str(), X_OK) == 0 ? file : std::string();
}

child_end run_child(const std::string& helper, const errand& e, const bounds& b, std::string& trouble)
{
    child_end end;
    const auto failed_to = [&](std::string_view what, int number) {
        trouble = fmt::format("cannot {}: {}", what, std::generic_category().message(number));
        return end;
    };
    const file_handle results(file_in_memory("shunt-check")), said(file_in_memory("shunt-check-said"));
    if (results.get() < 0 || said.get() < 0 || ::ftruncate(results.get(), text_at) != 0 ||
        ::fcntl(results.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return failed_to("make a file in memory", errno);

    std::vector<std::string> words{helper, e.basics ? "basics" : "rules", e.file, std::to_string(e.seed), std::to_string(b.memory),
                                   std::string(strategy::to_string(e.kind)), e.strategy, fmt::format("{}", fmt::join(e.rules, ","))};
    words.insert(words.end(), e.settings.begin(), e.settings.end());
    std::vector<char*> argv;
    for (std::string& w : words)
        argv.push_back(w.data());
    argv.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, said.get(), 1);
    ::posix_spawn_file_actions_adddup2(&actions, said.get(), 2);
    ::posix_spawn_file_actions_adddup2(&actions, results.get(), report_fd);
    ::posix_spawn_file_actions_addclosefrom_np(&actions, report_fd + 1);
    sigset_t none, every;
    sigemptyset(&none);
    sigfillset(&every);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &every);
    pid_t pid = 0;
    const int number = ::posix_spawn(&pid, helper.c_str(), &actions, &attributes, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (number != 0)
        return failed_to("start " + strategy::in_quotes(helper), number);

    wait_for(pid, b.time, b.stop_fd, end);
    read_reports(results.get(), end);
    head top{};
    if (::pread(results.get(), &top, sizeof top, 0) != static_cast<ssize_t>(sizeof top))
        return failed_to("read a file in memory", errno);
    end.completed = top.completed == 1;
    if (!end.completed || end.death != "exited with 0")
        remove_left_folders();
    end.rule = bounded(top.rule, sizeof top.rule);
    end.strategy = bounded(top.strategy, sizeof top.strategy);
    end.where = std::min(top.where, phase::unload);
    end.refused_bytes = top.refused_bytes;
    end.said = last_of(said.get(), 2000);
    if (end.completed && (end.death == "exited with 0" || end.death == unknown_end))
        end.death.clear();
    return end;
}

// ---- the other side ----

std::string read_setting(std::string_view text, setting_table& out)
{
    const std::size_t at = text.find('=');
    setting value;
    if (at == std::string_view::npos || at == 0)
        return fmt::format("{} is no setting; it must be NAME=VALUE", strategy::in_quotes(text, '\''));
    if (!strategy::parse_value(text.substr(at + 1), value))
        return fmt::format("{} is no value; it must be one as TOML writes it, like 3, true, \"text\" or [\"a\", \"b\"]",
                           strategy::in_quotes(text.substr(at + 1), '\''));
    out.insert_or_assign(std::string(text.substr(0, at)), std::move(value));
    return {};
}

namespace {

class report_writer {
public:
    explicit report_writer(head& top) noexcept : top_(top) {}

    void begins(std::string_view rule, std::string_view strategy)
    {
        const auto put = [](char* to, std::size_t size, std::string_view text) {
            std::memset(to, 0, size);
            std::memcpy(to, text.data(), std::min(text.size(), size - 1));
        };
        put(top_.rule, sizeof top_.rule, rule);
        put(top_.strategy, sizeof top_.strategy, strategy);
    }

    void ended(std::string_view rule, std::string_view strategy, const outcome& o)
    {
        std::string record;
        for (const std::string_view field : {rule, strategy, to_string(o.result), std::string_view(o.detail)}) {
            for (const char c : field.substr(0, 4000))
                record += c == end_of_field || c == end_of_record ? ' ' : c;
            record += end_of_field;
        }
        record.back() = end_of_record;
        const ssize_t n = ::pwrite(report_fd, record.data(), record.size(), static_cast<off_t>(at_));
        at_ += n > 0 ? static_cast<std::size_t>(n) : 0;
    }

private:
    head& top_;
    std::size_t at_ = text_at;
};

}  // namespace

int child_main(int argc, const char* const* argv, instruments with)
{
    constexpr int first_setting = 8;
    struct stat st {};
    if (argc < first_setting || ::fstat(report_fd, &st) != 0 || st.st_size < static_cast<off_t>(text_at))
        return 2;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const rlimit written{most_written, most_written};
    ::setrlimit(RLIMIT_FSIZE, &written);
    std::uint64_t memory = 0;
    const std::string_view of_memory = argv[4], of_seed = argv[3];
    std::from_chars(of_memory.data(), of_memory.data() + of_memory.size(), memory);
    std::from_chars(of_seed.data(), of_seed.data() + of_seed.size(), with.seed);
    if (memory > 0 && !with.sanitized) {  // a sanitizer's shadow takes more addresses than any limit allows
        const rlimit most{memory, memory};
        ::setrlimit(RLIMIT_AS, &most);
    }
    const mapped_head top(report_fd);
    if (top.get() == nullptr)
        return 2;
    with.where = &top.get()->where;
    with.own_process = true;
    if (with.memory.note_refusal != nullptr)
        with.memory.note_refusal(&top.get()->refused_bytes);
    confine_this_process(with.sanitized ? misuse::fails : misuse::kills);  // a sanitizer looks for leaks from a process of its own
    if (!with.sanitized)  // whose reports name functions by the file
        keep_no_copies();

    report_writer out(*top.get());
    out.begins("", "");
    subject s(argv[2], with);
    setting_table given;
    for (int i = first_setting; i < argc; ++i)
        (void)read_setting(argv[i], given);  // was read by who started us
    s.set(given);
    const auto run = [&](const rule& r, std::string_view strategy) {
        out.begins(r.name, strategy);
        out.ended(r.name, strategy, run_rule(r, s));
    };
    if (std::string_view(argv[1]) == "basics") {
        for (const rule& r : rules())
            if (r.basic && (r.of == scope::file || r.of == scope::code))
                run(r, "");
        for (const known_strategy& known : s.facts().strategies) {
            s.choose(known.kind, known.name);
            for (const rule& r : rules()) {
                const bool fits = r.of == scope::strategy ||
                                  r.of == (known.kind == strategy::strategy_kind::selector ? scope::selector : scope::fault);
                if (r.basic && fits)
                    run(r, known.name);
            }
        }
    } else {
        s.choose(std::string_view(argv[5]) == "fault" ? strategy::strategy_kind::fault : strategy::strategy_kind::selector, argv[6]);
        for (std::string_view rest = argv[7]; !rest.empty();) {
            const std::size_t end = std::min(rest.find(','), rest.size());
            if (const rule* const r = find_rule(rest.substr(0, end)))
                run(*r, argv[6]);
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    top.get()->where = phase::unload;
    top.get()->completed = 1;
    return 0;
}

}  // namespace shunt::plugin::check
