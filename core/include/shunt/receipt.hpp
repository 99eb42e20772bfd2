// What came of a send: where the message lies, or what is known instead, with every attempt and its reason.

#pragma once

#include <shunt/detail/export.hpp>
#include <shunt/error.hpp>

#include <boost/container/small_vector.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace shunt {

/// A short text held in place: ids of messages.
template <std::size_t N>
class short_text {
public:
    short_text() = default;
    explicit short_text(std::string_view text) noexcept { assign(text); }
    /// What is longer than N is cut.
    void assign(std::string_view text) noexcept
    {
        size_ = static_cast<std::uint8_t>(text.size() < N ? text.size() : N);
        if (size_ != 0)
            std::memcpy(data_.data(), text.data(), size_);
    }
    [[nodiscard]] std::string_view view() const noexcept { return {data_.data(), size_}; }
    [[nodiscard]] std::string str() const { return std::string(view()); }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    friend bool operator==(const short_text& a, std::string_view b) noexcept { return a.view() == b; }

private:
    static_assert(N < 256);
    std::array<char, N> data_;
    std::uint8_t size_ = 0;
};

/// One try of a send.
class attempt {
public:
    std::string_view broker;          ///< lives as long as the process
    std::int32_t queue = -1;
    shunt::outcome outcome = shunt::outcome::not_sent;
    std::int32_t code = -1;           ///< the broker's answer; -1: none
    std::string text;                 ///< the broker's remark, or what the network said; empty when stored
    std::chrono::nanoseconds latency{0};
    std::string_view why;             ///< why this queue: "rotation", "avoid-tried", "key", ...

    attempt() = default;
};

/// How a broker stored a message.
enum class store_status : std::uint8_t { ok, flush_disk_timeout, slave_not_available, flush_slave_timeout };
[[nodiscard]] SHUNT_EXPORT std::string_view to_string(store_status s) noexcept;

class receipt {
public:
    shunt::outcome outcome = shunt::outcome::not_sent;
    error_code error;                        ///< success when stored (and for one-way when written)
    store_status status = store_status::ok;  ///< stored only: all of them mean stored
    short_text<56> msg_id;                   ///< UNIQ_KEY, made here; the same in all attempts
    short_text<56> offset_msg_id;            ///< made by the broker: where it lies
    std::string_view broker;                 ///< of the last attempt; lives as long as the process
    std::int32_t queue = -1;
    std::int64_t offset = -1;                ///< in the queue
    std::string_view policy;                 ///< lives as long as the process
    std::uint64_t generation = 0;            ///< of the policy table that decided the last attempt
    std::chrono::nanoseconds latency{0};     ///< from the call to the end
    bool after_unknown = false;              ///< ordered: the message before it in its lane ended unknown
    std::string reason;                      ///< refused before the wire: what is wrong and what would be right
    boost::container::small_vector<attempt, 1> attempts;
    std::string recall_handle;               ///< of a message with a delay or a time, from brokers that offer recall; else empty

    receipt() = default;
};

}  // namespace shunt
