// The records of RocketMQ's message trace: fields separated by U+0001, each record ended by U+0002.

#pragma once

#include <wire/buffer.hpp>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::wire {

enum class trace_type : std::uint8_t { normal = 0, half = 1, commit = 2, delay = 3, order = 4 };

/// A send. Texts without separators; an empty tag, key list or offset id is written as Java writes null.
struct trace_send {
    std::int64_t time_ms = 0;  ///< when the attempt began
    std::string_view region, group, topic, msg_id, tag, keys, address;
    std::size_t body_bytes = 0;
    std::int64_t cost_ms = 0;
    trace_type type = trace_type::normal;
    std::string_view offset_id;
    bool stored = false;
};
void put_trace(buffer& out, const trace_send& s);

/// The end of a transaction.
struct trace_end {
    std::int64_t time_ms = 0;
    std::string_view region, group, topic, msg_id, tag, keys, address, transaction_id;
    std::string_view state;  ///< COMMIT_MESSAGE, ROLLBACK_MESSAGE or UNKNOW, as Java spells it
    bool by_check = false;
};
void put_trace(buffer& out, const trace_end& e);

/// Calls f(fields) for each record, the first field being its kind ("Pub", "EndTransaction", ...). An empty field stays; a last
/// record without its end counts. Never fails.
template <typename F>
void each_trace(std::string_view body, F&& f)
{
    std::vector<std::string_view> fields;
    while (!body.empty()) {
        const auto end = body.find('\x02');
        std::string_view record = body.substr(0, end);
        body = end == std::string_view::npos ? std::string_view{} : body.substr(end + 1);
        if (record.empty())
            continue;
        fields.clear();
        for (;;) {
            const auto split = record.find('\x01');
            fields.push_back(record.substr(0, split));
            if (split == std::string_view::npos)
                break;
            record.remove_prefix(split + 1);
        }
        f(std::as_const(fields));
    }
}

}  // namespace shunt::wire
