// What a server of frames does with requests, and what it sees of the connection they came over.
//
// Pure: brokers and the name server are services and can be tried without a socket.

#pragma once

#include <wire/buffer.hpp>
#include <wire/command.hpp>
#include <wire/frame.hpp>
#include <wire/stored_message.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace shunt::cluster {

/// How a connection goes on.
enum class ending : std::uint8_t {
    none,
    finish,  ///< close once everything in out() is written
    reset,   ///< close now, with a reset; what is in out() is lost
};

/// The other end of a connection. Lives at least as long as a request of it is handled; hold a weak_ptr beyond that.
class peer : public std::enable_shared_from_this<peer> {
public:
    peer() = default;
    virtual ~peer() = default;
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;

    /// Answers go here; written together when all that was read has been handled.
    [[nodiscard]] wire::buffer& out() noexcept { return out_; }
    /// Has what is in out() written. Only needed outside of a request.
    virtual void flush() = 0;
    /// After `delay`: `bytes` are written, then `then` happens.
    virtual void later(std::chrono::microseconds delay, std::string bytes, ending then) = 0;
    virtual void end(ending how) = 0;

    [[nodiscard]] const wire::host_address& address() const noexcept { return address_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }  ///< "127.0.0.1:40000"

protected:
    wire::buffer out_;
    wire::host_address address_;
    std::string name_;
};

class service {
public:
    virtual ~service() = default;
    virtual void opened(peer&) {}
    virtual void closed(peer&) {}
    /// One frame. `now_ms`: since 1970.
    virtual void request(peer& from, const wire::frame& frame, std::int64_t now_ms) = 0;
};

/// How answers of a server look.
struct answer_style {
    wire::header_format format = wire::header_format::json;
    std::int32_t version = 477;
};

inline void put_answer(wire::buffer& out, const answer_style& style, const wire::command& request, std::int32_t code,
                       std::string_view remark = {}, std::span<const wire::field> fields = {}, std::string_view body = {})
{
    wire::outgoing head;
    head.code = code;
    head.opaque = request.opaque;
    head.flag = wire::flag_response;
    head.version = style.version;
    head.language = "JAVA";
    head.remark = remark;
    head.fields = fields;
    wire::encode(out, style.format, head, body);
}

}  // namespace shunt::cluster
