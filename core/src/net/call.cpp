#include <net/call.hpp>

#include <memory>

namespace shunt::net {

namespace {

class call final : public request {
public:
    call(links& l, wire::header_format format, question q, std::function<void(const reply&)> done)
        : links_(l), format_(format), question_(std::move(q)), done_(std::move(done))
    {
        oneway = question_.oneway;
        timer_.owner = this;
        timer_.expired = [](timer_hook& hook) { static_cast<hook_type&>(hook).owner->expire(); };
    }

    void start(const std::string& address, std::int64_t deadline_ns)
    {
        links_.set_timer(timer_, deadline_ns);
        links_.to(address).submit(*this);
    }

    void encode(wire::buffer& out, std::int32_t opaque) override
    {
        std::vector<wire::field> fields;
        fields.reserve(question_.fields.size());
        for (const auto& [name, value] : question_.fields)
            fields.push_back({name, value});
        fields.insert(fields.end(), links_.extra.begin(), links_.extra.end());
        wire::outgoing head;
        head.code = question_.code;
        head.opaque = opaque;
        head.flag = oneway ? wire::flag_oneway : 0;
        head.fields = fields;
        wire::encode(out, format_, head, question_.body);
    }
    void finished(const reply& r) override { end(r); }

private:
    struct hook_type : timer_hook {
        call* owner = nullptr;
    };
    void expire()
    {
        // Where it is, not where its address leads now: that connection may be retired and another in its place.
        if (connection* c = under_way())
            c->withdraw(*this);
        reply r;
        r.how = send::ending::expired;
        r.text = "no answer in time";
        end(r);
    }
    void end(const reply& r)
    {
        links_.clear_timer(timer_);
        const std::unique_ptr<call> self(this);
        done_(r);
    }

    links& links_;
    wire::header_format format_;
    question question_;
    std::function<void(const reply&)> done_;
    hook_type timer_;
};

}  // namespace

void ask(links& l, const std::string& address, wire::header_format format, question q, std::int64_t deadline_ns,
         std::function<void(const reply&)> done)
{
    (new call(l, format, std::move(q), std::move(done)))->start(address, deadline_ns);  // ends itself, exactly once
}

}  // namespace shunt::net
