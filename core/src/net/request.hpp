// A request on its way to one peer: written once, answered or failed exactly once.

#pragma once

#include <net/timer_wheel.hpp>
#include <send/classify.hpp>
#include <shunt/error.hpp>
#include <wire/buffer.hpp>
#include <wire/command.hpp>

#include <cstdint>
#include <string_view>

namespace shunt::net {

class connection;

/// What became of a request. Views are valid during finished() only.
struct reply {
    send::ending how = send::ending::answered;
    const wire::command* answer = nullptr;  ///< answered only
    std::string_view body;                  ///< answered only
    std::string_view text;                  ///< else: what the network said
    errc why = errc::connect_failed;        ///< refused only: connect_timeout, certificate_expired, ...
    std::int64_t latency_ns = 0;            ///< from the write to the end; 0 when never written
};

/// Owned by whoever submits it; must live until finished() and, after that, until pinned() is false.
class request {
public:
    request() = default;
    request(const request&) = delete;
    request& operator=(const request&) = delete;
    virtual ~request() = default;

    /// Appends the frame, but for the last body_bytes() of it. Called when the connection is up, right before the write.
    virtual void encode(wire::buffer& out, std::int32_t opaque) = 0;
    /// The end of the frame: read where it lies, not copied, when it is large.
    [[nodiscard]] virtual std::string_view tail() const noexcept { return {}; }
    /// Exactly once for each submit(). May submit this request again, elsewhere or here.
    virtual void finished(const reply& r) = 0;
    /// pinned() became false after finished() had been called.
    virtual void unpinned() noexcept {}

    [[nodiscard]] bool pinned() const noexcept { return pins_ != 0; }

    /// Where it is under way; null: nowhere.
    [[nodiscard]] connection* under_way() const noexcept { return at_; }

    bool oneway = false;

private:
    friend class connection;
    friend class links;
    request* next_ = nullptr;        // in the connection's list of what waits for the connect
    request* prev_ = nullptr;
    connection* at_ = nullptr;       // where it is under way; null: nowhere
    std::uint64_t flush_ = 0;        // the write its bytes go out with
    std::int64_t put_ns_ = 0;        // when it was put into the buffer
    std::int32_t opaque_ = 0;
    std::uint32_t slot_ = UINT32_MAX;
    std::uint8_t pins_ = 0;          // writes that read tail() in place
};

}  // namespace shunt::net
