#include "generate.hpp"

#include "command.hpp"
#include "console.hpp"

#include <config/value.hpp>

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace shunt::cli {

namespace {

// ---- what there is to tell ----

struct option_text {
    std::vector<std::string> names;    ///< "-c", "--config"; of what has none: "FILE"
    std::string value;                 ///< what it takes, as users see it; empty: nothing
    std::string help;
    std::vector<std::string> choices;  ///< the words it takes, if they are few
    bool positional = false, required = false, takes_file = false;
};

struct command_text {
    std::string path;                  ///< "plugin list"; of the program itself: ""
    std::string about, more;
    std::vector<option_text> options;
    std::vector<command_text> commands;
    [[nodiscard]] std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

std::vector<std::string> split(const std::string& text, char at)
{
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(at, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

option_text option_of(const CLI::Option& o)
{
    option_text out;
    out.positional = o.get_positional();
    for (const std::string& s : o.get_snames())
        out.names.push_back("-" + s);
    for (const std::string& l : o.get_lnames())
        out.names.push_back("--" + l);
    if (o.get_items_expected_max() != 0)
        out.value = o.get_type_name();
    if (out.positional) {  // FILE, or NAME|FILE
        const std::string also = out.value.starts_with("|") ? out.value : "";
        out.names = {o.get_name(true) + also};
        out.value = out.names.front();
    }
    const std::vector<std::string> kinds = split(out.value, '|');
    out.takes_file = std::any_of(kinds.begin(), kinds.end(), [](const std::string& k) { return k == "FILE" || k == "DIR" || k == "OUT"; });
    if (kinds.size() > 1 && std::all_of(out.value.begin(), out.value.end(), [](char c) { return c == '|' || c == '-' || std::islower(static_cast<unsigned char>(c)); }))
        out.choices = kinds;
    out.help = o.get_description();
    out.required = o.get_required();
    return out;
}

command_text command_of(const CLI::App& app, const std::string& path)
{
    command_text out{path, app.get_description(), app.get_footer(), {}, {}};
    for (const CLI::Option* o : app.get_options())
        if (!o->get_group().empty())  // those without are hidden
            out.options.push_back(option_of(*o));
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
        command_text c = command_of(*sub, sub->get_name().empty() ? path : path + (path.empty() ? "" : " ") + sub->get_name());
        if (sub->get_name().empty())  // a group of options that belong together
            std::move(c.options.begin(), c.options.end(), std::back_inserter(out.options));
        else if (!sub->get_group().empty())
            out.commands.push_back(std::move(c));
    }
    return out;
}

template <typename F>
void each(const command_text& c, F f)
{
    f(c);
    for (const command_text& sub : c.commands)
        each(sub, f);
}

std::string one_line(std::string text)
{
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

// ---- manual pages ----

std::string roff(std::string_view text)
{
    std::string out;
    bool line_begins = true;
    for (const char c : text) {
        if (line_begins && (c == '.' || c == '\''))
            out += "\\&";
        line_begins = c == '\n';
        if (c == '-')
            out += "\\-";
        else if (c == '\\')
            out += "\\e";
        else
            out += c;
    }
    return out;
}

std::string in_italics(const std::string& value) { return value.empty() ? "" : " \\fI" + roff(value) + "\\fR"; }

std::string roff_options(const command_text& c)
{
    std::string out;
    for (const option_text& o : c.options)
        out += fmt::format(".TP\n{}{}\n{}{}\n", o.positional ? "" : "\\fB" + roff(fmt::format("{}", fmt::join(o.names, ", "))) + "\\fR",
                           o.positional ? in_italics(o.value).substr(1) : in_italics(o.value), roff(o.help),
                           o.required ? " (needed)" : "");
    return out;
}

std::string synopsis(const command_text& c)
{
    std::string out = "\\fBshunt" + (c.path.empty() ? "" : " " + roff(c.path)) + "\\fR";
    if (!c.commands.empty())
        return out + " \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n";
    for (const option_text& o : c.options)
        if (o.required && !o.positional)
            out += " \\fB" + roff(o.names.front()) + "\\fR" + in_italics(o.value);
    out += " [\\fIOPTION\\fR]...";
    for (const option_text& o : c.options)
        if (o.positional)
            out += in_italics(o.value);
    return out + "\n";
}

std::string footer(const command_text& c) { return c.more.empty() ? "" : ".PP\n.nf\n" + roff(c.more) + (c.more.ends_with('\n') ? "" : "\n") + ".fi\n"; }

std::string page_name(const command_text& c) { return c.path.empty() ? "shunt" : "shunt-" + c.path; }

/// Of the program, or of one of its commands with all that it holds.
std::string page(const command_text& c, const command_text& program)
{
    std::string upper = page_name(c), about = one_line(c.about);
    std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char ch) { return static_cast<char>(std::toupper(ch)); });
    about = about.substr(0, std::min(about.find(". "), about.size() - (about.ends_with('.') ? 1 : 0)));
    if (about.starts_with("shunt "))
        about = about.substr(6);
    about.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(about.front())));
    std::string out = fmt::format(".TH {} 1 \"\" \"shunt {}\" \"shunt\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n", roff(upper), SHUNT_VERSION,
                                  roff(page_name(c)), roff(about));
    if (c.commands.empty() || c.path.empty())
        out += synopsis(c);
    for (const command_text& sub : c.commands)
        if (!c.path.empty())
            out += synopsis(sub) + ".br\n";
    out += ".SH DESCRIPTION\n" + roff(c.about) + "\n" + footer(c);
    if (!c.commands.empty())
        out += ".SH COMMANDS\n";
    for (const command_text& sub : c.commands) {
        if (c.path.empty())
            out += fmt::format(".TP\n\\fB{}\\fR\n{} See \\fB{}\\fR(1).\n", roff(sub.name()), roff(one_line(sub.about)), roff(page_name(sub)));
        else
            out += fmt::format(".SS shunt {}\n{}\n{}{}", roff(sub.path), roff(sub.about), roff_options(sub), footer(sub));
    }
    out += ".SH OPTIONS\n" + roff_options(c);
    out += ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\nran, and not all of it went well\n.TP\n2\nwrong usage or configuration: nothing was done\n";
    out += ".SH SEE ALSO\n";
    std::string others;
    for (const command_text& sub : program.commands)
        if (sub.path != c.path)
            others += (others.empty() ? "" : ", ") + fmt::format("\\fB{}\\fR(1)", roff(page_name(sub)));
    return out + (c.path.empty() ? "" : "\\fBshunt\\fR(1), ") + others + "\n";
}

// ---- completions ----
//
// All three find the command from the words before, then look whether the word before takes a value, then offer what the
// command has.

std::string in_quotes(std::string_view text)
{
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

/// `"send -c" | "send --config"`: each name of an option, as the command and the name.
std::string patterns(const command_text& c, const option_text& o)
{
    std::string out;
    for (const std::string& name : o.names)
        out += (out.empty() ? "" : " | ") + fmt::format("\"{} {}\"", c.path, name);
    return out;
}

/// `" send" | " plugin" | "plugin list"`: each command, as its parent and its name.
std::string command_patterns(const command_text& program)
{
    std::string out;
    each(program, [&](const command_text& c) {
        for (const command_text& sub : c.commands)
            out += (out.empty() ? "" : " | ") + fmt::format("\"{} {}\"", c.path, sub.name());
    });
    return out;
}

bool takes_files(const command_text& c)
{
    return std::any_of(c.options.begin(), c.options.end(), [](const option_text& o) { return o.positional && o.takes_file; });
}

std::string bash(const command_text& program)
{
    std::string files, choices, others, words;  // after options that take a file, one of few words, anything else
    each(program, [&](const command_text& c) {
        std::string all;
        for (const command_text& sub : c.commands)
            all += sub.name() + " ";
        for (const option_text& o : c.options) {
            if (o.positional)
                continue;
            all += fmt::format("{} ", fmt::join(o.names, " "));
            if (o.value.empty())
                continue;
            if (!o.choices.empty())
                choices += fmt::format("        {})\n            _shunt_words \"{}\"\n            return ;;\n", patterns(c, o),
                                       fmt::join(o.choices, " "));
            else
                (o.takes_file ? files : others) += " | " + patterns(c, o);
        }
        words += fmt::format("        \"{}\")\n            _shunt_words \"{}\"\n{}            ;;\n", c.path, all.substr(0, all.size() - 1),
                             takes_files(c) ? "            [[ $cur == -* ]] || _shunt_files\n" : "");
    });
    const std::string values = fmt::format("        {})\n            _shunt_files\n            return ;;\n{}        {})\n            return ;;\n",
                                           files.substr(3), choices, others.substr(3));
    return fmt::format(R"(# bash completion for shunt {}

_shunt_words() {{ mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -W "$1" -- "$cur"); }}
_shunt_files()
{{
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$cur")
}}

_shunt()
{{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} at="" i
    COMPREPLY=()
    if [[ $prev == = ]]; then
        prev=${{COMP_WORDS[COMP_CWORD - 2]}}
    elif [[ $cur == = ]]; then
        cur=""
    fi
    for ((i = 1; i < COMP_CWORD; ++i)); do
        case "$at ${{COMP_WORDS[i]}}" in
            {})
                at="${{at:+$at }}${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$at $prev" in
{}    esac
    case "$at" in
{}    esac
}}
complete -F _shunt shunt
)",
                       SHUNT_VERSION, command_patterns(program), values, words);
}

std::string zsh(const command_text& program)
{
    const auto described = [](const std::string& name, const std::string& help) {
        std::string text = one_line(help), word;
        for (const char c : name)
            word += c == ':' ? std::string("\\:") : std::string(1, c);
        return "            " + in_quotes(word + ":" + text) + "\n";
    };
    std::string values, words;
    each(program, [&](const command_text& c) {
        std::string commands, options;
        for (const command_text& sub : c.commands)
            commands += described(sub.name(), sub.about);
        for (const option_text& o : c.options) {
            if (o.positional)
                continue;
            for (const std::string& name : o.names)
                options += described(name, o.help);
            if (!o.value.empty())
                values += fmt::format("        ({})\n            {}\n            return ;;\n", patterns(c, o),
                                      o.takes_file        ? "_files"
                                      : o.choices.empty() ? "_message " + in_quotes(o.value)
                                                          : fmt::format("compadd -- {}", fmt::join(o.choices, " ")));
        }
        words += fmt::format("        (\"{}\")\n            commands=(\n{}            )\n            options=(\n{}            )\n{}            ;;\n",
                             c.path, commands, options, takes_files(c) ? "            [[ $PREFIX == -* ]] || _files\n" : "");
    });
    return fmt::format(R"(#compdef shunt
# zsh completion for shunt {}

_shunt() {{
    local at="" prev=${{words[CURRENT - 1]}} word
    local -a commands options
    for word in "${{(@)words[2,CURRENT - 1]}}"; do
        case "$at $word" in
            ({})
                at="${{at:+$at }}$word" ;;
        esac
    done
    case "$at $prev" in
{}    esac
    case "$at" in
{}    esac
    (( $#commands )) && _describe -t commands command commands
    _describe -o -t options option options
}}

if [[ $funcstack[1] == _shunt ]]; then
    _shunt "$@"
else
    compdef _shunt shunt
fi
)",
                       SHUNT_VERSION, command_patterns(program), values, words);
}

std::string fish(const command_text& program)
{
    const auto quoted = [](std::string_view text) {
        std::string out = "'";
        for (const char c : text)
            out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
        return out + "'";
    };
    std::string out = fmt::format("# fish completion for shunt {}\n\ncomplete -c shunt -f\n", SHUNT_VERSION);
    each(program, [&](const command_text& c) {
        std::string when;
        for (const std::string& word : split(c.path, ' '))
            if (!word.empty())
                when += (when.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
        std::string before = when;
        std::vector<std::string> names;
        for (const command_text& sub : c.commands)
            names.push_back(sub.name());
        if (!names.empty())
            before += (when.empty() ? "" : "; and ") + fmt::format("not __fish_seen_subcommand_from {}", fmt::join(names, " "));
        for (const command_text& sub : c.commands)
            out += fmt::format("complete -c shunt -n {} -a {} -d {}\n", quoted(before), sub.name(), quoted(one_line(sub.about)));
        if (takes_files(c))
            out += fmt::format("complete -c shunt -n {} -F\n", quoted(when));
        for (const option_text& o : c.options) {
            if (o.positional)
                continue;
            out += fmt::format("complete -c shunt -n {}", quoted(before));
            for (const std::string& name : o.names)
                out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            if (o.takes_file)
                out += " -r -F";
            else if (!o.value.empty())
                out += o.choices.empty() ? " -x" : fmt::format(" -x -a {}", quoted(fmt::format("{}", fmt::join(o.choices, " "))));
            out += fmt::format(" -d {}\n", quoted(one_line(o.help)));
        }
    });
    return out;
}

}  // namespace

int generate(const CLI::App& program, const std::string& folder)
{
    namespace fs = std::filesystem;
    const command_text all = command_of(program, "");
    std::vector<std::pair<std::string, std::string>> files = {
        {"man/man1/shunt.1", page(all, all)},
        {"bash-completion/completions/shunt", bash(all)},
        {"zsh/site-functions/_shunt", zsh(all)},
        {"fish/vendor_completions.d/shunt.fish", fish(all)},
    };
    for (const command_text& c : all.commands)
        files.emplace_back("man/man1/" + page_name(c) + ".1", page(c, all));
    for (const auto& [name, text] : files) {
        const fs::path file = fs::path(folder) / name;
        std::error_code ec;
        fs::create_directories(file.parent_path(), ec);
        std::ofstream out(file, std::ios::binary | std::ios::trunc);
        out << text << std::flush;
        if (!out) {
            complain("", "cannot write " + config::in_marks(file.string()));
            return failed;
        }
    }
    return done;
}

}  // namespace shunt::cli
