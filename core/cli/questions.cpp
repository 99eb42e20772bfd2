#include "questions.hpp"

#include "console.hpp"

#include <config/certificates.hpp>
#include <config/credentials.hpp>
#include <wire/command.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <utility>

namespace shunt::cli {

namespace {

constexpr std::chrono::milliseconds answer_limit{3000};

}  // namespace

struct questions::round {
    std::string topic;
    std::function<void(route_answer)> done;
    std::size_t tried = 0;
    bool unknown = false;
    std::string text;
};

// The descriptor here is a second one of the same pipe, since it is closed with this.
questions::questions(const producer_options& options, const interrupts& stop)
    : servers_(options.name_servers),
      format_(options.format == wire_format::json ? wire::header_format::json : wire::header_format::binary),
      stop_(context_, ::dup(stop.fd())), links_(std::make_shared<net::links>(context_.get_executor(), options.connect_timeout))
{
    links_->lifetime = links_;
    std::vector<config::problem> problems;
    if (const auto who = config::read_credentials(options.acl, problems))
        links_->signer = std::make_unique<wire::signer>(who->access_key, who->secret_key, who->security_token);
    links_->certificates = config::read_certificates(options.tls, problems);
    trouble_ = config::lines(problems);
    stop_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](const boost::system::error_code& ec) {
        if (!ec)
            end();
    });
}

questions::~questions()
{
    over_ = true;
    links_->close_all("the command has ended");
    stop_.close();
    context_.restart();
    context_.poll();
}

bool questions::ready(std::string_view command) const
{
    if (!trouble_.empty())
        complain(command, trouble_);
    return trouble_.empty();
}

void questions::route(const std::string& topic, std::function<void(route_answer)> done)
{
    auto r = std::make_shared<round>();
    r->topic = topic;
    r->done = std::move(done);
    try_next(r);
}

void questions::try_next(const std::shared_ptr<round>& r)
{
    if (r->tried == servers_.size()) {
        route_answer a;
        a.what = r->unknown ? route_answer::kind::unknown_topic : route_answer::kind::failed;
        a.text = r->text;
        r->done(std::move(a));
        return;
    }
    const std::string& server = servers_[r->tried++];
    net::question q;
    q.code = wire::code::get_route_by_topic;
    q.fields = {{"topic", r->topic}, {"acceptStandardJsonOnly", "true"}};
    ask(server, std::move(q), [this, r, server](const net::reply& reply) {
        const auto failed = [&](std::string_view why) {
            r->text += fmt::format("{}name server {}: {}", r->text.empty() ? "" : "; ", server, why);
        };
        if (reply.how == send::ending::answered && reply.answer->code == wire::response::topic_not_exist) {
            r->unknown = true;
        } else if (const std::string why = failure_of(reply); !why.empty()) {
            failed(why);
        } else {
            auto parsed = route::parse_route(r->topic, reply.body);
            if (parsed.route) {
                route_answer a;
                a.what = route_answer::kind::found;
                a.route = std::move(*parsed.route);
                r->done(std::move(a));
                return;
            }
            failed(parsed.error);
        }
        try_next(r);
    });
}

void questions::ask(const std::string& address, net::question q, std::function<void(const net::reply&)> done)
{
    // Not from within another answer: the network is told of new work when it is at rest.
    boost::asio::post(context_, [this, address, q = std::move(q), done = std::move(done)]() mutable {
        if (over_)
            return;
        const std::int64_t deadline_ns = links_->refresh() + std::chrono::nanoseconds(answer_limit).count();
        net::ask(*links_, address, format_, std::move(q), deadline_ns, [this, done = std::move(done)](const net::reply& r) {
            if (!over_)
                done(r);
        });
        links_->flush_all();
    });
}

void questions::after(std::chrono::milliseconds time, std::function<void()> then)
{
    auto timer = std::make_shared<boost::asio::steady_timer>(context_, time);
    timer->async_wait([this, timer, then = std::move(then)](const boost::system::error_code&) {
        if (!over_)
            then();
    });
}

void questions::run()
{
    const auto work = boost::asio::make_work_guard(context_);
    context_.run();
}

void questions::end()
{
    over_ = true;
    context_.stop();
}

std::string failure_of(const net::reply& r)
{
    if (r.how != send::ending::answered)
        return std::string(r.text);
    if (r.answer->code == wire::response::success)
        return {};
    return fmt::format("it answered {} '{}'", r.answer->code, r.answer->remark);
}

}  // namespace shunt::cli
