// What came of messages that were sent as one batch.

#pragma once

#include <shunt/receipt.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace shunt {

namespace detail {

/// What a batch's send and whoever waits for it have in common.
struct batch_parts {
    std::vector<short_text<56>> msg_ids, offset_msg_ids;
};

}  // namespace detail

/// A batch is stored as a whole or not at all: one outcome, one queue, consecutive offsets.
class batch_receipt {
public:
    receipt send;                                ///< of the batch; `offset` is that of its first message, msg_id is empty
    std::size_t first = 0;                       ///< place of its first message in the list that was given
    std::vector<short_text<56>> msg_ids;         ///< of each message
    std::vector<short_text<56>> offset_msg_ids;  ///< stored: of each message, but one for all in a topic of batch queues

    batch_receipt() = default;
    batch_receipt(receipt r, const detail::batch_parts& parts) : send(std::move(r)), msg_ids(parts.msg_ids)
    {
        if (send.outcome == outcome::stored)  // else the send may still be at work with them
            offset_msg_ids = parts.offset_msg_ids;
    }

    /// How many messages.
    [[nodiscard]] std::size_t size() const noexcept { return msg_ids.size(); }
    /// As if message `i` of the batch had been sent alone. i < size().
    [[nodiscard]] receipt of(std::size_t i) const
    {
        receipt r = send;
        r.msg_id = msg_ids[i];
        r.offset_msg_id = {};
        if (r.outcome == outcome::stored) {
            if (!offset_msg_ids.empty())
                r.offset_msg_id = offset_msg_ids.size() == size() ? offset_msg_ids[i] : offset_msg_ids.front();
            if (r.offset >= 0)
                r.offset += static_cast<std::int64_t>(i);
        }
        return r;
    }
};

}  // namespace shunt
