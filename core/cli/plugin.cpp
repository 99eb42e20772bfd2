// shunt plugin: which strategies are there, and what each takes. `check` has a file of its own.

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"
#include "json.hpp"
#include "options_file.hpp"

#include <plugin/registry.hpp>
#include <strategy/settings_check.hpp>

#include <shunt/sdk/abi.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::cli {

namespace {

using strategy::strategy_class;
using strategy::strategy_class_ptr;
using strategy::strategy_kind;
using strategy::strategy_origin;

struct plugin_arguments {
    std::string config, path, what;
    bool json = false;
};

std::string_view origin_of(strategy_origin o)
{
    return o == strategy_origin::bundled ? "bundled" : o == strategy_origin::file ? "file" : "static";
}

/// Where strategies are looked for. Nothing, with a complaint: the configuration is wrong.
std::optional<plugin_options> where_to_look(std::string_view command, const plugin_arguments& a)
{
    plugin_options options;
    if (!a.config.empty()) {
        auto loaded = load_options(command, a.config, strategies::ignored);
        if (!loaded)
            return std::nullopt;
        options = std::move(loaded->options.plugins);
    }
    if (!a.path.empty())
        options.path = {a.path};
    options.max_images = SIZE_MAX;  // a limit for programs that swap, not for a look
    return options;
}

// ---- list ----

int list(const plugin_arguments& a)
{
    constexpr std::string_view self = "plugin list";
    auto options = where_to_look(self, a);
    if (!options)
        return misused;
    plugin::registry strategies(std::move(*options), plugin::bundled_folder());
    for (const std::string& warning : strategies.warnings())
        complain(self, warning);
    bool all_well = true;
    output out;
    table t({table::side::left, table::side::left, table::side::left, table::side::left, table::side::left, table::side::left});
    t.row({"name", "kind", "version", "abi", "origin", "file"});
    for (const plugin::known_strategy& known : strategies.known()) {
        plugin::load_error error;
        const strategy_class_ptr cls = strategies.find(known.kind, known.name, error);
        if (cls == nullptr) {
            complain(self, error.text);
            all_well = false;
        }
        const std::string version = cls != nullptr ? cls->version : "", sha256 = cls != nullptr ? cls->sha256 : "";
        const std::string abi = cls != nullptr ? fmt::format("{}.{}", cls->abi_major, cls->abi_minor) : "";
        if (a.json) {
            json line;
            line.object().member("name", known.name).member("kind", to_string(known.kind)).member("version", version);
            line.member("file", known.file).member("sha256", sha256).member("abi", abi).member("origin", origin_of(known.origin));
            if (cls == nullptr)
                line.member("error", error.text);
            out.line(line.end_object().text());
        } else {
            t.row({known.name, std::string(to_string(known.kind)), cls != nullptr ? version : "cannot be loaded", abi,
                   std::string(origin_of(known.origin)), known.file});
        }
    }
    if (!a.json)
        out.write(t.text());
    return out.finish(self) && all_well ? done : failed;
}

// ---- describe ----

std::string_view type_name(std::int32_t type)
{
    switch (type) {
    case SHUNT_T_BOOL: return "true or false";
    case SHUNT_T_I64: return "whole number";
    case SHUNT_T_F64: return "number";
    case SHUNT_T_STR: return "text";
    case SHUNT_T_DURATION_NS: return "duration";
    case SHUNT_T_SIZE: return "size";
    case SHUNT_T_ARRAY: return "array";
    default: return "unknown";
    }
}

std::string type_of(const strategy::parameter& p)
{
    return p.type == SHUNT_T_ARRAY ? fmt::format("array of {}", type_name(p.element_type)) : std::string(type_name(p.type));
}

bool has_range(const strategy::parameter& p) { return p.min != 0 || p.max != 0; }

/// A bound as a user writes it: "250ms", "4MiB", "16". Empty: there is none on this side.
std::string bound(const strategy::parameter& p, double value)
{
    if (!std::isfinite(value))
        return {};
    const std::int32_t type = p.type == SHUNT_T_ARRAY ? p.element_type : p.type;
    const auto with_unit = [&](std::initializer_list<std::pair<double, std::string_view>> units, std::string_view smallest) {
        for (const auto& [size, name] : units) {
            if (value >= size && std::fmod(value, size) == 0)
                return fmt::format("{:.0f}{}", value / size, name);
        }
        return fmt::format("{:.0f}{}", value, smallest);
    };
    if (type == SHUNT_T_DURATION_NS)
        return with_unit({{3600e9, "h"}, {60e9, "m"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "us"}}, value == 0 ? "ms" : "ns");
    if (type == SHUNT_T_SIZE)
        return with_unit({{1024.0 * 1024 * 1024, "GiB"}, {1024.0 * 1024, "MiB"}, {1024, "KiB"}}, "B");
    return fmt::format("{}", value);
}

std::vector<std::string_view> flags_of(const strategy_class& c)
{
    std::vector<std::string_view> names;
    if (c.kind != strategy_kind::selector)
        return names;
    for (const auto& [bit, name] : {std::pair{SHUNT_F_CONCURRENT, "concurrent"}, {SHUNT_F_DETERMINISTIC, "deterministic"},
                                    {SHUNT_F_WANTS_HASH64, "wants-hash64"}, {SHUNT_F_WANTS_JAVA_HASH, "wants-java-hash"},
                                    {SHUNT_F_WANTS_PROPS, "wants-properties"}, {SHUNT_F_FILTER, "filter"}}) {
        if ((c.selector().flags & bit) != 0)
            names.emplace_back(name);
    }
    return names;
}

std::string as_json(const strategy_class& c)
{
    json out;
    out.object().member("name", c.name).member("kind", to_string(c.kind)).member("summary", c.summary).member("version", c.version);
    out.member("plugin", c.plugin_id).member("license", c.license).member("vendor", c.vendor).member("build", c.build_info);
    out.member("abi", fmt::format("{}.{}", c.abi_major, c.abi_minor)).member("file", c.file).member("sha256", c.sha256);
    out.member("origin", origin_of(c.origin)).key("flags").array();
    for (const std::string_view flag : flags_of(c))
        out.value(flag);
    out.end_array().key("parameters").array();
    for (const strategy::parameter& p : c.parameters) {
        out.object().member("name", p.name).member("type", type_of(p)).member("unit", p.unit).member("default", p.default_text);
        out.member("required", p.required).key("range");
        if (has_range(p))
            out.object().member("min", bound(p, p.min)).member("max", bound(p, p.max)).end_object();
        else
            out.object().end_object();
        out.key("choices").array();
        for (const std::string& choice : p.choices)
            out.value(choice);
        out.end_array();
        if (p.type == SHUNT_T_ARRAY)
            out.member("min_count", p.min_count);
        out.member("help", p.help).end_object();
    }
    return out.end_array().end_object().take();
}

std::string as_text(const strategy_class& c)
{
    std::string out = fmt::format("{} ({}, version {}, abi {}.{}): {}\n", c.name, to_string(c.kind), c.version, c.abi_major,
                                  c.abi_minor, c.summary);
    out += fmt::format("  plugin  {}{}{}\n", c.plugin_id, c.license.empty() ? "" : ", " + c.license,
                       c.vendor.empty() ? "" : ", " + c.vendor);
    if (!c.file.empty())
        out += fmt::format("  file    {}\n  sha256  {}\n", c.file, c.sha256);
    if (const auto flags = flags_of(c); !flags.empty())
        out += fmt::format("  flags   {}\n", fmt::join(flags, ", "));
    if (c.parameters.empty())
        return out + "no settings\n";
    out += "settings:\n";
    for (const strategy::parameter& p : c.parameters) {
        out += fmt::format("  {}: {}", p.name, type_of(p));
        if (!p.unit.empty())
            out += fmt::format(" in {}", p.unit);
        if (has_range(p)) {
            const std::string min = bound(p, p.min), max = bound(p, p.max);
            out += max.empty()   ? fmt::format(", at least {}", min)
                   : min.empty() ? fmt::format(", at most {}", max)
                                 : fmt::format(", {} to {}", min, max);
        }
        if (!p.choices.empty())
            out += fmt::format(", one of {}", fmt::join(p.choices, " | "));
        out += p.required                ? "; required\n"
               : p.default_text.empty() ? "; may be left out\n"
                                        : fmt::format("; {} unless said\n", p.default_text);
        out += fmt::format("      {}\n", p.help);
    }
    return out;
}

int describe(const plugin_arguments& a)
{
    constexpr std::string_view self = "plugin describe";
    auto options = where_to_look(self, a);
    if (!options)
        return misused;
    plugin::registry strategies(std::move(*options), plugin::bundled_folder());
    std::vector<strategy_class_ptr> found;
    plugin::load_error error;
    if (a.what.find('/') != std::string::npos || a.what.ends_with(".so")) {
        found = strategies.load_file(a.what, "", error);
    } else {
        std::vector<std::string> names;
        for (const plugin::known_strategy& known : strategies.known()) {
            names.push_back(known.name);
            if (known.name != a.what)
                continue;
            if (auto cls = strategies.find(known.kind, known.name, error))
                found.push_back(std::move(cls));
        }
        if (found.empty() && !error) {
            names.erase(std::unique(names.begin(), names.end()), names.end());
            const std::string close = strategy::closest(a.what, names);
            error.text = fmt::format("there is no strategy {}{}; there are: {}", config::in_marks(a.what),
                                     close.empty() ? "" : fmt::format(" (did you mean '{}'?)", close),
                                     names.empty() ? "none" : config::listed(names));
            for (const std::string& warning : strategies.warnings())
                error.text += "\n" + warning;
        }
    }
    if (found.empty()) {
        complain(self, error.text);
        return failed;
    }
    output out;
    for (const strategy_class_ptr& cls : found)
        out.write(a.json ? as_json(*cls) + "\n" : as_text(*cls));
    return out.finish(self) ? done : failed;
}

}  // namespace

void add_plugin(CLI::App& program, chosen_command& chosen)
{
    CLI::App& app = *program.add_subcommand("plugin", "Shows which strategies are there and what each of them takes, and checks plugins.");
    app.require_subcommand(1);
    const auto add = [&](const char* name, const char* what, int (*run)(const plugin_arguments&)) {
        auto a = std::make_shared<plugin_arguments>();
        CLI::App& sub = *app.add_subcommand(name, what);
        add_text(sub, "-c,--config", a->config, "look where this configuration does")->type_name("FILE");
        add_text(sub, "--path", a->path, "look in this folder only")->type_name("DIR");
        sub.add_flag("--json", a->json, "a line of JSON for each strategy");
        sub.callback([a, run, &chosen] { chosen = [a, run] { return run(*a); }; });
        return std::pair{&sub, a};
    };
    add("list", "Lists the strategies that can be used, with the file of each. Without options: the bundled ones.", list);
    const auto [sub, a] = add(
        "describe", "Describes a strategy, or all that a file offers: its settings with type, range and default, its flags.", describe);
    add_text(*sub, "NAME", a->what, "a strategy's name, or a plugin's file")->required()->type_name("|FILE");
    add_plugin_new(app, chosen);
    add_plugin_check(app, chosen);
}

}  // namespace shunt::cli
