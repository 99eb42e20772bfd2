// What the admin endpoint answers: reads what any thread may read, and leaves what changes something to the I/O side.
//
// On the endpoint's thread, which never owns the producer: it stops before the producer goes.

#pragma once

#include <observe/admin.hpp>
#include <observe/history.hpp>
#include <observe/json.hpp>
#include <shunt/swap.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::client {

class core;

class admin_desk final : public observe::admin_source {
public:
    /// Listens; nothing is answered before start(). Null: `error` says why.
    [[nodiscard]] static std::unique_ptr<admin_desk> open(core& owner, std::string& error);

    void start();
    void stop() { server_.reset(); }
    [[nodiscard]] const std::string& address() const noexcept { return address_; }

    void answer(observe::admin_request request, std::shared_ptr<observe::admin_thread> thread,
                std::function<void(observe::admin_answer)> then) override;
    void tick() override;

private:
    using reply = std::function<void(observe::admin_answer)>;
    using thread_ptr = std::shared_ptr<observe::admin_thread>;

    explicit admin_desk(core& owner);

    // What is asked (admin_views.cpp). Each is a whole JSON text.
    [[nodiscard]] std::string about() const;
    [[nodiscard]] std::string policies() const;
    [[nodiscard]] std::string routes() const;
    [[nodiscard]] std::string plugins() const;
    [[nodiscard]] std::string decisions(std::size_t most) const;
    [[nodiscard]] std::string config() const;
    /// Empty: there is no such swap.
    [[nodiscard]] std::string swap(std::uint64_t id) const;
    [[nodiscard]] std::string metrics() const;  // admin_metrics.cpp; no JSON

    // Swaps as they stand.
    struct standing {
        swap_status status;
        bool retained = false;     ///< there is a policy table of it
        bool is_previous = false;  ///< what a rollback brings back
    };
    [[nodiscard]] std::vector<standing> swaps() const;
    /// Which of them is what; null: none is. Of the last ones, where one follows another at this moment.
    struct roles {
        explicit roles(const std::vector<standing>& all);
        const standing *in_force = nullptr, *previous = nullptr, *candidate = nullptr;
        /// What was in force before was taken back itself: no rollback brings that back.
        [[nodiscard]] bool taken_back() const noexcept { return previous != nullptr && previous->status.state == swap_state::rolled_back; }
        [[nodiscard]] bool may_go_back() const noexcept { return previous != nullptr && !taken_back(); }
    };
    static void put_swap(observe::json& out, const standing& s, bool may_go_back);

    // What is to be done (admin_desk.cpp).
    void health(bool ready, const thread_ptr& thread, const reply& then);
    void stage(const observe::admin_request& request, const thread_ptr& thread, const reply& then);
    void await_admission(const swap_handle& h, std::chrono::steady_clock::time_point until, const thread_ptr& thread, const reply& then);
    void diff(const observe::admin_request& request, const reply& then);
    void verb(std::string_view name, std::uint64_t id, bool has_id, const observe::admin_request& request, const thread_ptr& thread, const reply& then);

    core& core_;
    const std::int64_t started_ms_;
    std::string address_;
    std::string file_;  // of the producer's configuration, absolute; empty: it has none
    observe::history history_;
    std::unique_ptr<observe::admin_server> server_;
};

}  // namespace shunt::client
