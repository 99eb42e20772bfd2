// One connection to one address: connects when needed, gathers what waits into one write, matches answers to requests.
//
// All functions run on the executor of the links that own it, one at a time.

#pragma once

#include <net/handler_memory.hpp>
#include <net/request.hpp>
#include <tls/session.hpp>
#include <wire/buffer.hpp>
#include <wire/command.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::net {

class links;

class connection : public std::enable_shared_from_this<connection> {
public:
    connection(links& owner, std::string address);
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    /// Takes a request: it is written with the next flush once the connection is up (which is made if it is not).
    void submit(request& r);
    /// Gives a request up. True: not one byte of it was written. It is not told finished().
    bool withdraw(request& r);
    /// Answers a request of the peer's own, with the next flush.
    void answer(const wire::command& request, std::int32_t code, std::string_view remark);
    /// Writes what waits, unless a write is under way: then it follows.
    void flush();
    /// Ends the connection; everything under way finishes with `text`.
    void close(std::string_view text);
    /// Takes no new requests and closes once all answers are in (the server is shutting down).
    void retire();

    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    [[nodiscard]] bool connected() const noexcept { return state_ == state::up; }
    [[nodiscard]] bool retired() const noexcept { return retired_; }
    [[nodiscard]] std::size_t pending() const noexcept { return pending_ + waiting_count_; }
    /// When the last byte was read; 0: none yet.
    [[nodiscard]] std::int64_t last_read_ns() const noexcept { return last_read_ns_; }

private:
    enum class state : std::uint8_t { idle, resolving, connecting, securing, up, closed };
    struct failure {
        std::string text;
        errc why = errc::connect_failed;
    };
    using endpoints = std::vector<boost::asio::ip::tcp::endpoint>;
    struct slot {
        request* owner = nullptr;
        std::uint32_t turn = 0;
        bool zombie = false;  // given up, but its answer may still come
    };
    /// Bytes that go out with one write; its handler keeps them until the system has let go of them.
    struct batch {
        struct gathered {
            std::size_t after = 0;  // bytes of `bytes` that go before it
            request* owner = nullptr;
            std::string_view tail;
        };
        wire::buffer bytes;
        wire::buffer cipher;  // under TLS: all of it, as it goes out
        std::vector<gathered> tails;
        std::vector<request*> oneway;
        std::vector<boost::asio::const_buffer> buffers;

        [[nodiscard]] bool empty() const noexcept { return bytes.empty() && tails.empty(); }
        void unpin();
        void clear() noexcept;
    };
    struct connect_hook : timer_hook {
        connection* owner = nullptr;
    };

    void open();
    void connect(const endpoints& all, std::size_t index, const failure& last);
    void connected_now();
    void fail_waiting(std::string_view text, errc why);
    // Under TLS (secured.cpp).
    void secure(const endpoints& all, std::size_t index);
    void shake(const endpoints& all, std::size_t index);
    void hear_handshake(const endpoints& all, std::size_t index);
    void encrypt(batch& b);
    void received_cipher(std::size_t count);
    void end_tls();
    void put(request& r);
    void encode_signed(request& r);
    void take_slot(request& r);
    void free_slot(std::uint32_t index);
    void unlink_waiting(request& r) noexcept;
    void written(const std::shared_ptr<batch>& what, const boost::system::error_code& ec, std::size_t count);
    void read();
    void read_some(const error_code& ec, std::size_t count);
    void received(std::size_t count);
    bool handle(const wire::frame& f);
    void fail(send::ending written_ending, std::string_view text, errc why = errc::connect_failed);
    void leave();
    void put_waiting();
    [[nodiscard]] bool has_slot() const noexcept;
    /// The peer has said nothing yet, to what is not TLS.
    [[nodiscard]] bool is_mute() const noexcept { return last_read_ns_ == 0 && tls_ == nullptr; }
    void maybe_retire();
    [[nodiscard]] std::int64_t latency_of(const request& r) const noexcept;

    static constexpr std::size_t flush_times = 1024;

    links& owner_;
    const std::shared_ptr<void> keep_owner_;
    const std::string address_;
    boost::asio::ip::tcp::socket socket_;
    state state_ = state::idle;
    bool retired_ = false;
    std::uint64_t attempt_ = 0;  // of connecting: old handlers see that they are old
    connect_hook connect_timer_;

    request* waiting_first_ = nullptr;
    request* waiting_last_ = nullptr;
    std::size_t waiting_count_ = 0;

    std::uint64_t flush_ = 1;  // number of the write that what is put now goes out with
    std::vector<std::int64_t> flush_at_ns_ = std::vector<std::int64_t>(flush_times);  // when the latest writes began
    std::shared_ptr<batch> out_ = std::make_shared<batch>();
    handler_memory<640, 1> write_memory_;
    handler_memory<256, 1> read_memory_;
    std::shared_ptr<batch> writing_;  // null: no write is under way
    std::shared_ptr<batch> spare_;

    std::unique_ptr<tls::session> tls_;  // null: plain
    wire::buffer cipher_in_;
    wire::buffer in_;
    wire::command_decoder decoder_;

    std::vector<slot> slots_;
    std::vector<std::uint32_t> free_slots_;  // a ring: the longest free is used first
    std::size_t free_head_ = 0, free_count_ = 0;
    std::size_t pending_ = 0, zombies_ = 0;
    std::int64_t last_read_ns_ = 0;
    std::int64_t progress_ns_ = 0;  // when the write under way began, or the system last took bytes of it
};

}  // namespace shunt::net
