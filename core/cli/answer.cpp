// shunt answer: replies to the requests that come to a topic, for trying out and for tests.

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"
#include "interrupts.hpp"
#include "json.hpp"
#include "options_file.hpp"

#include <fmt/format.h>

#include <poll.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace shunt::cli {

namespace {

constexpr std::string_view self = "answer";

struct answer_arguments {
    std::string config, topic, body = "{body}";
    std::uint64_t count = 0;  // 0: until an interrupt
    bool json = false;
};

std::string filled_in(std::string text, const std::string& body)
{
    constexpr std::string_view mark = "{body}";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + body.size()))
        text.replace(at, mark.size(), body);
    return text;
}

int answer(const answer_arguments& a)
{
    auto loaded = load_options(self, a.config, strategies::checked);
    if (!loaded || !can_be_asked(self, loaded->options))
        return misused;
    auto made = make_producer(self, std::move(loaded->options));
    if (!made)
        return misused;
    const interrupts stop;
    std::mutex lock;
    output out;
    std::uint64_t answered = 0;
    made->answer_requests(a.topic, [&](const stored_message& request) -> std::optional<std::string> {
        const std::lock_guard held(lock);
        out.line(a.json ? json().object().member("msg_id", request.msg_id).member("body", request.body).end_object().take()
                        : fmt::format("request {}: {}", request.msg_id, config::printable(request.body, 4096)));
        out.flush();
        ++answered;
        return filled_in(a.body, request.body);
    });
    complain(self, "answering; ctrl-c ends");
    pollfd wait{stop.fd(), POLLIN, 0};
    while (!stop.requested()) {
        if (a.count != 0) {
            const std::lock_guard held(lock);
            if (answered >= a.count)
                break;
        }
        (void)::poll(&wait, 1, a.count != 0 ? 50 : -1);
    }
    made->close(std::chrono::seconds(1));
    return out.finish(self) ? done : failed;
}

}  // namespace

void add_answer(CLI::App& program, chosen_command& chosen)
{
    auto a = std::make_shared<answer_arguments>();
    CLI::App& app = *program.add_subcommand("answer", "Replies to the requests that come to a topic from now on: send --request waits for that.");
    app.footer("Every program that answers a topic answers every request of it: this is for trying out.\n");
    add_text(app, "-c,--config", a->config, "the configuration, see config/shunt.toml")->required()->type_name("FILE");
    add_option(app, "-t,--topic", config::topic_rule(), a->topic, "where requests come to")->required()->type_name("TOPIC");
    add_text(app, "--body", a->body, "the reply; {body} is that of the request. {body} unless said")->type_name("TEXT");
    add_option(app, "--count", config::whole_number{1, 1'000'000'000'000}, a->count, "so many, then end")->type_name("N");
    app.add_flag("--json", a->json, "a line of JSON for each request");
    app.callback([a, &chosen] { chosen = [a] { return answer(*a); }; });
}

}  // namespace shunt::cli
