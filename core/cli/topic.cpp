// shunt topic and shunt message: creating topics, offsets, messages by id and by key, recall.

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"
#include "json.hpp"
#include "options_file.hpp"

#include <cluster/embedded_cluster.hpp>

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shunt::cli {

namespace {

struct asking_arguments {
    std::string config, topic, id, key;
    topic_settings settings;
    std::chrono::milliseconds timeout{3000};
    int most = 32;
    bool json = false;
};

using question = std::function<exit_status(producer& p, const asking_arguments& a, output& out)>;

exit_status failed_with(std::string_view command, const ask_error& e)
{
    complain(command, e.text.empty() ? e.code.message() : e.text);
    return failed;
}

int ask(std::string_view command, const asking_arguments& a, const question& what)
{
    auto loaded = load_options(command, a.config, strategies::checked);
    if (!loaded || !can_be_asked(command, loaded->options))
        return misused;
    auto made = make_producer(command, std::move(loaded->options));
    if (!made)
        return misused;
    output out;
    const exit_status status = what(*made, a, out);
    made->close(std::chrono::seconds(1));
    return out.finish(command) ? status : failed;
}

// ---- topics ----

exit_status create(producer& p, const asking_arguments& a, output& out)
{
    const auto brokers = p.create_topic(a.topic, a.settings, a.timeout);
    if (!brokers)
        return failed_with("topic create", brokers.error());
    if (a.json) {
        json line;
        line.object().member("topic", a.topic).member("queues", a.settings.queues).member("perm", a.settings.perm).key("brokers").array();
        for (const std::string& name : *brokers)
            line.value(name);
        out.line(line.end_array().end_object().text());
    } else {
        out.line(fmt::format("topic {}: {} queues on each of {}", a.topic, a.settings.queues, config::listed(*brokers)));
    }
    return done;
}

exit_status show(producer& p, const asking_arguments& a, output& out)
{
    const auto route = p.route(a.topic, a.timeout);
    if (!route) {
        complain("topic show", fmt::format("topic '{}': {}", a.topic, route.error().message()));
        return failed;
    }
    if (a.json) {
        json line;
        line.object().member("topic", a.topic).key("queues").array();
        for (const auto& [broker, queue] : route->publish)
            line.object().member("broker", broker).member("queue", queue).end_object();
        out.line(line.end_array().end_object().text());
        return done;
    }
    table shown({table::side::left, table::side::right});
    shown.row({"broker", "queue"});
    for (const auto& [broker, queue] : route->publish)
        shown.row({broker, std::to_string(queue)});
    out.write(shown.text());
    return done;
}

exit_status offsets(producer& p, const asking_arguments& a, output& out)
{
    constexpr std::string_view self = "topic offsets";
    const auto route = p.route(a.topic, a.timeout);
    if (!route) {
        complain(self, fmt::format("topic '{}': {}", a.topic, route.error().message()));
        return failed;
    }
    exit_status status = done;
    table shown({table::side::left, table::side::right, table::side::right, table::side::right});
    shown.row({"broker", "queue", "min", "max"});
    for (const auto& [broker, queue] : route->subscribe) {
        const auto min = p.min_offset(a.topic, broker, queue, a.timeout);
        const auto max = p.max_offset(a.topic, broker, queue, a.timeout);
        if (!min || !max) {
            status = failed_with(self, !min ? min.error() : max.error());
            continue;
        }
        if (a.json)
            out.line(json().object().member("broker", broker).member("queue", queue).member("min", *min).member("max", *max).end_object().text());
        else
            shown.row({broker, std::to_string(queue), std::to_string(*min), std::to_string(*max)});
    }
    if (!a.json)
        out.write(shown.text());
    return status;
}

// ---- messages ----

void print(const stored_message& m, bool as_json, output& out)
{
    if (as_json) {
        cluster::stored_record r;
        r.broker = m.broker;
        r.topic = m.topic;
        r.queue = m.queue;
        r.offset = m.offset;
        r.msg_id = m.msg_id;
        r.offset_msg_id = m.offset_msg_id;
        r.key = m.property("KEYS");
        r.tag = m.property("TAGS");
        r.properties = m.properties;
        r.body = m.body;
        r.flag = m.flag;
        r.born_ms = std::chrono::duration_cast<std::chrono::milliseconds>(m.born.time_since_epoch()).count();
        r.stored_ms = std::chrono::duration_cast<std::chrono::milliseconds>(m.stored.time_since_epoch()).count();
        out.line(cluster::to_json(r));
        return;
    }
    out.line(fmt::format("{} in {}/{} @{}, offset id {}", m.msg_id, m.broker, m.queue, m.offset, m.offset_msg_id));
    out.line(fmt::format("born at {}, stored at {}", m.born_host, m.store_host));
    for (const auto& [name, value] : m.properties)
        out.line(fmt::format("  {} = {}", config::printable(name), config::printable(value)));
    out.line(config::printable(m.body, 4096));
}

exit_status show_message(producer& p, const asking_arguments& a, output& out)
{
    constexpr std::string_view self = "message show";
    if (!a.key.empty()) {
        const auto found = p.query(a.topic, a.key, a.most, a.timeout);
        if (!found)
            return failed_with(self, found.error());
        for (const stored_message& m : *found)
            print(m, a.json, out);
        if (found->empty())
            complain(self, fmt::format("no message of topic '{}' has key {}", a.topic, config::in_marks(a.key)));
        return found->empty() ? failed : done;
    }
    if (a.id.empty()) {
        complain(self, "an id or --key is missing");
        return misused;
    }
    const auto found = p.view(a.topic, a.id, a.timeout);
    if (!found)
        return failed_with(self, found.error());
    print(*found, a.json, out);
    return done;
}

exit_status recall_message(producer& p, const asking_arguments& a, output& out)
{
    const auto id = p.recall(a.topic, a.id, a.timeout);
    if (!id)
        return failed_with("message recall", id.error());
    out.line(a.json ? json().object().member("msg_id", *id).end_object().take() : "recalled " + *id);
    return done;
}

/// A command below `app`, with the options they all have.
std::pair<CLI::App*, std::shared_ptr<asking_arguments>> add_asking(CLI::App& app, const std::string& name, const std::string& what,
                                                                   question run, chosen_command& chosen)
{
    auto a = std::make_shared<asking_arguments>();
    CLI::App& sub = *app.add_subcommand(name, what);
    add_text(sub, "-c,--config", a->config, "the configuration, see config/shunt.toml")->required()->type_name("FILE");
    add_option(sub, "-t,--topic", config::topic_rule(), a->topic, "the topic")->required()->type_name("TOPIC");
    add_option(sub, "--timeout", config::duration{std::chrono::milliseconds(1), std::chrono::hours(1)}, a->timeout, "for each question; 3s unless said")
        ->type_name("D");
    sub.add_flag("--json", a->json, "JSON");
    sub.callback([a, run = std::move(run), full = app.get_name() + " " + name, &chosen] {
        chosen = [a, run, full] { return ask(full, *a, run); };
    });
    return {&sub, a};
}

}  // namespace

void add_topic(CLI::App& program, chosen_command& chosen)
{
    CLI::App& app = *program.add_subcommand("topic", "Creates topics, and tells of their queues and offsets.");
    app.require_subcommand(1);
    const auto [sub, a] = add_asking(app, "create", "Creates a topic on the brokers, or changes it to these settings.", create, chosen);
    topic_settings& s = a->settings;
    add_option(*sub, "--queues", config::whole_number{1, 65535}, s.queues, "on each broker; 4 unless said")->type_name("N");
    add_option(*sub, "--perm", config::whole_number{2, 6}, s.perm, "2 write, 4 read, 6 both; 6 unless said")->type_name("N");
    add_option(*sub, "--type",
               config::enumerated<topic_kind>{{{"unspecified", "normal", "fifo", "delay", "transaction", "priority"}}}, s.kind,
               "what kind of messages it is for; brokers keep it, proxies hold senders to it")->type_name("TYPE");
    sub->add_flag("--ordered", s.ordered, "an order topic");
    sub->add_option("--broker", s.brokers, "on this broker only; may be repeated")->type_name("NAME")->allow_extra_args(false);
    add_asking(app, "show", "Lists the queues messages can be sent to.", show, chosen);
    add_asking(app, "offsets", "Lists the first offset of each queue, and the one after its last.", offsets, chosen);
}

void add_message(CLI::App& program, chosen_command& chosen)
{
    CLI::App& app = *program.add_subcommand("message", "Shows stored messages, and takes delayed ones back.");
    app.require_subcommand(1);
    const auto [shown, a] = add_asking(app, "show", "Shows a message by its id, or all that have a key.", show_message, chosen);
    CLI::Option* id = add_text(*shown, "ID", a->id, "msg_id or offset_msg_id of its receipt")->type_name(" ");
    CLI::Option* key = add_text(*shown, "--key", a->key, "one of its keys")->type_name("K");
    add_option(*shown, "--count", config::whole_number{1, 1024}, a->most, "at most so many from each broker; 32 unless said")->type_name("N");
    key->excludes(id);
    const auto [recalled, r] = add_asking(app, "recall", "Takes a message with a delay back, by the recall_handle of its receipt.",
                                          recall_message, chosen);
    add_text(*recalled, "HANDLE", r->id, "recall_handle of its receipt")->required()->type_name(" ");
}

}  // namespace shunt::cli
