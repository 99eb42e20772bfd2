// shunt config: what is wrong with a file, and what is in force by it.

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"
#include "json.hpp"
#include "options_file.hpp"

#include <config/schema.hpp>

#include <memory>
#include <string>
#include <vector>

namespace shunt::cli {

namespace {

struct config_arguments {
    std::string file;
    bool json = false;
};

void put(json& out, std::string_view name, const std::vector<config::problem>& problems)
{
    out.key(name).array();
    for (const config::problem& p : problems) {
        out.object().member("file", p.file).member("line", p.line).member("column", p.column).member("key", p.key);
        out.member("found", p.found).member("expected", p.expected).member("hint", p.hint).end_object();
    }
    out.end_array();
}

/// `warnings` are there only if there are some.
std::string as_json(const std::vector<config::problem>& problems, const std::vector<config::problem>& warnings)
{
    json out;
    out.object().member("ok", problems.empty());
    put(out, "problems", problems);
    if (!warnings.empty())
        put(out, "warnings", warnings);
    return out.end_object().take();
}

int check(const config_arguments& a)
{
    std::vector<config::problem> problems;
    std::unique_ptr<plugin::registry> strategies;
    const config::loaded loaded = read_with_strategies(a.file, problems, strategies);
    std::vector<config::problem> warnings;
    if (problems.empty())
        config::warn_of_strategies(loaded.options, *strategies, warnings);
    for (const config::problem& w : warnings)
        complain("config check", "warning: " + config::to_string(w));
    output out;
    if (a.json) {
        out.line(as_json(problems, warnings));
    } else if (problems.empty()) {
        out.line(a.file + " is right");
    } else {
        for (const config::problem& p : problems)
            out.line(config::to_string(p));
    }
    if (!out.finish("config check"))
        return failed;
    return problems.empty() ? done : misused;
}

int show(const config_arguments& a)
{
    std::vector<config::problem> problems;
    std::unique_ptr<plugin::registry> strategies;
    config::loaded loaded = read_with_strategies(a.file, problems, strategies);
    if (!problems.empty()) {
        for (const config::problem& p : problems)
            complain("config show", config::to_string(p));
        return misused;
    }
    config::add_strategy_defaults(loaded, *strategies);
    output out;
    if (a.json) {
        json object;
        object.object().member("file", a.file).key("settings").array();
        for (const config::origin& o : loaded.origins)
            object.object().member("key", o.key).member("value", o.value).member("from", o.from).end_object();
        out.line(object.end_array().end_object().text());
    } else {
        table t({table::side::left, table::side::left, table::side::left});
        for (const config::origin& o : loaded.origins)
            t.row({o.key, "= " + o.value, "# " + o.from});
        out.write(t.text());
    }
    return out.finish("config show") ? done : failed;
}

int schema()
{
    output out;
    out.write(config::json_schema());
    return out.finish("config schema") ? done : failed;
}

}  // namespace

void add_config(CLI::App& program, chosen_command& chosen)
{
    CLI::App& app = *program.add_subcommand("config", "Checks a configuration, or shows what is in force by it.");
    app.require_subcommand(1);
    const auto add = [&](const char* name, const char* what, int (*run)(const config_arguments&)) {
        auto a = std::make_shared<config_arguments>();
        CLI::App& sub = *app.add_subcommand(name, what);
        add_text(sub, "FILE", a->file, "the configuration, see config/shunt.toml")->required()->type_name(" ");
        sub.add_flag("--json", a->json, "one object");
        sub.callback([a, run, &chosen] { chosen = [a, run] { return run(*a); }; });
    };
    add("check",
        "Tells everything that is wrong with a file, its strategies and their settings included, a line each. What works and is hardly "
        "meant is a warning on stderr.",
        check);
    add("show", "Shows the value of every key and where it came from: a line of the file, or the default.", show);
    CLI::App& sub = *app.add_subcommand("schema", "Prints a JSON Schema of configurations, for editors; config/schema.json is the same.");
    auto json = std::make_shared<bool>(false);
    sub.add_flag("--json", *json, "the same: a schema is JSON");
    sub.callback([json, &chosen] { chosen = [] { return schema(); }; });
}

}  // namespace shunt::cli
