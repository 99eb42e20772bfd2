// shunt route: what the name servers say about a topic.

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"
#include "json.hpp"
#include "options_file.hpp"
#include "questions.hpp"

#include <config/load.hpp>
#include <config/names.hpp>

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>

namespace shunt::cli {

namespace {

constexpr std::string_view self = "route";

struct route_arguments {
    std::string config, topic;
    bool json = false;
};

std::string permission(std::int32_t perm)
{
    return fmt::format("{}{}", (perm & route::perm_read) != 0 ? "r" : "-", (perm & route::perm_write) != 0 ? "w" : "-");
}

std::string_view binding_of(const config::chosen_policy& p) { return p.by != nullptr ? std::string_view(p.by->topic) : std::string_view{}; }

std::string as_json(const route::topic_route& r, const config::chosen_policy& p, std::chrono::milliseconds age)
{
    json out;
    out.object().member("topic", r.topic).member("order", r.ordered);
    for (const auto& [name, queues] : {std::pair{"publish", &r.publish}, {"subscribe", &r.subscribe}}) {
        out.key(name).array();
        for (const route::queue& q : *queues)
            out.object().member("broker", r.brokers[q.broker].name).member("queue", q.queue_id).end_object();
        out.end_array();
    }
    out.key("brokers").array();
    for (const route::broker& b : r.brokers) {
        out.object().member("name", b.name).member("cluster", b.cluster).key("addresses").object();
        for (const auto& [id, address] : b.addresses)
            out.member(std::to_string(id), address);
        out.end_object().member("perm", b.perm).member("read_queues", b.read_queues).member("write_queues", b.write_queues);
        out.end_object();
    }
    out.end_array().member("policy", p.policy).member("binding", binding_of(p));
    return out.member("age_ms", age.count()).end_object().take();
}

/// "broker-a 0-3, broker-b 0 2".
std::string queue_list(const route::topic_route& r, const std::vector<route::queue>& queues)
{
    std::string out;
    for (std::size_t i = 0; i < queues.size();) {
        std::size_t last = i;
        const auto follows = [&](const route::queue& next) {
            return next.broker == queues[i].broker && next.queue_id == queues[last].queue_id + 1;
        };
        while (last + 1 < queues.size() && follows(queues[last + 1]))
            ++last;
        const bool same = i != 0 && queues[i - 1].broker == queues[i].broker;
        out += same ? " " : fmt::format("{}{} ", i == 0 ? "" : ", ", r.brokers[queues[i].broker].name);
        out += last == i ? std::to_string(queues[i].queue_id) : fmt::format("{}-{}", queues[i].queue_id, queues[last].queue_id);
        i = last + 1;
    }
    return out.empty() ? "none" : out;
}

std::string as_text(const route::topic_route& r, const config::chosen_policy& p, std::chrono::milliseconds age)
{
    using side = table::side;
    table brokers({side::left, side::left, side::left, side::right, side::right, side::left});
    brokers.row({"broker", "cluster", "perm", "read", "write", "addresses"});
    for (const route::broker& b : r.brokers) {
        std::string addresses;
        for (const auto& [id, address] : b.addresses)
            addresses += fmt::format("{}{}{}", addresses.empty() ? "" : ", ", address, id == 0 ? "" : fmt::format(" (slave {})", id));
        brokers.row({b.name, b.cluster, permission(b.perm), std::to_string(b.read_queues), std::to_string(b.write_queues), addresses});
    }
    return fmt::format("topic {}{}, {} ms old\n{}publish: {}\nsubscribe: {}\npolicy: {}\n", r.topic, r.ordered ? ", with an order configuration" : "",
                       age.count(), brokers.text(), queue_list(r, r.publish), queue_list(r, r.subscribe), in_words(p.policy, binding_of(p)));
}

int show_route(const route_arguments& a)
{
    const auto loaded = load_options(self, a.config, strategies::ignored);
    if (!loaded || !can_be_asked(self, loaded->options))
        return misused;
    const interrupts stop;
    route_answer answer;
    answer.text = "interrupted";
    std::chrono::steady_clock::time_point came;
    {
        questions net(loaded->options, stop);
        if (!net.ready(self))
            return misused;
        net.route(a.topic, [&](route_answer heard) {
            came = std::chrono::steady_clock::now();
            answer = std::move(heard);
            net.end();
        });
        net.run();
    }
    switch (answer.what) {
    case route_answer::kind::found: break;
    case route_answer::kind::unknown_topic:
        complain(self, fmt::format("topic '{}' is not known to the name servers ({}){}", a.topic,
                                   config::listed(loaded->options.name_servers),
                                   !loaded->options.auto_create_topics ? ""
                                   : fmt::format("; a send would go by the route of the default topic '{}'",
                                                 loaded->options.default_topic)));
        return failed;
    case route_answer::kind::failed:
        complain(self, fmt::format("no route of topic '{}': {}", a.topic, answer.text));
        return failed;
    }
    for (const std::string& warning : answer.route.warnings)
        complain(self, warning);
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - came);
    output out;
    const auto policy = config::policy_of(loaded->options, a.topic);
    out.write(a.json ? as_json(answer.route, policy, age) + "\n" : as_text(answer.route, policy, age));
    return out.finish(self) ? done : failed;
}

}  // namespace

void add_route(CLI::App& program, chosen_command& chosen)
{
    auto a = std::make_shared<route_arguments>();
    CLI::App& app = *program.add_subcommand(
        "route", "Asks the name servers for a topic's route: brokers, permissions, queues to write to and to read from; and tells which policy "
                 "of the configuration it gets, and by which binding.");
    add_text(app, "-c,--config", a->config, "the configuration, see config/shunt.toml")->required()->type_name("FILE");
    add_option(app, "TOPIC", config::topic_rule(), a->topic, "the topic")->required()->type_name(" ");
    app.add_flag("--json", a->json, "one object");
    app.callback([a, &chosen] { chosen = [a] { return show_route(*a); }; });
}

}  // namespace shunt::cli
