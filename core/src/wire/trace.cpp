#include <wire/trace.hpp>

#include <charconv>
#include <initializer_list>

namespace shunt::wire {

namespace {

class number_text {
public:
    explicit number_text(std::int64_t n) : size_(static_cast<std::size_t>(std::to_chars(text_, text_ + sizeof text_, n).ptr - text_)) {}
    [[nodiscard]] std::string_view view() const { return {text_, size_}; }

private:
    char text_[20];
    std::size_t size_;
};

std::string_view or_null(std::string_view text) { return text.empty() ? "null" : text; }

void put_record(buffer& out, std::initializer_list<std::string_view> fields)
{
    bool first = true;
    for (const std::string_view f : fields) {
        if (!first)
            out.put("\x01");
        first = false;
        out.put(f);
    }
    out.put("\x02");
}

}  // namespace

void put_trace(buffer& out, const trace_send& s)
{
    const number_text time(s.time_ms), bytes(static_cast<std::int64_t>(s.body_bytes)), cost(s.cost_ms), type(static_cast<int>(s.type));
    put_record(out, {"Pub", time.view(), s.region, s.group, s.topic, s.msg_id, or_null(s.tag), or_null(s.keys), s.address, bytes.view(),
                     cost.view(), type.view(), or_null(s.offset_id), s.stored ? "true" : "false"});
}

void put_trace(buffer& out, const trace_end& e)
{
    const number_text time(e.time_ms), type(static_cast<int>(trace_type::commit));
    put_record(out, {"EndTransaction", time.view(), e.region, e.group, e.topic, e.msg_id, or_null(e.tag), or_null(e.keys), e.address,
                     type.view(), e.transaction_id, e.state, e.by_check ? "true" : "false"});
}

}  // namespace shunt::wire
