// What a strategy does to the process it is a guest in: nothing. Seen from outside, while it lives a whole life.

#include <plugin/check/situation.hpp>
#include <plugin/image.hpp>

#include <fmt/format.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

extern char** environ;

namespace shunt::plugin::check {

namespace {

namespace fs = std::filesystem;
using strategy::strategy_kind;

/// A whole life: made, used in every way that is offered, taken down.
void live(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    if (s.chosen().kind == strategy_kind::selector) {
        const shunt_selector_class& c = s.selector();
        route r(route::even(4, 3));
        r.isolate(2);
        selector_instance i(s, h, 1);
        for (std::uint64_t n = 0; n < 200; ++n) {
            const std::string key = fmt::format("order-{}", n);
            const std::vector<std::uint32_t> tried = n % 5 == 0 ? std::vector<std::uint32_t>{0, 1} : std::vector<std::uint32_t>{};
            (void)i.select(r, {.key = key, .has_key = n % 2 == 0, .tried = tried, .random = d.next(), .properties = nth_properties(n)});
        }
        if (c.extension != nullptr)
            (void)s.during(phase::wants, [&] { return c.extension(i.raw(), {"shunt.check/1", 13}); });
        i.end();
    } else {
        const shunt_fault_class& c = s.fault();
        const route r(route::even(4, 1));
        fault_instance f(s, h);
        (void)isolate_by_failures(f, h, r, 1);
        (void)f.judge(r, h.now + 1'000'000'000);
        (void)f.feed({.broker_id = 1001, .at_ns = h.now, .kind = SHUNT_FB_LEFT});
        if (c.extension != nullptr)
            (void)s.during(phase::wants, [&] { return c.extension(f.raw(), {"shunt.check/1", 13}); });
        f.end();
    }
}

void needs_own_process(const subject& s)
{
    if (!s.with().own_process)
        throw skipped("found out only in a process of its own");
}

outcome exceptions_stay(subject& s)
{
    live(s);  // what is thrown out of a call fails it
    return {};
}

outcome out_of_memory(subject& s)
{
    const auto fail_after = s.with().memory.fail_after;
    if (fail_after == nullptr)
        throw skipped("allocations can be made to fail only in a process of its own, without sanitizers");
    (void)s.settings();
    live(s);
    bench_host h(s.seed());
    const shunt_instance instance{sizeof instance, 0};
    const shunt_config& config = s.settings().config();
    const auto create_with = [&](std::int64_t n, const auto& c, auto* made) {
        // Nothing in here may allocate but the plugin: not even what the check does when it is left by an exception.
        return s.during(phase::create, [&] {
            struct back_to_normal {
                void (*set)(std::int64_t);
                ~back_to_normal() { set(-1); }
            } const ends{fail_after};
            fail_after(n);
            const shunt_status status = c.create(&h.table(), &config, &instance, &made);
            fail_after(-1);
            if (status == SHUNT_OK && made != nullptr)
                c.destroy(made);
            return status;
        });
    };
    for (std::int64_t n = 0; n < 64; ++n) {
        (void)bench_host::take_error();
        const shunt_status status = s.chosen().kind == strategy_kind::selector ? create_with(n, s.selector(), static_cast<shunt_selector*>(nullptr))
                                                                               : create_with(n, s.fault(), static_cast<shunt_fault*>(nullptr));
        if (status == SHUNT_OK)
            return {};
        if (status > 0)
            return failed(fmt::format("create answered status {} without memory; it must be an error below 0", status));
        if (bench_host::take_error().empty())
            return failed(fmt::format("create answered status {} without memory, and no text through set_error", status));
    }
    return {};
}

// ---- the process ----

outcome silent(subject& s)
{
    needs_own_process(s);
    const auto written = [] {
        off_t sum = 0;
        for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
            struct stat st {};
            if (::fstat(fd, &st) == 0)
                sum += st.st_size;
        }
        return sum;
    };
    const off_t before = written();
    live(s);
    std::fflush(nullptr);
    const off_t bytes = (written() - before) / 2;  // both are one file here
    return bytes == 0 ? outcome{} : failed(fmt::format("wrote {} bytes to stdout or stderr", bytes));
}

std::set<std::string> entries_of(const char* folder)
{
    std::set<std::string> all;
    std::error_code ignored;
    for (fs::directory_iterator i(folder, ignored), end; i != end; i.increment(ignored))
        all.insert(i->path().filename().string());
    return all;
}

outcome no_threads(subject& s)
{
    needs_own_process(s);
    const auto before = entries_of("/proc/self/task").size();  // nothing of it has run yet
    live(s);
    const auto after = entries_of("/proc/self/task").size();
    return after <= before ? outcome{} : failed(fmt::format("{} threads are left where {} were", after, before));
}

outcome no_descriptors(subject& s)
{
    needs_own_process(s);
    (void)s.chosen();
    const auto before = entries_of("/proc/self/fd");
    live(s);
    const auto after = entries_of("/proc/self/fd");
    return after.size() <= before.size() ? outcome{} : failed(fmt::format("{} files or sockets are left open", after.size() - before.size()));
}

outcome no_signals(subject& s)
{
    needs_own_process(s);
    const auto handlers = [] {
        std::string all;
        for (int n = 1; n < 65; ++n) {
            struct sigaction one {};
            if (::sigaction(n, nullptr, &one) == 0)
                all.append(reinterpret_cast<const char*>(&one.sa_handler), sizeof one.sa_handler);
        }
        sigset_t mask;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        for (int n = 1; n < 65; ++n)
            all += sigismember(&mask, n) == 1 ? 'b' : '-';
        return all;
    };
    const std::string before = handlers();  // before it is loaded, too
    live(s);
    return handlers() == before ? outcome{} : failed("a signal's handler or the signal mask is another one than before");
}

outcome no_locale(subject& s)
{
    needs_own_process(s);
    const auto now = [] { return fmt::format("{} {}", std::setlocale(LC_ALL, nullptr), std::fegetround()); };
    const std::string before = now();
    live(s);
    const std::string after = now();
    return after == before ? outcome{} : failed(fmt::format("locale and rounding were {}, and are {}", before, after));
}

outcome no_environment(subject& s)
{
    needs_own_process(s);
    const auto now = [] {
        std::string all;
        for (char** at = environ; at != nullptr && *at != nullptr; ++at)
            all += std::string(*at) + '\n';
        std::error_code ignored;
        all += fs::current_path(ignored).string();
        const mode_t mask = ::umask(077);
        ::umask(mask);
        return all + fmt::format(" {:o}", mask);
    };
    const std::string before = now();
    live(s);
    return now() == before ? outcome{} : failed("environment, current folder or umask are others than before");
}

/// A folder for one check.
class scratch_folder {
public:
    explicit scratch_folder(const subject& s)
    {
        if (const load_error e = make_private_folder(s.file(), path_))
            throw skipped(e.text);
    }
    ~scratch_folder()
    {
        std::error_code ignored;
        fs::current_path("/", ignored);
        fs::remove_all(path_, ignored);
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

outcome no_files(subject& s)
{
    needs_own_process(s);
    (void)s.settings();  // its private copy is made
    const scratch_folder folder(s);
    fs::current_path(folder.path());
    live(s);
    const auto left = entries_of(".");
    return left.empty() ? outcome{} : failed(fmt::format("made {} in the current folder", strategy::in_quotes(*left.begin())));
}

outcome unload(subject& s)
{
    needs_own_process(s);
    if (const load_error& e = s.load())
        throw skipped("it cannot be loaded: " + e.text);
    // A copy of its own under another name: the one that is loaded stays for good.
    const scratch_folder folder(s);
    const std::string copy = folder.path() + "/unload.so";
    const int fd = ::open(copy.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        throw skipped(fmt::format("no copy of it: {}", std::generic_category().message(errno)));
    const std::string& bytes = s.content().bytes;
    const bool written = ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    ::fchmod(fd, 0500);
    ::close(fd);
    if (!written)
        throw skipped("no copy of it: no room");

    (void)s.settings();
    bool still_there = false;
    for (int round = 0; round < 3; ++round) {
        void* const handle = s.during(phase::load, [&] { return ::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL); });
        if (handle == nullptr)
            return failed(fmt::format("cannot be loaded again after it was unloaded: {}", ::dlerror()));
        const auto entry = reinterpret_cast<shunt_entry_fn>(::dlsym(handle, SHUNT_ENTRY_NAME));
        const shunt_handshake today = host_handshake();
        const shunt_plugin* const p = entry == nullptr ? nullptr : s.during(phase::entry, [&] { return entry(&today); });
        if (p == nullptr)
            return failed("its entry answers once, and not when it is loaded again");
        // One thread uses it and ends after it is gone: nothing of it may be left to run then.
        std::atomic<bool> used{false}, gone{false};
        std::thread user([&] {
            bench_host h(s.seed());
            const shunt_instance instance{sizeof instance, 0};
            const shunt_config& config = s.settings().config();
            const route r(route::even(3, 2));
            for (std::uint32_t k = 0; k < p->n_selectors; ++k) {
                const shunt_selector_class& c = *p->selectors[k];
                shunt_selector* made = nullptr;
                if (strategy::in_quotes({c.name.ptr, c.name.len}) != strategy::in_quotes(s.chosen().name) ||
                    s.chosen().kind != strategy_kind::selector || c.create(&h.table(), &config, &instance, &made) != SHUNT_OK)
                    continue;
                const shunt_msg m{.struct_size = sizeof m, .flags = 0, .key = {}, .hash64 = 0, .java_hash = 0, .attempt = 1, .random = 1, .now_ns = 1,
                                  .tried = nullptr, .n_tried = 0, .body_len = 0, .props = nullptr, .n_props = 0, .reserved0 = 0};
                shunt_pick pick{SHUNT_NONE, 0};
                (void)c.select(made, &r.view(), &m, &pick);
                c.destroy(made);
            }
            for (std::uint32_t k = 0; k < p->n_faults; ++k) {
                const shunt_fault_class& c = *p->faults[k];
                shunt_fault* made = nullptr;
                if (strategy::in_quotes({c.name.ptr, c.name.len}) != strategy::in_quotes(s.chosen().name) ||
                    s.chosen().kind != strategy_kind::fault || c.create(&h.table(), &config, &instance, &made) != SHUNT_OK)
                    continue;
                std::uint64_t available = 0, reachable = 0;
                std::int64_t until = 0;
                (void)c.evaluate(made, r.brokers(), r.stride(), r.n_brokers(), h.now, &available, &reachable, &until);
                c.destroy(made);
            }
            used = true;
            used.notify_one();
            gone.wait(false);
        });
        used.wait(false);
        s.during(phase::unload, [&] {
            ::dlclose(handle);
            gone = true;
            gone.notify_one();
            user.join();
        });
        if (void* const again = ::dlopen(copy.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
            ::dlclose(again);
            still_there = true;
        }
    }
    return still_there ? warned("stays loaded after dlclose: it is linked with -z nodelete, or has unique symbols or thread-local destructors") : outcome{};
}

/// Asked or told the same again and again, for hours as it sees it, so that what it keeps for a while is forgotten meanwhile.
outcome no_leaks(subject& s)
{
    if (s.with().memory.live_bytes == nullptr)
        throw skipped("memory is measured only in a process of its own");
    constexpr std::int64_t pause = 10'000'000'000, too_long = 1'000'000'000;
    constexpr std::int64_t bytes_each = 2;  // what fewer come to is not worth a word
    bench_host h(s.seed());
    dice d(s.seed());
    const route r(route::even(4, 3));
    std::optional<selector_instance> selector;
    std::optional<fault_instance> fault;
    if (s.chosen().kind == strategy_kind::selector)
        selector.emplace(s, h);
    else
        fault.emplace(s, h);
    const auto once = [&](std::int64_t n) {
        h.now += pause;
        if (selector) {
            const std::string key = fmt::format("order-{}", n % 64);
            const bool has_key = n % 2 == 0;
            (void)selector->ask(r, {.key = key, .has_key = has_key, .random = d.next(), .now_ns = h.now,
                                    .properties = nth_properties(static_cast<std::uint64_t>(n))});
        } else {
            (void)fault->feed({.broker_id = 1000 + static_cast<std::uint32_t>(n % 4), .at_ns = h.now,
                               .result = n % 7 == 0 ? SHUNT_FB_FAILED : SHUNT_FB_GOOD, .code = 2});
            (void)fault->judge(r, h.now);
        }
    };
    const std::int64_t begin = s.with().clock_ns != nullptr ? s.with().clock_ns() : 0;
    std::int64_t before = 0, n = 0, kept = 0;
    for (const std::int64_t times : {300, 900, 2700}) {  // what grows by doubling does so in each
        for (std::int64_t i = 0; i < times; ++i, ++n) {
            once(n);
            if (s.with().clock_ns != nullptr && s.with().clock_ns() - begin > too_long)
                throw skipped("it takes too long to be asked thousands of times");
        }
        const std::int64_t now = s.with().memory.live_bytes();
        kept = now - before;
        if (n > times && kept < times * bytes_each)
            return {};
        before = now;
    }
    return failed(fmt::format("keeps {} bytes more with each {}", kept / 2700, selector ? "decision" : "outcome it is told"));
}

outcome quick(subject& s)
{
    constexpr std::int64_t bound = 100'000'000;
    if (s.with().clock_ns == nullptr)
        throw skipped("there is no clock");
    bench_host h(s.seed());
    // The best of several, so that a machine that stood still is not held against it.
    std::int64_t best = INT64_MAX;
    for (int i = 0; i < 5; ++i) {
        const std::int64_t before = s.with().clock_ns();
        (void)try_create(s, h, s.settings().config());
        best = std::min(best, s.with().clock_ns() - before);
    }
    return best < bound ? outcome{} : warned(fmt::format("making an instance takes {} ms; the first message of each sender thread waits for it", best / 1'000'000));
}

constexpr std::array all{
    rule{"exceptions-stay", scope::strategy, false, "no exception leaves it",
         "A host cannot catch what a plugin with a C++ run time of its own throws: the program ends. SHUNT_PLUGIN stops exceptions; tables filled by hand "
         "catch around each function, and answer SHUNT_E_EXCEPTION with a text.",
         exceptions_stay},
    rule{"out-of-memory", scope::strategy, false, "create without memory answers an error and a text",
         "The check lets each allocation in create fail once. Ends the plugin the process then, or throws, a full machine loses messages that were fine.",
         out_of_memory},
    rule{"quick", scope::strategy, false, "an instance is made in less than 100 ms",
         "Instances are made on the way of a thread's first message. Work out the rest when the route is known.", quick, true},
    rule{"silent", scope::strategy, false, "it writes nothing to stdout and stderr",
         "They belong to the program, which may parse them. Log through the host.", silent},
    rule{"no-threads", scope::strategy, false, "it leaves no thread behind", "See imports-threads: a thread outlives the swap to the next version.", no_threads},
    rule{"no-descriptors", scope::strategy, false, "it leaves no file or socket open",
         "Each swap would leave more, until the program can open no connection.", no_descriptors},
    rule{"no-signals", scope::strategy, false, "it changes no signal's handler and no signal mask",
         "The program's own handlers would be lost, and its threads deaf.", no_signals},
    rule{"no-locale", scope::strategy, false, "it leaves locale and rounding as they were",
         "They are the whole program's: numbers are read and written by them everywhere.", no_locale},
    rule{"no-environment", scope::strategy, false, "it leaves environment, folder and umask as they were",
         "They are the whole program's, and changing them races with other threads.", no_environment},
    rule{"no-files", scope::strategy, false, "it makes no files",
         "Nobody looks for them, and a full disk would hold up sends.", no_files},
    rule{"no-leaks", scope::strategy, true, "it does not take more memory with each decision or outcome",
         "A few bytes at each send are gigabytes in a week. Free what was allocated, and bound what is remembered.", no_leaks},
    rule{"unload", scope::strategy, false, "it can be unloaded and loaded again",
         "Hosts keep plugins loaded unless told otherwise; a test bench may not. What is left to run after (thread-local destructors, atexit of others) "
         "jumps into nothing.",
         unload},
};

}  // namespace

std::span<const rule> manners_rules() { return all; }

}  // namespace shunt::plugin::check
