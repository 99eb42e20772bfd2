// shunt policy: looks at the policies of a running producer and changes them, by its admin endpoint.

#include "policy.hpp"

#include "command.hpp"
#include "console.hpp"
#include "options_file.hpp"

#include <fmt/format.h>

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace shunt::cli {

namespace {

namespace js = boost::json;

constexpr std::chrono::seconds usual_limit{10}, stage_limit{75};

/// "0.1" or "10%".
double share_of(const std::string& name, const std::string& text)
{
    std::string_view number = text;
    const bool percent = number.ends_with("%");
    if (percent)
        number.remove_suffix(1);
    double share = 0;
    const auto [end, ec] = std::from_chars(number.data(), number.data() + number.size(), share);
    if (percent)
        share /= 100;
    if (number.empty() || ec != std::errc{} || end != number.data() + number.size() || !(share > 0 && share <= 1))
        refuse_argument(name, text, "a share: above 0 and at most 1, as in 0.1 or 10%");
    return share;
}

std::string user()
{
    const passwd* const me = ::getpwuid(::geteuid());
    return me != nullptr && me->pw_name != nullptr ? me->pw_name : std::to_string(::geteuid());
}

std::string whole_file(const std::string& path)
{
    constexpr std::size_t most = 1024 * 1024;
    std::string out;
    if (const int error = config::read_whole(path, most, out); error != 0)
        throw std::runtime_error(fmt::format("{} cannot be read: {}", config::in_marks(path), std::generic_category().message(error)));
    if (out.size() > most)
        throw std::runtime_error(fmt::format("{} has more than {} bytes; a configuration has at most so many", config::in_marks(path), most));
    if (out.empty())
        throw std::runtime_error(fmt::format("{} is empty", config::in_marks(path)));
    return out;
}

/// The answer's error, told. True: it is one.
bool complained(const policy_arguments& a, const admin_reply& r)
{
    if (r.status < 400 || r.status == 422)
        return false;
    complain(a.command, text(parsed(r), "error"));
    return true;
}

int list(const policy_arguments& a)
{
    const auto where = endpoint_of(a);
    if (!where)
        return misused;
    const admin_reply r = ask_admin(*where, false, "/policies", {}, usual_limit);
    if (complained(a, r))
        return failed;
    output out;
    if (a.json) {
        out.write(r.body);
        return out.finish(a.command) ? done : failed;
    }
    const js::value all = parsed(r);
    using side = table::side;
    table policies({side::left, side::left, side::left, side::left, side::right, side::right});
    policies.row({"policy", "selector", "filters", "fault", "decisions", "errors"});
    for (const js::value& p : all.at("policies").as_array()) {
        std::string filters;
        for (const js::value& f : p.at("filters").as_array())
            filters += (filters.empty() ? "" : ", ") + std::string(f.as_string());
        policies.row({text(p, "name") + (p.at("ordered").as_bool() ? " (ordered)" : ""), text(p, "selector"), filters.empty() ? "-" : filters,
                      text(p, "fault"), grouped(number(p, "decisions")), grouped(number(p, "plugin_errors"))});
    }
    table swaps({side::right, side::left, side::right, side::left, side::left, side::left});
    swaps.row({"swap", "state", "generation", "who", "what", "reason"});
    for (const js::value& s : all.at("swaps").as_array()) {
        const std::uint64_t generation = number(s, "generation");
        std::string reason = text(s, "reason");
        if (const std::size_t line = reason.find('\n'); line != reason.npos)
            reason = reason.substr(0, line) + " ...";
        const auto or_dash = [](std::string t) { return t.empty() ? "-" : t; };
        swaps.row({std::to_string(number(s, "id")), text(s, "state"), generation == 0 ? "-" : std::to_string(generation), or_dash(text(s, "who")),
                   or_dash(text(s, "what")), or_dash(reason)});
    }
    out.write(policies.text() + "\n" + swaps.text());
    if (const std::uint64_t keys = number(all, "keys_on_old_map"); keys != 0)
        out.line(fmt::format("{} of ordered topics still go by policies before those in force", counted(keys, "key")));
    return out.finish(a.command) ? done : failed;
}

int stage(const policy_arguments& a)
{
    const auto where = endpoint_of(a);
    if (!where)
        return misused;
    std::string target = "/policies/stage?who=" + encoded(user());
    std::string body;
    if (!a.file.empty()) {
        body = whole_file(a.file);
        target += "&file=" + encoded(std::filesystem::absolute(a.file).lexically_normal().string());
    }
    for (const auto& [name, share] : {std::pair{"shadow", a.shadow}, {"canary", a.canary}})
        if (share > 0)
            target += fmt::format("&{}={}", name, share);
    for (const auto& [name, on] : {std::pair{"now", a.now}, {"force", a.force}, {"hold", a.hold}, {"auto_promote", a.auto_promote}})
        if (on)
            target += fmt::format("&{}=true", name);
    const admin_reply r = ask_admin(*where, true, target, body, stage_limit);
    if (complained(a, r))
        return failed;
    const js::value swap = parsed(r);
    const std::string state = text(swap, "state"), reason = text(swap, "reason");
    output out;
    if (a.json)
        out.write(r.body);
    complain(a.command, fmt::format("swap {}: {}{}{}", number(swap, "id"), state, reason.empty() ? "" : ": ", reason));
    if (!a.json && state != "refused")
        out.line(std::to_string(number(swap, "id")));
    return out.finish(a.command) && state != "refused" ? done : failed;
}

int diff(const policy_arguments& a)
{
    const auto where = endpoint_of(a);
    if (!where)
        return misused;
    const std::string body = whole_file(a.file);
    const admin_reply r = ask_admin(*where, true, "/policies/diff?file=" + encoded(std::filesystem::absolute(a.file).lexically_normal().string()), body,
                                    usual_limit);
    if (complained(a, r))
        return failed;
    const js::value said = parsed(r);
    output out;
    if (a.json) {
        out.write(r.body);
    } else {
        for (const js::value& c : said.at("changes").as_array()) {
            const auto or_none = [](std::string t) { return t.empty() ? "(not there)" : t; };
            out.line(fmt::format("{}: {} -> {}{}", text(c, "key"), or_none(text(c, "from")), or_none(text(c, "to")),
                                 c.at("live").as_bool() ? "" : "  (needs a restart)"));
        }
    }
    for (const js::value& p : said.at("problems").as_array())
        complain(a.command, std::string(p.as_string()));
    return out.finish(a.command) && said.at("ok").as_bool() ? done : failed;
}

/// shadow, canary, promote, rollback, barrier.
int verb(const policy_arguments& a, std::string_view name)
{
    const auto where = endpoint_of(a);
    if (!where)
        return misused;
    std::string target = "/policies/" + (a.id ? std::to_string(*a.id) + "/" : "") + std::string(name);
    if (a.share > 0)
        target += fmt::format("?share={}", a.share);
    if (name == "rollback")
        target += "?reason=" + encoded(a.reason.empty() ? "asked for by " + user() : a.reason);
    const admin_reply r = ask_admin(*where, true, target, {}, usual_limit);
    if (complained(a, r))
        return failed;
    output out;
    const js::value said = parsed(r);
    if (a.json)
        out.write(r.body);
    else if (name == "barrier")
        out.line("set: a key may move as soon as nothing of it is under way");
    else
        out.line(fmt::format("swap {}: {}", number(said, "id"), text(said, "state")));
    return out.finish(a.command) ? done : failed;
}

}  // namespace

std::optional<admin_options> endpoint_of(const policy_arguments& a)
{
    std::vector<config::problem> problems;
    const config::loaded loaded = config::load_file(a.config, problems);
    // A producer goes on as it was when its file is spoiled, and then it is asked all the more.
    const bool in_the_way = std::any_of(problems.begin(), problems.end(), [](const config::problem& p) { return p.key.empty() || p.key.starts_with("admin"); });
    if (in_the_way || (!problems.empty() && loaded.options.admin.listen.empty())) {
        for (const config::problem& p : problems)
            complain(a.command, config::to_string(p));
        return std::nullopt;
    }
    if (!problems.empty())
        complain(a.command, fmt::format("{} has {}, see `shunt config check`; its [admin] is well", a.config, counted(problems.size(), "problem")));
    if (loaded.options.admin.listen.empty()) {
        complain(a.command, a.config + ": admin.listen is not set; a producer is asked where its configuration says, as in [admin] listen = "
                                       "\"unix:/run/app/shunt.sock\"");
        return std::nullopt;
    }
    return loaded.options.admin;
}

js::value parsed(const admin_reply& r)
{
    boost::system::error_code ec;
    js::value v = js::parse(r.body, ec);
    if (ec || !v.is_object())
        throw std::runtime_error(fmt::format("the answer (status {}) is not that of a producer: {}", r.status, config::printable(r.body, 200)));
    return v;
}

js::value ask(const admin_options& where, const std::string& target)
{
    const admin_reply r = ask_admin(where, false, target, {}, usual_limit);
    js::value v = parsed(r);
    if (r.status != 200)
        throw std::runtime_error(text(v, "error"));
    return v;
}

std::string text(const js::value& of, std::string_view member)
{
    const js::value* const found = of.is_object() ? of.as_object().if_contains(member) : nullptr;
    std::string out;
    if (found == nullptr || !found->is_string())
        return out;
    // What others wrote, line by line: nothing of it steers a terminal.
    std::string_view left(found->as_string().data(), found->as_string().size());
    for (;;) {
        const std::size_t end = left.find('\n');
        out += config::printable(left.substr(0, end));
        if (end == left.npos)
            return out;
        out += '\n';
        left.remove_prefix(end + 1);
    }
}

std::uint64_t number(const js::value& of, std::string_view member)
{
    const js::value* const found = of.is_object() ? of.as_object().if_contains(member) : nullptr;
    boost::system::error_code ec;
    return found != nullptr && found->is_number() ? found->to_number<std::uint64_t>(ec) : 0;
}

void add_policy(CLI::App& program, chosen_command& chosen)
{
    CLI::App& app = *program.add_subcommand(
        "policy", "Looks at the policies of a running producer, stages others, and puts them in force or takes them back. The producer is asked "
                  "where [admin] of its configuration says.");
    app.require_subcommand(1);
    struct what {
        const char *name, *help;
        int (*run)(const policy_arguments&);
    };
    const auto add = [&](const what& w) {
        auto a = std::make_shared<policy_arguments>();
        a->command = std::string("policy ") + w.name;
        CLI::App& sub = *app.add_subcommand(w.name, w.help);
        add_text(sub, "-c,--config", a->config, "the configuration of the running producer")->required()->type_name("FILE");
        sub.add_flag("--json", a->json, "what the endpoint answers");
        sub.callback([a, run = w.run, &chosen] { chosen = [a, run] { return run(*a); }; });
        return std::pair{&sub, a};
    };
    const auto add_share = [](CLI::App& sub, const std::string& flag, double& into, const std::string& help) {
        return sub.add_option_function<std::string>(flag, [flag, &into](const std::string& text) { into = share_of(flag, text); }, help)->type_name("SHARE");
    };
    const auto add_id = [](CLI::App& sub, const std::shared_ptr<policy_arguments>& a, const std::string& otherwise) {
        sub.add_option("ID", a->id, "which swap; " + otherwise + " unless said")->type_name(" ");
    };

    (void)add({"list", "The policies in force, and the swaps so far.", list});
    {
        const auto [sub, a] = add({"stage", "Stages a configuration: it is checked, loaded, tried, and put in force, or held on the way. Prints its swap's number.", stage});
        add_text(*sub, "NEW", a->file, "the new configuration; without it that of the producer is read again")->type_name(" ");
        add_share(*sub, "--shadow", a->shadow, "first it decides beside what is in force, without effect, for this share of the sends");
        add_share(*sub, "--canary", a->canary, "then this share of the sends goes by it, until it is promoted or taken back");
        sub->add_flag("--auto-promote", a->auto_promote, "a canary that has proved no worse is put in force by itself");
        sub->add_flag("--hold", a->hold, "stop when it is ready, until shadow, canary or promote");
        sub->add_flag("--now", a->now, "keys of ordered topics move at once; refused where that could break their order");
        sub->add_flag("--force", a->force, "with --now: even there");
        sub->footer("A share is above 0 and at most 1, as in 0.1 or 10%.\nExit status: 0 it was admitted, 1 it was refused, 2 wrong usage or configuration.\n");
    }
    {
        const auto [sub, a] = add({"diff", "What a configuration would change in the running producer, and whether that takes a restart.", diff});
        add_text(*sub, "NEW", a->file, "the new configuration")->required()->type_name(" ");
    }
    {
        const auto [sub, a] = add({"shadow", "Lets the candidate decide beside what is in force, without effect.",
                                   [](const policy_arguments& w) { return verb(w, "shadow"); }});
        add_id(*sub, a, "the candidate");
        add_share(*sub, "--share", a->share, "of the sends, as in 0.1 or 10%")->required();
    }
    {
        const auto [sub, a] = add({"canary", "Lets a share of the sends go by the candidate.", [](const policy_arguments& w) { return verb(w, "canary"); }});
        add_id(*sub, a, "the candidate");
        add_share(*sub, "--share", a->share, "of the sends, as in 0.1 or 10%")->required();
    }
    {
        const auto [sub, a] = add({"promote", "Puts the candidate in force, or brings back what was in force before.",
                                   [](const policy_arguments& w) { return verb(w, "promote"); }});
        add_id(*sub, a, "the candidate");
    }
    {
        const auto [sub, a] = add({"rollback", "Takes the candidate back; where there is none, what is in force goes back to what was before.",
                                   [](const policy_arguments& w) { return verb(w, "rollback"); }});
        add_id(*sub, a, "the candidate, else what is in force,");
        add_text(*sub, "--reason", a->reason, "for the record")->type_name("TEXT");
    }
    (void)add({"barrier", "Ordered topics: consumers have read what was sent before, so keys may move as soon as nothing of them is under way.",
               [](const policy_arguments& w) { return verb(w, "barrier"); }});
    {
        const auto [sub, a] = add({"watch", "Shows, again and again, the share of each broker, failures, p99, and a candidate beside what is in force.", watch_policies});
        add_option(*sub, "--interval", config::duration{std::chrono::milliseconds(100), std::chrono::hours(1)}, a->interval, "between two looks; 1s unless said")
            ->type_name("D");
        add_option(*sub, "--count", config::whole_number{1, 1'000'000'000}, a->count, "so many looks, then end")->type_name("N");
        sub->footer("On a terminal the view is drawn anew, elsewhere each look is a line. ctrl-c ends.\n");
    }
}

}  // namespace shunt::cli
