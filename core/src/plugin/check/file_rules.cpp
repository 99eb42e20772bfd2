// What can be told from the file's bytes, without running any of its code.

#include <plugin/check/subject.hpp>

#include <plugin/refuse.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <vector>

namespace shunt::plugin::check {

namespace {

using strategy::in_quotes;

/// The words of a refusal, without the file's name in front.
std::string words_of(const load_error& e)
{
    const std::size_t at = e.text.find("\": ");
    return at == std::string::npos ? e.text : e.text.substr(at + 3);
}

/// At which of its steps the static check gives a reason.
int step_of(refusal why) noexcept
{
    switch (why) {
    case refusal::no_note:
    case refusal::bad_note:
    case refusal::abi_major:
    case refusal::host_too_old: return 1;
    case refusal::exec_stack:
    case refusal::writable_code: return 2;
    case refusal::text_relocations:
    case refusal::static_tls: return 3;
    case refusal::missing_entry: return 4;
    case refusal::sanitizer: return 5;
    case refusal::missing_dependency: return 6;
    default: return 0;
    }
}

/// Failed if the static check refused for one of these reasons; passed if it came past their step.
outcome refused_for(const subject& s, std::initializer_list<refusal> mine)
{
    if (s.unreadable())
        throw skipped(words_of(s.unreadable()));
    const load_error& e = s.refused();
    if (!e)
        return {};
    if (std::find(mine.begin(), mine.end(), e.why) != mine.end())
        return failed(words_of(e));
    return step_of(e.why) > step_of(*mine.begin()) ? outcome{} : skipped("not looked at: " + words_of(e));
}

outcome elf_file(subject& s)
{
    return refused_for(s, {refusal::damaged, refusal::not_elf, refusal::truncated, refusal::other_machine, refusal::not_shared_object});
}
outcome note(subject& s) { return refused_for(s, {refusal::host_too_old, refusal::no_note, refusal::bad_note, refusal::abi_major}); }
outcome executable_stack(subject& s) { return refused_for(s, {refusal::exec_stack}); }
outcome writable_code(subject& s) { return refused_for(s, {refusal::writable_code}); }
outcome text_relocations(subject& s) { return refused_for(s, {refusal::text_relocations}); }
outcome static_tls(subject& s) { return refused_for(s, {refusal::static_tls}); }
outcome entry_exported(subject& s) { return refused_for(s, {refusal::missing_entry}); }
outcome sanitizer(subject& s) { return refused_for(s, {refusal::sanitizer}); }
outcome dependencies(subject& s) { return refused_for(s, {refusal::missing_dependency}); }

outcome permissions(subject& s)
{
    if (s.unreadable())
        throw skipped(words_of(s.unreadable()));
    file_content again;
    const load_error e = read_file(s.file(), path_rules::strict, again);
    return e ? failed(words_of(e)) : outcome{};
}

/// Throws skipped() where the symbols were never reached.
const elf_facts& symbols_of(const subject& s)
{
    if (s.unreadable())
        throw skipped(words_of(s.unreadable()));
    if (s.refused() && s.facts().exports.empty() && s.facts().imports.empty())
        throw skipped("its symbols were not looked at: " + words_of(s.refused()));
    return s.facts();
}

std::string some(const std::vector<std::string>& names)
{
    constexpr std::size_t shown = 8;
    const std::vector<std::string> head(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), shown)));
    const std::string text = fmt::format("{}", fmt::join(head, ", "));
    return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

outcome one_export(subject& s)
{
    std::vector<std::string> more;
    for (const std::string& name : symbols_of(s).exports)
        if (!name.starts_with("shunt_plugin_entry_v") &&
            std::find(s.facts().unique.begin(), s.facts().unique.end(), name) == s.facts().unique.end() && name != "_init" && name != "_fini" &&
            name != "_end" && name != "_edata" && name != "__bss_start")
            more.push_back(name);
    return more.empty() ? outcome{} : failed(fmt::format("exports {}", some(more)));
}

outcome unique_symbols(subject& s)
{
    const auto& unique = symbols_of(s).unique;
    return unique.empty() ? outcome{} : failed(fmt::format("has {}", some(unique)));
}

outcome search_path(subject& s)
{
    if (s.unreadable())
        throw skipped(words_of(s.unreadable()));
    const std::string& path = s.facts().search_path;
    if (path.empty())
        return refused_for(s, {refusal::damaged, refusal::not_elf, refusal::truncated, refusal::other_machine, refusal::not_shared_object}).result ==
                       verdict::passed
                   ? outcome{}
                   : skipped("not looked at: " + words_of(s.refused()));
    std::string elsewhere;
    for (std::string_view rest = path; !rest.empty();) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        const std::string_view folder = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const bool of_the_system = folder.starts_with("/usr/") || folder.starts_with("/lib") || folder.starts_with("/opt/");
        if (!of_the_system && folder.find("$") == std::string_view::npos)
            elsewhere = folder;
    }
    if (!elsewhere.empty())
        return failed(fmt::format("its search path {} names {}, a folder of one machine", in_quotes(path), in_quotes(elsewhere)));
    return warned(fmt::format("has the search path {}; what lies beside the plugin is not found, because a private copy is loaded", in_quotes(path)));
}

// ---- imports ----

outcome imports(subject& s, verdict how, std::initializer_list<std::string_view> exact, std::initializer_list<std::string_view> beginnings = {})
{
    std::vector<std::string> found;
    for (const std::string& name : symbols_of(s).imports)
        if (std::find(exact.begin(), exact.end(), name) != exact.end() ||
            std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view b) { return name.starts_with(b); }))
            found.push_back(name);
    return found.empty() ? outcome{} : outcome{how, fmt::format("imports {}", some(found))};
}

outcome imports_time(subject& s)
{
    const outcome o = imports(s, verdict::failed,
                              {"time", "clock", "gettimeofday", "ftime", "timespec_get", "localtime", "localtime_r", "gmtime", "gmtime_r", "mktime",
                               "_ZNSt6chrono3_V212steady_clock3nowEv", "_ZNSt6chrono3_V212system_clock3nowEv"});
    if (o.result != verdict::passed)
        return o;
    // Rust's run time imports it for waits with a bound, whatever the plugin does; it is known by its walks over the stack.
    const auto& all = symbols_of(s).imports;
    const bool rust = std::find(all.begin(), all.end(), "_Unwind_Backtrace") != all.end();
    return imports(s, rust ? verdict::warned : verdict::failed, {"clock_gettime"});
}
outcome imports_random(subject& s)
{
    return imports(s, verdict::failed, {"rand", "rand_r", "srand", "random", "random_r", "srandom", "getrandom", "getentropy"},
                   {"arc4random", "drand48", "lrand48", "mrand48", "srand48", "_ZNSt13random_device"});
}
outcome imports_network(subject& s)
{
    return imports(s, verdict::failed,
                   {"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "send", "sendto", "sendmsg", "recv", "recvfrom",
                    "recvmsg", "gethostbyname", "getaddrinfo", "getnameinfo", "inet_addr", "epoll_create", "epoll_create1"});
}
outcome imports_threads(subject& s)
{
    return imports(s, verdict::failed, {"pthread_create", "thrd_create", "pthread_atfork", "clone"}, {"_ZNSt6thread15_M_start_thread"});
}
outcome imports_signals(subject& s)
{
    return imports(s, verdict::failed,
                   {"signal", "sigaction", "sigaltstack", "sigprocmask", "pthread_sigmask", "kill", "raise", "alarm", "setitimer", "timer_create",
                    "siglongjmp", "longjmp", "__longjmp_chk"});
}
outcome imports_processes(subject& s)
{
    return imports(s, verdict::failed,
                   {"fork", "vfork", "_Fork", "system", "popen", "daemon", "exit", "_exit", "_Exit", "quick_exit", "on_exit", "wait", "waitpid"},
                   {"exec", "posix_spawn"});
}
outcome imports_waiting(subject& s)
{
    return imports(s, verdict::failed,
                   {"sleep", "usleep", "nanosleep", "clock_nanosleep", "pause", "poll", "ppoll", "select", "pselect", "epoll_wait", "sem_wait",
                    "sem_timedwait", "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "pthread_join"});
}
outcome imports_locale(subject& s)
{
    return imports(s, verdict::failed, {"setlocale", "uselocale", "_ZNSt6locale6globalERKS_", "fesetround", "feenableexcept"});
}
outcome imports_environment(subject& s)
{
    const outcome o = imports(s, verdict::failed, {"setenv", "putenv", "unsetenv", "clearenv", "chdir", "fchdir", "umask", "setrlimit", "prctl"});
    return o.result != verdict::passed ? o : imports(s, verdict::warned, {"getenv", "secure_getenv"});
}
outcome imports_loader(subject& s) { return imports(s, verdict::failed, {"dlopen", "dlmopen", "dlclose"}); }
outcome imports_files(subject& s)
{
    return imports(s, verdict::warned,
                   {"open", "open64", "openat", "openat64", "creat", "fopen", "fopen64", "freopen", "opendir", "mkdir", "unlink", "remove", "rename",
                    "mkstemp", "tmpfile"},
                   {"_ZNSt13basic_filebuf", "_ZNSt14basic_ofstream", "_ZNSt14basic_ifstream", "_ZNSt13basic_fstream"});
}
outcome imports_output(subject& s)
{
    return imports(s, verdict::warned,
                   {"printf", "__printf_chk", "vprintf", "puts", "putchar", "fprintf", "__fprintf_chk", "perror", "syslog", "_ZSt4cout", "_ZSt4cerr",
                    "_ZSt4clog"});
}
outcome imports_thread_exit(subject& s) { return imports(s, verdict::warned, {"__cxa_thread_atexit", "pthread_key_create", "tss_create"}); }

constexpr std::array all{
    rule{"elf-file", scope::file, true, "the file is a whole ELF shared object for this machine",
         "A plugin is loaded by the system's loader, which dies of a cut file and takes the program with it. So the file is read and judged as bytes "
         "first. Build it as a shared object for the machine it runs on, and copy it whole.",
         elf_file},
    rule{"permissions", scope::file, true, "nobody but root, the user and the program's owner may write the file or its folder",
         "Whoever may write a plugin decides what the program does. A program refuses to load such a file. chmod go-w FILE and its folder.", permissions},
    rule{"note", scope::file, true, "an ELF note names the ABI version and the strategies",
         "The note lets a host refuse a wrong file before any of its code runs, and list strategies without loading. SHUNT_PLUGIN writes it; in C it is "
         "a struct in section .note.shunt. It must survive strip.",
         note},
    rule{"executable-stack", scope::file, true, "it does not ask for an executable stack",
         "The loader would make the stack of the whole program executable, which takes away a protection against attacks. It comes from assembler sources "
         "without a .note.GNU-stack section, or nested functions. Link with -Wl,-z,noexecstack.",
         executable_stack},
    rule{"writable-code", scope::file, true, "no segment is both writable and executable",
         "Code that can be written over is what attackers look for, and hardened systems refuse it. Keep code and data in sections of their own.",
         writable_code},
    rule{"text-relocations", scope::file, true, "its code needs no relocations",
         "Relocated code pages are private to each process, slow to load, and refused by hardened systems. Compile with -fPIC.", text_relocations},
    rule{"static-tls", scope::file, true, "it uses no thread-local variables of the static model",
         "A running program has hardly any room left for them: the plugin loads in one program and not in the next. Compile without "
         "-ftls-model=initial-exec.",
         static_tls},
    rule{"entry-exported", scope::file, true, "it exports " SHUNT_ENTRY_NAME ", a function",
         "That is the one thing a host looks for. In C++ it must be extern \"C\", with default visibility; SHUNT_PLUGIN does all of it.", entry_exported},
    rule{"sanitizer", scope::file, true, "it is built with a sanitizer only where the program is",
         "A sanitizer's run time must be there from the program's start. Build both the same way.", sanitizer},
    rule{"dependencies", scope::file, true, "each library it needs is found",
         "Otherwise it loads on the machine of its author only. Link rare libraries into the plugin, or install them where the loader looks; "
         "what lies beside the plugin is not found, since a private copy is loaded.",
         dependencies},
    rule{"one-export", scope::file, false, "it exports its entry and nothing else",
         "Whatever else is exported may be taken for a symbol of the same name elsewhere, or the other way round. Build with shunt_add_plugin(), or "
         "-fvisibility=hidden and a version script.",
         one_export},
    rule{"unique-symbols", scope::file, false, "it has no variables that the loader makes one for all files",
         "g++ marks static members of templates and inline variables STB_GNU_UNIQUE: a new version of the plugin then shares them with the old one, and "
         "neither can be unloaded. Build with -fno-gnu-unique; shunt_add_plugin() does.",
         unique_symbols},
    rule{"search-path", scope::file, false, "it has no search path into folders of one machine",
         "An RPATH or RUNPATH to a build folder loads whatever lies there, on machines where somebody else owns that folder. CMake: "
         "SKIP_BUILD_RPATH ON, INSTALL_RPATH \"\"; shunt_add_plugin() does.",
         search_path},
    rule{"imports-time", scope::file, false, "it reads no clock",
         "Time comes with each message, each feedback and from the host. A strategy with a clock of its own cannot be tested or simulated: in `shunt "
         "simulate` time is virtual. Older run times of Rust import clock_gettime on their own, so there it is a warning.",
         imports_time},
    rule{"imports-random", scope::file, false, "it has no random source of its own",
         "Randomness comes with each message and from the host, seeded in tests and simulations. rand() also takes a lock.", imports_random},
    rule{"imports-network", scope::file, false, "it opens no connections",
         "A selector runs in the middle of a send; waiting for a network there holds up the program. What it must know comes as a setting, or by "
         "probes asked from the host.",
         imports_network},
    rule{"imports-threads", scope::file, false, "it starts no threads",
         "A thread outlives the swap to another version, and counts against the program. Work is done when the host calls.", imports_threads},
    rule{"imports-signals", scope::file, false, "it touches no signals and does not jump",
         "Signals belong to the program. longjmp over the border skips destructors of the host.", imports_signals},
    rule{"imports-processes", scope::file, false, "it starts no processes and ends none",
         "A fork of a program with threads is a trap; exit() in a plugin ends a program that has messages in flight. Errors are statuses.",
         imports_processes},
    rule{"imports-waiting", scope::file, false, "it does not sleep or wait",
         "select is on the way of each send, and fault strategies hold up all verdicts. Who must be called later says until when its answer is good.",
         imports_waiting},
    rule{"imports-locale", scope::file, false, "it does not change the locale or the rounding",
         "Both belong to the whole program: numbers would be read and written differently elsewhere.", imports_locale},
    rule{"imports-environment", scope::file, false, "it does not change environment, folder or limits of the process",
         "They belong to the program; setenv races with getenv in other threads. Reading the environment is warned of: settings come from the file, where "
         "they are checked and shown.",
         imports_environment},
    rule{"imports-loader", scope::file, false, "it loads no other libraries",
         "What a plugin loads by itself is not checked, not pinned and not seen by `plugin list`.", imports_loader},
    rule{"imports-files", scope::file, false, "it opens no files",
         "A file read at the wrong moment holds up sends, and it is not there on another machine. Run times of some languages import these functions for "
         "their own error reports, so this is a warning.",
         imports_files, true},
    rule{"imports-output", scope::file, false, "it prints nothing",
         "stdout belongs to the program. Lines for the log go to the host, which names the strategy and limits their rate. See also `silent`, which "
         "watches it run.",
         imports_output, true},
    rule{"imports-thread-exit", scope::file, false, "nothing of it runs when a thread ends",
         "Destructors of thread-local variables run in the program's threads, at any time after the plugin is out of use. Keep state in the instance.",
         imports_thread_exit, true},
};

}  // namespace

std::span<const rule> file_rules() { return all; }

}  // namespace shunt::plugin::check
