#include <client/name_servers.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace shunt::client {

namespace {

constexpr int silent_before_drop = 2;  // a connection on which so many questions in a row got no answer is dead

}  // namespace

struct name_servers::round {
    std::string topic;
    std::int64_t deadline_ns = 0;
    std::function<void(const route_answer&)> done;
    std::size_t first = 0, tried = 0;
    bool unknown = false;
    std::string text;
};

name_servers::name_servers(net::links& l, std::vector<std::string> addresses, wire::header_format format, std::uint64_t seed)
    : links_(l), addresses_(std::move(addresses)), format_(format), preferred_(addresses_.empty() ? 0 : seed % addresses_.size())
{
}

void name_servers::route(const std::string& topic, std::int64_t deadline_ns, std::function<void(const route_answer&)> done)
{
    auto r = std::make_shared<round>();
    r->topic = topic;
    r->deadline_ns = deadline_ns;
    r->done = std::move(done);
    r->first = preferred_;
    try_next(r);
}

void name_servers::try_next(const std::shared_ptr<round>& r)
{
    const std::int64_t left_ns = r->deadline_ns - links_.now_ns();
    if (r->tried == addresses_.size() || left_ns <= 0) {
        route_answer a;
        a.what = r->unknown && r->tried == addresses_.size() ? route_answer::kind::unknown_topic : route_answer::kind::failed;
        a.text = r->text.empty() ? "no time was left to ask a name server" : r->text;
        r->done(a);
        return;
    }
    const std::size_t index = (r->first + r->tried) % addresses_.size();
    const std::size_t others = addresses_.size() - r->tried - 1;
    ++r->tried;
    const std::int64_t share_ns = others == 0 ? left_ns : left_ns / static_cast<std::int64_t>(others + 2);
    const std::string address = addresses_[index];
    net::question q;
    q.code = wire::code::get_route_by_topic;
    q.fields = {{"topic", r->topic}, {"acceptStandardJsonOnly", "true"}};
    net::ask(links_, address, format_, std::move(q), links_.now_ns() + share_ns, [this, r, index, address](const net::reply& rep) {
        if (rep.how == send::ending::answered) {
            silent_[address] = 0;
            if (rep.answer->code == wire::response::success) {
                preferred_ = index;
                route_answer a;
                a.what = route_answer::kind::found;
                a.body = rep.body;
                r->done(a);
                return;
            }
            if (rep.answer->code == wire::response::topic_not_exist)
                r->unknown = true;
            else if (rep.answer->code == wire::response::request_code_not_supported)
                r->text = address + " does not answer route questions: it is no name server; a broker's port, perhaps";
            else
                r->text = "name server " + address + " answered " + std::to_string(rep.answer->code) + " '" + std::string(rep.answer->remark) + "'";
        } else {
            r->text = "name server " + address + ": " + std::string(rep.text);
            if (preferred_ == index && addresses_.size() > 1)
                preferred_ = (index + 1) % addresses_.size();
            if (rep.how == send::ending::expired && ++silent_[address] >= silent_before_drop) {
                silent_[address] = 0;
                links_.drop(address, "name server " + address + " stopped answering");
            }
        }
        try_next(r);
    });
}

}  // namespace shunt::client
