#include <client/name_servers.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace shunt::client {

namespace {

constexpr int silent_before_drop = 2;  // a connection on which so many questions in a row got no answer is dead

bool is_tls_fault(errc e) noexcept { return e >= errc::tls_failed && e <= errc::certificate_refused; }

}  // namespace

bool is_certificate_fault(errc e) noexcept { return e >= errc::certificate_expired && e <= errc::certificate_refused; }

struct name_servers::round {
    enum class state : std::uint8_t { not_asked, asked, late, ended };  ///< late: its share is over, it may still answer
    struct hook : net::timer_hook {
        name_servers* servers = nullptr;
        std::weak_ptr<round> owner;
        std::shared_ptr<round> keep;  // while there is no server to ask
    };
    net::question question;
    std::int64_t deadline_ns = 0, wanted_ns = 0;
    std::function<void(const route_answer&)> done;
    std::shared_ptr<const std::vector<std::string>> addresses;
    std::size_t first = 0, tried = 0;
    std::vector<state> of;  ///< by server. Questions without an answer own the round
    bool unknown = false, over = false;
    std::size_t tls_faults = 0;  ///< of those that ended,
    errc tls_fault = errc::route_timeout;  ///< and one of them: if possible one that may come right by itself
    std::string text;
    hook next;  ///< when to ask the next one as well
};

name_servers::name_servers(net::links& l, std::vector<std::string> addresses, wire::header_format format, std::uint64_t seed)
    : links_(l), addresses_(std::make_shared<const std::vector<std::string>>(std::move(addresses))), format_(format), seed_(seed)
{
    preferred_ = addresses_->empty() ? 0 : seed_ % addresses_->size();
}

name_servers::~name_servers()
{
    for (const auto& waiting : waiting_) {
        if (const auto r = waiting.lock())
            r->next.keep.reset();
    }
}

void name_servers::replace(std::vector<std::string> addresses)
{
    const auto old = std::exchange(addresses_, std::make_shared<const std::vector<std::string>>(std::move(addresses)));
    const std::string liked = old->empty() ? std::string{} : (*old)[preferred_];
    const auto kept = std::find(addresses_->begin(), addresses_->end(), liked);
    preferred_ = addresses_->empty() ? 0 : kept != addresses_->end() ? static_cast<std::size_t>(kept - addresses_->begin()) : seed_ % addresses_->size();
    for (const std::string& gone : *old) {
        net::connection* c = std::find(addresses_->begin(), addresses_->end(), gone) == addresses_->end() ? links_.find(gone) : nullptr;
        if (c != nullptr)
            c->retire();
    }
    for (const auto& waiting : std::exchange(waiting_, {})) {
        if (const auto r = waiting.lock(); r != nullptr && !r->over)
            begin(r);
    }
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
    r->next.servers = this;
    if (!addresses_->empty())
        return begin(r);
    waiting_.push_back(r);
    std::erase_if(waiting_, [](const auto& w) { return w.expired(); });
    // Kept by what ends it: the deadline, or replace(). The hook unlinks itself there.
    r->next.keep = r;
    r->next.expired = [](net::timer_hook& hook) {
        auto& h = static_cast<round::hook&>(hook);
        const auto late = std::exchange(h.keep, nullptr);
        route_answer a;
        a.text = h.servers->why_none_;
        h.servers->end(late, std::move(a));
    };
    links_.set_timer(r->next, deadline_ns);
}

void name_servers::begin(const std::shared_ptr<round>& r)
{
    r->next.keep.reset();
    r->addresses = addresses_;
    r->first = preferred_;
    r->of.resize(addresses_->size());
    r->next.owner = r;
    r->next.expired = [](net::timer_hook& hook) {
        auto& h = static_cast<round::hook&>(hook);
        if (const auto slow = h.owner.lock()) {
            name_servers& self = *h.servers;
            const std::size_t index = (slow->first + slow->tried - 1) % slow->addresses->size();
            slow->of[index] = round::state::late;
            self.pass_over((*slow->addresses)[index]);
            self.try_next(slow);
        }
    };
    try_next(r);
}

/// Later questions begin with another server.
void name_servers::pass_over(const std::string& address)
{
    if (addresses_->size() > 1 && (*addresses_)[preferred_] == address)
        preferred_ = (preferred_ + 1) % addresses_->size();
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
    if (r->tried == r->addresses->size() || left_ns <= 0) {
        const auto any = [&](round::state s) { return std::find(r->of.begin(), r->of.end(), s) != r->of.end(); };
        // Where others deny the topic one that is late does not hold that up.
        if (any(round::state::asked) || (any(round::state::late) && !r->unknown))
            return;
        route_answer a;
        a.what = r->unknown && r->tried == r->addresses->size() ? route_answer::kind::unknown_topic : route_answer::kind::failed;
        a.text = r->text.empty() ? "no time was left to ask a name server" : r->text;
        if (r->tls_faults == r->addresses->size())
            a.why = r->tls_fault;
        end(r, std::move(a));
        return;
    }
    const std::size_t index = (r->first + r->tried) % r->addresses->size();
    const std::size_t others = r->addresses->size() - r->tried - 1;
    ++r->tried;
    r->of[index] = round::state::asked;
    if (others != 0 || r->unknown)
        links_.set_timer(r->next, now + std::max<std::int64_t>(0, r->wanted_ns - now) / static_cast<std::int64_t>(others + 2));
    const std::string address = (*r->addresses)[index];
    net::ask(links_, address, format_, r->question, r->deadline_ns, [this, r, index, address](const net::reply& rep) {
        r->of[index] = round::state::ended;
        const auto failed = [&](const std::string& text) { r->text += (r->text.empty() ? "" : "; ") + text; };
        if (rep.how == send::ending::answered) {
            silent_[address] = 0;
            if (r->over)
                return;
            if (rep.answer->code == wire::response::success) {
                if (const auto here = std::find(addresses_->begin(), addresses_->end(), address); here != addresses_->end())
                    preferred_ = static_cast<std::size_t>(here - addresses_->begin());
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
            if (rep.how == send::ending::refused && is_tls_fault(rep.why)) {
                // One that may come right is worth waiting for.
                if (r->tls_faults++ == 0 || !is_certificate_fault(rep.why))
                    r->tls_fault = rep.why;
            }
            pass_over(address);
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
