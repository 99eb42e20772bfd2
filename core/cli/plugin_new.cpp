// shunt plugin new: a small repository for a strategy of one's own, whole and working, made from templates/.

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"
#include "templates.hpp"

#include <plugin/registry.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace shunt::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view self = "plugin new";

struct new_arguments {
    std::string name, kind, language, folder;
};

// ---- the name ----

constexpr std::size_t longest_name = 64;
constexpr std::string_view a_name = "a strategy's name: a-z, 0-9 and '-', a letter first, at most 64, as in sticky-run";

/// Source, targets, crate and file are named after a strategy, so in none of the languages it may be a word of the language.
struct taken_words {
    std::string_view by, words;  // words: each between blanks
};
constexpr std::array taken{
    taken_words{"a keyword of C++",
                " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl concept "
                "const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double "
                "dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new "
                "noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short "
                "signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid "
                "typename union unsigned using virtual void volatile wchar_t while xor xor_eq "},
    taken_words{"a keyword of C", " restrict typeof "},
    taken_words{"a keyword of Rust",
                " abstract as async await become box crate dyn final fn gen impl in let loop macro match mod move mut override priv pub ref "
                "self super trait type unsafe unsized use where yield "},
    taken_words{"a crate of Rust's own", " alloc core proc_macro std "},
    taken_words{"a target of CMake's own",
                " all clean edit_cache help install list_install_components package package_source preinstall rebuild_cache test "},
};

std::string with_underscores(std::string name)
{
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

bool is_good_name(std::string_view name)
{
    return config::is_strategy_name(name) && name.size() <= longest_name && name.front() >= 'a' && name.front() <= 'z' && name.back() != '-' &&
           name.find("--") == name.npos;
}

/// "did you mean 'my-selector'?" for "My Selector". Empty: nothing good is close.
std::string meant_name(std::string_view written)
{
    std::string close;
    for (char c : written) {
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (!close.empty() && c >= '0' && c <= '9'))
            close += c;
        else if ((c == ' ' || c == '_' || c == '-' || c == '.') && !close.empty() && close.back() != '-')
            close += '-';
        else if (static_cast<unsigned char>(c) >= 0x80)
            return {};
    }
    while (!close.empty() && close.back() == '-')
        close.pop_back();
    return !close.empty() && is_good_name(close) ? fmt::format("did you mean '{}'?", close) : std::string{};
}

void check_name(const std::string& name)
{
    if (name.empty() || !is_good_name(name))
        refuse_argument("NAME", name, a_name, meant_name(name));
    const std::string word = " " + with_underscores(name) + " ";
    for (const auto& [by, words] : taken)
        if (words.find(word) != words.npos)
            refuse_argument("NAME", name, "another word, because source, targets and crate are named after it", fmt::format("it is {}", by));
    const plugin::registry bundled({}, plugin::bundled_folder());
    for (const plugin::known_strategy& known : bundled.known())
        if (known.name == name)
            refuse_argument("NAME", name, "another name than that of a strategy that comes with shunt",
                            "shunt plugin list shows those; a file loaded under one of their names would hide it");
}

// ---- what is written ----

using replacement = std::pair<std::string_view, std::string>;

std::string class_of(const std::string& file, const std::string& kind)
{
    return file.ends_with(kind) ? file : file + "_" + kind;  // never a word of the C library's, as the name alone may be
}

std::vector<replacement> replacements_for(const new_arguments& a)
{
    const std::string file = with_underscores(a.name);
    const bool selector = a.kind == "selector";
    std::vector<replacement> all{
        {"name", a.name},
        {"file", file},
        {"class", class_of(file, a.kind)},
        {"kind", selector ? "selector" : "fault strategy"},
        {"summary", selector ? "a run of messages to one queue, then the next" : "isolates a broker after so many failures in a row"},
        {"dot", "."},
        {"warnings", a.language != "rust" ? "" : " The warnings of `check` are about Rust's run time, which imports such functions for reports of its own."},
    };
    if (a.language == "c++")
        all.insert(all.end(), {{"language", "C++"}, {"source", file + ".cpp"}, {"needs", "CMake 3.25, Make or Ninja, a C++20 compiler"}});
    else if (a.language == "c")
        all.insert(all.end(), {{"language", "C"}, {"source", file + ".c"},
                               {"needs", "CMake 3.25, Make or Ninja, a C11 compiler and, for the tests, a C++20 compiler"}});
    else
        all.insert(all.end(), {{"language", "Rust"}, {"source", "src/lib.rs"},
                               {"needs", "CMake 3.25, Make or Ninja, Rust 1.63 with Cargo and, for the tests, a C++20 compiler"}});
    return all;
}

/// With each @word@ in it replaced.
std::string filled(std::string_view text, const std::vector<replacement>& replacements)
{
    std::string out;
    while (!text.empty()) {
        const std::size_t at = std::min(text.find('@'), text.size());
        out += text.substr(0, at);
        text.remove_prefix(at);
        const auto fits = std::find_if(replacements.begin(), replacements.end(), [&](const replacement& r) {
            return text.size() > r.first.size() + 1 && text.substr(1, r.first.size()) == r.first && text[r.first.size() + 1] == '@';
        });
        if (fits != replacements.end()) {
            out += fits->second;
            text.remove_prefix(fits->first.size() + 2);
        } else if (!text.empty()) {
            out += text.front();
            text.remove_prefix(1);
        }
    }
    return out;
}

/// Folders and files that are there for good once kept; else nothing is left of them.
class new_files {
public:
    new_files() = default;
    new_files(const new_files&) = delete;
    new_files& operator=(const new_files&) = delete;
    ~new_files()
    {
        std::error_code ignored;
        for (; !made_.empty(); made_.pop_back())
            fs::remove(made_.back(), ignored);
    }

    /// With the folders above it, as far as they are not there.
    void make_folder(const fs::path& folder)
    {
        if (folder.empty() || fs::is_directory(folder))
            return;
        make_folder(folder.parent_path());
        if (::mkdir(folder.c_str(), 0777) != 0)
            fail(folder);
        made_.push_back(folder);
    }

    void write(const fs::path& file, std::string_view text)
    {
        make_folder(file.parent_path());
        const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0)
            fail(file);
        made_.push_back(file);
        while (!text.empty()) {
            const ssize_t n = ::write(fd, text.data(), text.size());
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0) {
                const int error = errno;
                ::close(fd);
                errno = error;
                fail(file);
            }
            text.remove_prefix(static_cast<std::size_t>(n));
        }
        if (::close(fd) != 0)
            fail(file);
    }

    [[nodiscard]] bool empty() const noexcept { return made_.empty(); }
    void keep() noexcept { made_.clear(); }

private:
    [[noreturn]] static void fail(const fs::path& path)
    {
        throw std::system_error(errno, std::generic_category(), config::in_marks(path.string()));
    }

    std::vector<fs::path> made_;
};

/// Refuses a folder that is something else, or not empty.
void check_folder(const std::string& folder)
{
    constexpr std::string_view right = "a folder that is empty or not there yet";
    if (folder.empty())
        refuse_argument("DIR", folder, right);
    std::error_code error;
    const fs::file_status status = fs::status(folder, error);
    if (error == std::errc::no_such_file_or_directory)
        return;
    if (error)
        refuse_argument("DIR", folder, right, error.message());
    if (!fs::is_directory(status))
        refuse_argument("DIR", folder, right, "it is a file");
    const fs::directory_iterator entry(folder, error);
    if (error)
        refuse_argument("DIR", folder, right, error.message());
    if (entry != fs::directory_iterator())
        refuse_argument("DIR", folder, right, fmt::format("it has {} in it; nothing was changed", config::in_marks(entry->path().filename().string())));
}

// ---- what to do next ----

/// As a shell takes it.
std::string quoted(const std::string& text)
{
    if (std::all_of(text.begin(), text.end(), [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("/._-+").find(c) != std::string_view::npos;
        }))
        return text;
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

/// The folder of this program if a shell that is told "shunt" would not run it; else empty.
std::string folder_to_add_to_the_path()
{
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (error)
        return {};
    const char* const path = std::getenv("PATH");
    std::string_view rest = path == nullptr ? "" : path;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        const fs::path found = fs::path(rest.substr(0, end)) / "shunt";
        if (fs::exists(found, error))
            return fs::equivalent(found, program, error) ? std::string{} : program.parent_path().string();
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return program.parent_path().string();
}

/// Whether the SDK is where CMake looks for it, given this program.
bool has_sdk_beside_it()
{
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    return error || fs::exists(program.parent_path().parent_path() / "include/shunt/sdk/abi.h", error);
}

/// The first commands of the README.
std::string_view commands_in(std::string_view readme)
{
    constexpr std::string_view begin = "```sh\n", end = "```\n";
    const std::size_t from = std::min(readme.find(begin), readme.size() - begin.size()) + begin.size();
    return readme.substr(from, readme.find(end, from) - from);
}

int write_repository(const new_arguments& a)
{
    const std::vector<replacement> replacements = replacements_for(a);
    const fs::path folder = fs::path(a.folder).lexically_normal();
    std::vector<std::pair<std::string, std::string>> files;  // path below the folder, text
    for (const template_file& t : templates())
        for (const std::string& part : {std::string("all"), a.kind, a.language, a.kind + "-" + a.language})
            if (t.part == part)
                files.emplace_back(filled(t.path, replacements), filled(t.text, replacements));
    std::sort(files.begin(), files.end());

    new_files written;
    try {
        written.make_folder(folder.has_filename() ? folder : folder.parent_path());
        for (const auto& [path, text] : files)
            written.write(folder / path, text);
    } catch (const std::system_error& e) {
        const bool begun = !written.empty();
        complain(self, fmt::format("{}; DIR must be a folder that can be written{}", e.what(), begun ? "; what was begun is taken away again" : ""));
        return begun ? failed : misused;
    }
    written.keep();

    output out;
    out.line(filled("@name@ is there, a @kind@ in @language@:", replacements));
    for (const auto& file : files)
        out.line("  " + (folder / file.first).string());
    out.line("");
    out.line("next:");
    if (const std::string more = folder_to_add_to_the_path(); !more.empty())
        out.line(fmt::format("  export PATH={}:$PATH", quoted(more)));
    if (folder != ".")
        out.line("  cd " + quoted(a.folder));
    const auto readme = std::find_if(files.begin(), files.end(), [](const auto& file) { return file.first == "README.md"; });
    for (std::string_view rest = commands_in(readme->second); !rest.empty();) {
        const std::size_t end = rest.find('\n');
        out.line("  " + std::string(rest.substr(0, end)));
        rest.remove_prefix(end + 1);
    }
    if (!has_sdk_beside_it())
        complain(self, "building it takes an installed shunt with its SDK, and beside this program there is none: install it, or tell CMake "
                       "where it is by -DCMAKE_PREFIX_PATH");
    return out.finish(self) ? done : failed;
}

}  // namespace

void add_plugin_new(CLI::App& plugin, chosen_command& chosen)
{
    auto a = std::make_shared<new_arguments>();
    CLI::App& app = *plugin.add_subcommand("new", "Writes a small repository for a strategy of your own: source, build, tests, shunt.toml, README.");
    app.footer("What it writes builds, passes its tests and is loaded as it is, by the commands that are shown at the end.\n"
               "Exit status: 0 all is written, 1 writing failed and nothing is left, 2 wrong usage: nothing was done.\n");
    CLI::Option* const name = add_text(app, "NAME", a->name, "the strategy's: a-z, 0-9 and '-', as in sticky-run");
    CLI::Option* const kind =
        add_option(app, "--kind", config::choice{{"selector", "fault"}}, a->kind,
                   "selector: which queue a message goes to. fault: which brokers are avoided")->type_name("KIND");
    CLI::Option* const language =
        add_option(app, "--lang", config::choice{{"c++", "c", "rust"}}, a->language, "c++, c or rust; c++ unless said")->type_name("LANG");
    CLI::Option* const folder = add_text(app, "DIR", a->folder, "where to; a folder of the strategy's name unless said");
    app.callback([a, name, kind, language, folder, &chosen] {
        if (name->count() == 0)
            throw CLI::ValidationError("NAME is missing; it must be " + std::string(a_name));
        check_name(a->name);
        if (kind->count() == 0)
            throw CLI::ValidationError("--kind is missing; it must be 'selector' (which queue a message goes to) or 'fault' (which brokers are avoided)");
        if (language->count() == 0)
            a->language = "c++";
        if (folder->count() == 0)
            a->folder = a->name;
        check_folder(a->folder);
        chosen = [a] { return write_repository(*a); };
    });
}

}  // namespace shunt::cli
