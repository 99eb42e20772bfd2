#include <net/connection.hpp>

#include <net/links.hpp>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <utility>

namespace shunt::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t read_size = 64 * 1024;
constexpr std::size_t keep_read_buffer = 1024 * 1024;   // a larger one is given back after use
constexpr std::size_t gather_from = 4 * 1024;           // smaller tails are copied: cheaper than one more buffer
constexpr std::size_t keep_write_buffer = 1024 * 1024;
constexpr std::size_t first_slots = 1024;               // an opaque comes round after at least so many requests
constexpr std::size_t max_zombies = 16384;              // a peer that never answers is not remembered for ever
constexpr std::uint32_t slot_bits = 18;
constexpr std::size_t max_slots = std::size_t{1} << slot_bits;  // requests under way at once; more wait
constexpr std::size_t write_size = 64 * 1024;
constexpr std::int64_t stalled_ns = 1'000'000'000;      // a peer that takes no bytes for so long is given up

const std::string mute_text = " without a word; it may want TLS (see [tls])";

std::string address_of(const tcp::endpoint& e)
{
    const bool v6 = e.address().is_v6();
    return (v6 ? "[" : "") + e.address().to_string() + (v6 ? "]:" : ":") + std::to_string(e.port());
}

/// A run of buffers that Asio may copy for nothing.
struct buffer_run {
    using value_type = asio::const_buffer;
    using const_iterator = const asio::const_buffer*;
    const asio::const_buffer* first;
    const asio::const_buffer* last;
    [[nodiscard]] const asio::const_buffer* begin() const noexcept { return first; }
    [[nodiscard]] const asio::const_buffer* end() const noexcept { return last; }
};

}  // namespace

void connection::batch::unpin()
{
    for (const gathered& g : std::exchange(tails, {})) {
        if (--g.owner->pins_ == 0 && g.owner->at_ == nullptr)
            g.owner->unpinned();
    }
}

void connection::batch::clear() noexcept
{
    if (bytes.capacity() > keep_write_buffer)
        bytes.release();
    if (cipher.capacity() > keep_write_buffer)
        cipher.release();
    bytes.clear();
    cipher.clear();
    oneway.clear();
    buffers.clear();
}

connection::connection(links& owner, std::string address)
    : owner_(owner), keep_owner_(owner.closed() ? nullptr : owner.lifetime.lock()),  // later it waits for nothing, and would own its owner
      address_(std::move(address)), socket_(owner.executor())
{
    connect_timer_.owner = this;
    connect_timer_.expired = [](timer_hook& hook) {
        connection& c = *static_cast<connect_hook&>(hook).owner;
        const std::string within = " within " + std::to_string(c.owner_.connect_timeout().count()) + " ms";
        c.fail_waiting(c.state_ == state::securing ? "no TLS with " + c.address_ + within + "; it may not speak it"
                                                   : "no connection to " + c.address_ + within,
                       errc::connect_timeout);
    };
}

connection::~connection() { owner_.clear_timer(connect_timer_); }

void connection::submit(request& r)
{
    r.at_ = this;
    r.slot_ = UINT32_MAX;
    r.flush_ = UINT64_MAX;
    if (owner_.closed()) {
        r.at_ = nullptr;
        reply rep;
        rep.how = send::ending::refused;
        rep.text = "the producer is closed";
        r.finished(rep);
        return;
    }
    if (state_ == state::up && (r.oneway || has_slot())) {
        put(r);
        owner_.dirty(*this);
        return;
    }
    r.next_ = nullptr;
    r.prev_ = waiting_last_;
    (waiting_last_ != nullptr ? waiting_last_->next_ : waiting_first_) = &r;
    waiting_last_ = &r;
    ++waiting_count_;
    if (state_ == state::idle)
        open();
}

bool connection::withdraw(request& r)
{
    if (r.at_ != this)
        return true;
    r.at_ = nullptr;
    if (r.flush_ == UINT64_MAX) {
        unlink_waiting(r);
        return true;
    }
    if (r.oneway) {
        std::erase(out_->oneway, &r);
        if (writing_ != nullptr)
            std::erase(writing_->oneway, &r);
    } else {
        slot& s = slots_[r.slot_];
        s.owner = nullptr;
        s.zombie = true;
        ++zombies_;
        --pending_;
        r.slot_ = UINT32_MAX;
    }
    // Its bytes stay in our buffers until the peer takes them, which one that reads nothing never will.
    const bool unwritten = writing_ != nullptr && r.flush_ + 1 >= flush_;
    if (unwritten && owner_.now_ns() - progress_ns_ > stalled_ns)
        close("the peer takes no more bytes");
    else if (zombies_ > max_zombies)
        close("the peer stopped answering");
    maybe_retire();
    return false;
}

void connection::unlink_waiting(request& r) noexcept
{
    (r.prev_ != nullptr ? r.prev_->next_ : waiting_first_) = r.next_;
    (r.next_ != nullptr ? r.next_->prev_ : waiting_last_) = r.prev_;
    r.prev_ = r.next_ = nullptr;
    --waiting_count_;
}

// ---- connecting ----

void connection::open()
{
    state_ = state::resolving;
    const std::uint64_t attempt = ++attempt_;
    auto self = shared_from_this();
    owner_.set_timer(connect_timer_, owner_.now_ns() + std::chrono::nanoseconds(owner_.connect_timeout()).count());
    owner_.names().resolve(address_, owner_.now_ns(), [self, attempt](const auto& found, const std::string& error) {
        if (self->attempt_ != attempt || self->state_ != state::resolving)
            return;
        if (found.empty()) {
            self->fail_waiting(error, errc::connect_failed);
            return;
        }
        self->state_ = state::connecting;
        self->connect(found, 0, {});
    });
}

void connection::connect(const endpoints& all, std::size_t index, const failure& last)
{
    if (index == all.size()) {
        fail_waiting(last.text, last.why);
        return;
    }
    state_ = state::connecting;
    error_code ignored;
    socket_.close(ignored);
    const std::uint64_t attempt = attempt_;
    socket_.async_connect(all[index], [self = shared_from_this(), all, index, attempt](const error_code& ec) {
        if (self->attempt_ != attempt || self->state_ != state::connecting)
            return;
        self->owner_.refresh();
        // A port that nobody listens on can be its own peer on loopback; that is no broker.
        error_code ends;
        const bool own_peer = !ec && self->socket_.local_endpoint(ends) == self->socket_.remote_endpoint(ends) && !ends;
        if (ec || own_peer) {
            self->connect(all, index + 1, {address_of(all[index]) + ": " + (own_peer ? "connected to itself" : ec.message())});
            return;
        }
        if (self->owner_.certificates != nullptr) {
            self->secure(all, index);
            return;
        }
        self->connected_now();
    });
}

void connection::connected_now()
{
    owner_.clear_timer(connect_timer_);
    state_ = state::up;
    owner_.counts().connects.fetch_add(1, std::memory_order_relaxed);
    owner_.counts().connections.fetch_add(1, std::memory_order_relaxed);
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.non_blocking(true, ignored);
    last_read_ns_ = 0;
    if (tls_ == nullptr)
        in_.clear();  // else it has what came with the end of the handshake
    read();
    if (owner_.on_up)
        owner_.on_up(*this);
    put_waiting();
    flush();
    maybe_retire();
}

void connection::put_waiting()
{
    while (waiting_first_ != nullptr && state_ == state::up && (waiting_first_->oneway || has_slot())) {
        request& r = *waiting_first_;
        unlink_waiting(r);
        put(r);
    }
}

void connection::fail_waiting(std::string_view text, errc why_refused)
{
    ++attempt_;
    error_code ignored;
    end_tls();
    socket_.close(ignored);
    owner_.clear_timer(connect_timer_);
    state_ = retired_ ? state::closed : state::idle;
    owner_.counts().connects_failed.fetch_add(1, std::memory_order_relaxed);
    const std::string why(text);
    const auto keep = shared_from_this();
    if (owner_.on_down)
        owner_.on_down(address_, why);
    // finished() may submit anew, here too: only what waited until now fails.
    for (std::size_t left = waiting_count_; left != 0 && waiting_first_ != nullptr; --left) {
        request& r = *waiting_first_;
        unlink_waiting(r);
        r.at_ = nullptr;
        reply rep;
        rep.how = send::ending::refused;
        rep.text = why;
        rep.why = why_refused;
        r.finished(rep);
    }
    owner_.turn();
}

// ---- writing ----

bool connection::has_slot() const noexcept { return free_count_ != 0 || slots_.size() < max_slots; }

void connection::take_slot(request& r)
{
    if (free_count_ == 0) {
        const std::size_t old = slots_.size();
        const std::size_t grown = old == 0 ? first_slots : old * 2;
        slots_.resize(grown);
        free_slots_.resize(grown);
        free_head_ = 0;
        for (std::size_t i = old; i < grown; ++i)
            free_slots_[free_count_++] = static_cast<std::uint32_t>(i);
    }
    r.slot_ = free_slots_[free_head_];
    free_head_ = (free_head_ + 1) % free_slots_.size();
    --free_count_;
    slot& s = slots_[r.slot_];
    s.owner = &r;
    s.turn = (s.turn + 1) & ((1u << (31 - slot_bits)) - 1);
    r.opaque_ = static_cast<std::int32_t>(s.turn << slot_bits | r.slot_);
    ++pending_;
}

void connection::free_slot(std::uint32_t index)
{
    slots_[index].owner = nullptr;
    slots_[index].zombie = false;
    free_slots_[(free_head_ + free_count_) % free_slots_.size()] = index;
    ++free_count_;
}

void connection::put(request& r)
{
    if (r.oneway) {
        r.opaque_ = static_cast<std::int32_t>(flush_ & 0x3ffff);
        out_->oneway.push_back(&r);
    } else {
        take_slot(r);
    }
    r.flush_ = flush_;
    r.put_ns_ = owner_.now_ns();
    if (owner_.signer == nullptr) [[likely]]
        r.encode(out_->bytes, r.opaque_);
    else
        encode_signed(r);
    const std::string_view tail = r.tail();
    if (tail.size() < gather_from) {
        out_->bytes.put(tail);
        return;
    }
    ++r.pins_;
    out_->tails.push_back({out_->bytes.size(), &r, tail});
}

void connection::encode_signed(request& r)
{
    const std::size_t start = out_->bytes.size();
    r.encode(out_->bytes, r.opaque_);
    owner_.signer->sign(out_->bytes, start, r.tail());
}

void connection::flush()
{
    if (writing_ != nullptr || state_ != state::up || (out_->empty() && (tls_ == nullptr || !tls_->has_output())))
        return;
    writing_ = std::exchange(out_, spare_ != nullptr ? std::move(spare_) : std::make_shared<batch>());
    spare_.reset();
    flush_at_ns_[flush_ % flush_times] = owner_.refresh();  // a turn may be long: what came in during it began after its time
    ++flush_;
    batch& b = *writing_;
    std::size_t done = 0;
    for (const batch::gathered& g : b.tails) {
        b.buffers.emplace_back(b.bytes.data() + done, g.after - done);
        b.buffers.emplace_back(g.tail.data(), g.tail.size());
        done = g.after;
    }
    if (done < b.bytes.size())
        b.buffers.emplace_back(b.bytes.data() + done, b.bytes.size() - done);
    if (tls_ != nullptr) [[unlikely]]
        encrypt(b);
    const buffer_run run{b.buffers.data(), b.buffers.data() + b.buffers.size()};
    const auto more = [this](const error_code& ec, std::size_t) -> std::size_t {
        progress_ns_ = monotonic_ns();
        return ec ? 0 : write_size;
    };
    asio::async_write(socket_, run, more,
                      asio::bind_allocator(write_memory_.get(), [self = shared_from_this(), what = writing_](const error_code& ec, std::size_t count) {
                          self->written(what, ec, count);
                      }));
}

void connection::written(const std::shared_ptr<batch>& what, const error_code& ec, std::size_t count)
{
    owner_.refresh();
    owner_.counts().writes.fetch_add(1, std::memory_order_relaxed);
    owner_.counts().bytes_written.fetch_add(count, std::memory_order_relaxed);
    what->unpin();
    if (what != writing_) {  // of a connection that has ended since
        owner_.turn();
        return;
    }
    if (ec) {
        fail(send::ending::dropped, "the connection to " + address_ + " broke while writing: " + ec.message() + (is_mute() ? "; the peer had closed it" + mute_text : ""));
        owner_.turn();
        return;
    }
    for (request* r : std::exchange(what->oneway, {})) {
        r->at_ = nullptr;
        reply rep;
        rep.how = send::ending::written;
        r->finished(rep);
    }
    if (what == writing_) {
        what->clear();
        spare_ = std::move(writing_);
        flush();
        maybe_retire();
    }
    owner_.turn();
}

std::int64_t connection::latency_of(const request& r) const noexcept
{
    if (r.flush_ >= flush_)
        return 0;
    const std::int64_t began = flush_ - r.flush_ < flush_times ? flush_at_ns_[r.flush_ % flush_times] : r.put_ns_;
    return owner_.now_ns() - began;
}

// ---- reading ----

void connection::read()
{
    wire::buffer& in = tls_ == nullptr ? in_ : cipher_in_;
    char* to = in.grab(read_size);
    socket_.async_read_some(asio::buffer(to, in.capacity() - in.size()),
                            asio::bind_allocator(read_memory_.get(), [self = shared_from_this(), attempt = attempt_](const error_code& ec, std::size_t count) {
                                if (self->attempt_ == attempt && self->state_ == state::up)
                                    self->read_some(ec, count);
                            }));
}

void connection::read_some(const error_code& ec, std::size_t count)
{
    owner_.refresh();
    if (ec) {
        // With something of ours unread, closing looks like this.
        const bool closed = ec == asio::error::eof || (ec == asio::error::connection_reset && is_mute());
        fail(send::ending::dropped, closed ? "the peer " + address_ + " closed the connection" + (is_mute() ? mute_text : "")
                                           : "the connection to " + address_ + " was lost: " + ec.message());
        owner_.turn();
        return;
    }
    if (tls_ == nullptr)
        received(count);
    else
        received_cipher(count);
}

void connection::received(std::size_t count)
{
    last_read_ns_ = owner_.now_ns();
    in_.advance(count);
    const std::uint64_t attempt = attempt_;
    std::string_view rest = in_.view();
    while (!rest.empty()) {
        const wire::scan_result found = wire::scan(rest);
        if (found.status == wire::scan_status::need_more) {
            // Room grows with what has come, not with what a length claims.
            if (found.size > in_.capacity()) {
                in_.consume(in_.size() - rest.size());
                (void)in_.grab(std::min(found.size - in_.size(), std::max(in_.size(), read_size)));
                rest = in_.view();
            }
            break;
        }
        if (found.status == wire::scan_status::bad || !handle(found.parts)) {
            if (attempt_ != attempt) {  // a handler closed us
                owner_.turn();
                return;
            }
            owner_.counts().bad_frames.fetch_add(1, std::memory_order_relaxed);
            const std::string why = found.status == wire::scan_status::bad ? found.what : decoder_.error();
            fail(send::ending::garbled, "the peer " + address_ + " sent something that cannot be understood: " + why);
            owner_.turn();
            return;
        }
        if (attempt_ != attempt || state_ != state::up) {
            owner_.turn();  // what its answers began goes on all the same
            return;
        }
        rest.remove_prefix(found.size);
    }
    in_.consume(in_.size() - rest.size());
    if (in_.empty() && in_.capacity() > keep_read_buffer)
        in_.release();
    read();
    owner_.turn();
}

void connection::answer(const wire::command& request, std::int32_t code, std::string_view remark)
{
    wire::outgoing head;
    head.code = code;
    head.opaque = request.opaque;
    head.flag = wire::flag_response;
    head.remark = remark;
    wire::encode(out_->bytes, wire::header_format::json, head, {});
    owner_.dirty(*this);
}

/// False: the header cannot be understood.
bool connection::handle(const wire::frame& f)
{
    wire::command cmd;
    if (!decoder_.decode(f, cmd))
        return false;
    if (!cmd.is_response()) {
        const bool handled = owner_.on_request && owner_.on_request(*this, cmd, f.body);
        if (!handled && !cmd.is_oneway())
            answer(cmd, wire::response::request_code_not_supported, "request type " + std::to_string(cmd.code) + " not supported");
        return true;
    }
    const auto opaque = static_cast<std::uint32_t>(cmd.opaque);
    const std::uint32_t index = opaque & ((1u << slot_bits) - 1);
    const std::uint32_t turn = opaque >> slot_bits;
    if (index >= slots_.size() || slots_[index].turn != turn || (slots_[index].owner == nullptr && !slots_[index].zombie)) {
        owner_.counts().late_answers.fetch_add(1, std::memory_order_relaxed);  // foreign, or the second answer to one request
        return true;
    }
    slot& s = slots_[index];
    request* r = s.owner;
    free_slot(index);
    if (waiting_first_ != nullptr && !retired_) {
        put_waiting();
        owner_.dirty(*this);
    }
    if (r == nullptr) {
        --zombies_;
        owner_.counts().late_answers.fetch_add(1, std::memory_order_relaxed);
        maybe_retire();
        return true;
    }
    --pending_;
    r->at_ = nullptr;
    r->slot_ = UINT32_MAX;
    reply rep;
    rep.answer = &cmd;
    rep.body = f.body;
    rep.latency_ns = latency_of(*r);
    const auto keep = shared_from_this();
    if (cmd.code == wire::response::go_away)
        leave();
    r->finished(rep);
    maybe_retire();
    return true;
}

// ---- ending ----

void connection::fail(send::ending written_ending, std::string_view text, errc why_refused)
{
    if (state_ == state::idle || state_ == state::closed)
        return;
    if (state_ != state::up) {
        fail_waiting(text, why_refused);
        return;
    }
    const auto keep = shared_from_this();
    const std::string why(text);
    ++attempt_;
    state_ = retired_ ? state::closed : state::idle;
    error_code ignored;
    end_tls();
    socket_.close(ignored);
    owner_.counts().connections.fetch_sub(1, std::memory_order_relaxed);
    const bool not_needed = owner_.closed() || (retired_ && pending_ == 0 && waiting_count_ == 0);
    if (!not_needed)
        owner_.counts().connections_lost.fetch_add(1, std::memory_order_relaxed);

    // Bytes put for the write under way, or for one before, may have arrived; those put since then cannot have.
    const std::uint64_t first_unwritten = flush_;
    std::vector<request*> failed;
    for (slot& s : slots_) {
        if (s.owner != nullptr)
            failed.push_back(s.owner);
    }
    while (waiting_first_ != nullptr) {
        failed.push_back(waiting_first_);
        unlink_waiting(*waiting_first_);
    }
    failed.insert(failed.end(), out_->oneway.begin(), out_->oneway.end());
    if (writing_ != nullptr)
        failed.insert(failed.end(), writing_->oneway.begin(), writing_->oneway.end());
    slots_.clear();
    free_slots_.clear();
    free_head_ = free_count_ = pending_ = zombies_ = 0;
    in_.clear();
    for (request* r : failed) {
        r->slot_ = UINT32_MAX;
        r->at_ = nullptr;
    }
    const std::shared_ptr<batch> never_written = std::exchange(out_, std::make_shared<batch>());
    writing_.reset();  // its handler keeps the bytes
    if (owner_.on_down)
        owner_.on_down(address_, why);
    for (request* r : failed) {
        reply rep;
        rep.how = r->flush_ < first_unwritten ? written_ending : send::ending::refused;
        rep.text = why;
        rep.why = why_refused;
        rep.latency_ns = latency_of(*r);
        r->finished(rep);
    }
    never_written->unpin();
    if (retired_)
        owner_.forget(*this);
}

void connection::close(std::string_view text) { fail(send::ending::dropped, text); }

void connection::leave()
{
    if (retired_)
        return;
    retired_ = true;
    owner_.forget(*this);
}

void connection::retire()
{
    const auto keep = shared_from_this();
    leave();
    maybe_retire();
    if (state_ != state::idle && state_ != state::up && state_ != state::closed && waiting_count_ == 0)
        fail_waiting("not needed any more", errc::connect_failed);
}

void connection::maybe_retire()
{
    if (retired_ && pending_ == 0 && waiting_count_ == 0 && state_ == state::up && out_->empty() && writing_ == nullptr)
        fail(send::ending::dropped, "the peer is shutting down");
}

}  // namespace shunt::net
