// Auto-batching: messages decided for one queue travel together while others are under way to it.
//
// Nothing waits while nothing is under way to its queue: what one turn of the loop brings goes at once. Else messages
// gather until the answer comes, the linger is over, or they are enough. Each keeps its own deadline, attempts and
// receipt. On the I/O side only.

#pragma once

#include <client/operation.hpp>
#include <net/request.hpp>
#include <wire/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace shunt::client {

class gatherer;
struct gathering;

/// One request with the messages that ride on it.
class carrier final : public net::request {
public:
    explicit carrier(gatherer& owner) : owner_(owner) {}

    void encode(wire::buffer& out, std::int32_t opaque) override;
    [[nodiscard]] std::string_view tail() const noexcept override { return body.view(); }
    void finished(const net::reply& r) override;
    void unpinned() noexcept override;

    gathering* from = nullptr;
    std::vector<operation*> members;  // null: it got off
    std::size_t riding = 0;
    wire::buffer body;
    bool over = false;

private:
    gatherer& owner_;
};

struct gathering : net::timer_hook {
    gatherer* owner = nullptr;
    strategy::broker_entry* broker = nullptr;
    std::int32_t queue = -1;
    bool wait_store = true;
    std::vector<operation*> waiting;
    std::size_t bytes = 0;
    std::size_t under_way = 0;  // carriers
    bool listed = false;        // to be looked at when the turn ends
};

class gatherer {
public:
    explicit gatherer(core& owner) : owner_(owner) {}
    ~gatherer();
    gatherer(const gatherer&) = delete;
    gatherer& operator=(const gatherer&) = delete;

    [[nodiscard]] bool takes(const operation& op) const noexcept;
    /// An attempt that was decided; its timer runs. The messages behind it in its lane come along.
    void add(operation& op);
    /// Takes the message off its carrier, or out of those that wait. How the attempt ended for it, if it ends now.
    [[nodiscard]] send::ending take_off(operation& op);
    /// Sends what gathered for queues that nothing is under way to.
    void turn_ends();

private:
    friend class carrier;
    struct place {
        target* where;
        strategy::broker_entry* broker;
        std::int32_t queue;
        bool wait_store;
        friend bool operator==(const place&, const place&) = default;
    };
    struct place_hash {
        std::size_t operator()(const place& p) const noexcept
        {
            return std::hash<const void*>()(p.where) ^ std::hash<const void*>()(p.broker) * 31 ^ static_cast<std::size_t>(p.queue) * 1'000'003 ^
                   (p.wait_store ? 1U : 0U);
        }
    };
    [[nodiscard]] static std::size_t size_of(const operation& op) noexcept;
    void put(gathering& g, operation& op);
    void bring_followers(gathering& g, operation& head);
    void depart(gathering& g);
    void arrived(carrier& c, const net::reply& r);
    void look_later(gathering& g);
    void give_back(carrier& c) noexcept;

    core& owner_;
    std::unordered_map<place, std::unique_ptr<gathering>, place_hash> places_;
    std::vector<gathering*> changed_;
    std::vector<std::unique_ptr<carrier>> all_;
    std::vector<carrier*> free_;
};

}  // namespace shunt::client
