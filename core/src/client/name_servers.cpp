#include <client/name_servers.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace shunt::client {

namespace {

constexpr int silent_before_drop = 2;  // a connection on which so many questions in a row got no answer is dead

}  // namespace

struct name_servers::round {
    enum class state : std::uint8_t { not_asked, asked, late, ended };  ///< late: its share is over, it may still answer
    struct hook : net::timer_hook {
        name_servers* servers = nullptr;
        std::weak_ptr<round> owner;
    };
    net::question question;
    std::int64_t deadline_ns = 0, wanted_ns = 0;
    std::function<void(const route_answer&)> done;
    std::size_t first = 0, tried = 0;
    std::vector<state> of;  ///< by server. Questions without an answer own the round
    bool unknown = false, over = false;
    std::string text;
    hook next;  ///< when to ask the next one as well
};

name_servers::name_servers(net::links& l, std::vector<std::string> addresses, wire::header_format format, std::uint64_t seed)
    : links_(l), addresses_(std::move(addresses)), format_(format), preferred_(addresses_.empty() ? 0 : seed % addresses_.size())
{
}

void name_servers::route(const std::string& topic, std::int64_t deadline_ns, std::int64_t wanted_ns, std::function<void(const route_answer&)> done)
{
    net::question q;
    q.code = wire::code::get_route_by_topic;
    q.fields = {{"topic", topic}, {"acceptStandardJsonOnly", "true"}};
    ask(std::move(q), deadline_ns, wanted_ns, std::move(done));
}

void name_servers::ask(net::question q, std::int64_t deadline_ns, std::int64_t wanted_ns, std::function<void(const route_answer&)> done)
{
    auto r = std::make_shared<round>();
    r->question = std::move(q);
    r->deadline_ns = deadline_ns;
    r->wanted_ns = std::min(wanted_ns, deadline_ns);
    r->done = std::move(done);
    r->first = preferred_;
    r->of.resize(addresses_.size());
    r->next.servers = this;
    r->next.owner = r;
    r->next.expired = [](net::timer_hook& hook) {
        auto& h = static_cast<round::hook&>(hook);
        if (const auto slow = h.owner.lock()) {
            name_servers& self = *h.servers;
            const std::size_t index = (slow->first + slow->tried - 1) % self.addresses_.size();
            slow->of[index] = round::state::late;
            if (self.preferred_ == index)
                self.preferred_ = (index + 1) % self.addresses_.size();
            self.try_next(slow);
        }
    };
    try_next(r);
}

void name_servers::end(const std::shared_ptr<round>& r, route_answer a)
{
    r->over = true;
    links_.clear_timer(r->next);
    r->done(a);
}

void name_servers::try_next(const std::shared_ptr<round>& r)
{
    links_.clear_timer(r->next);
    const std::int64_t now = links_.now_ns(), left_ns = r->deadline_ns - now;
    if (r->tried == addresses_.size() || left_ns <= 0) {
        const auto any = [&](round::state s) { return std::find(r->of.begin(), r->of.end(), s) != r->of.end(); };
        // Where others deny the topic one that is late does not hold that up.
        if (any(round::state::asked) || (any(round::state::late) && !r->unknown))
            return;
        route_answer a;
        a.what = r->unknown && r->tried == addresses_.size() ? route_answer::kind::unknown_topic : route_answer::kind::failed;
        a.text = r->text.empty() ? "no time was left to ask a name server" : r->text;
        end(r, std::move(a));
        return;
    }
    const std::size_t index = (r->first + r->tried) % addresses_.size();
    const std::size_t others = addresses_.size() - r->tried - 1;
    ++r->tried;
    r->of[index] = round::state::asked;
    if (others != 0 || r->unknown)
        links_.set_timer(r->next, now + std::max<std::int64_t>(0, r->wanted_ns - now) / static_cast<std::int64_t>(others + 2));
    const std::string address = addresses_[index];
    net::ask(links_, address, format_, r->question, r->deadline_ns, [this, r, index, address](const net::reply& rep) {
        r->of[index] = round::state::ended;
        const auto failed = [&](const std::string& text) { r->text += (r->text.empty() ? "" : "; ") + text; };
        if (rep.how == send::ending::answered) {
            silent_[address] = 0;
            if (r->over)
                return;
            if (rep.answer->code == wire::response::success) {
                preferred_ = index;
                route_answer a;
                a.what = route_answer::kind::found;
                a.body = rep.body;
                end(r, std::move(a));
                return;
            }
            if (rep.answer->code == wire::response::topic_not_exist)
                r->unknown = true;
            else if (rep.answer->code == wire::response::request_code_not_supported)
                failed(address + " does not answer route questions: it is no name server; a broker's port, perhaps");
            else
                failed("name server " + address + " answered " + std::to_string(rep.answer->code) + " '" + std::string(rep.answer->remark) + "'");
        } else {
            failed("name server " + address + ": " + std::string(rep.text));
            if (preferred_ == index && addresses_.size() > 1)
                preferred_ = (index + 1) % addresses_.size();
            if (rep.how == send::ending::expired && ++silent_[address] >= silent_before_drop) {
                silent_[address] = 0;
                links_.drop(address, "name server " + address + " stopped answering");
            }
            if (r->over)
                return;
        }
        try_next(r);
    });
}

}  // namespace shunt::client
