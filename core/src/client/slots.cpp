#include <client/slots.hpp>

#include <client/operation.hpp>

#include <utility>

namespace shunt::client {

namespace {

/// The slots a thread has, one a producer; given back when it ends.
struct held_slots {
    struct held {
        std::uint64_t id;
        thread_slot* slot;
        std::weak_ptr<slot_pool> pool;
    };
    std::vector<held> all;
    ~held_slots()
    {
        for (const held& h : all) {
            if (const auto pool = h.pool.lock())
                pool->give_back(*h.slot);
        }
    }
};

thread_local held_slots my_slots;

std::atomic<std::uint64_t> next_pool_id{1};

}  // namespace

slot_pool::slot_pool(epoch_domain& epochs, std::uint64_t seed)
    : epochs_(epochs), id_(next_pool_id.fetch_add(1, std::memory_order_relaxed)), seed_(seed)
{
}

slot_pool::~slot_pool() { clear(); }

thread_slot& slot_pool::mine()
{
    for (const auto& h : my_slots.all) {
        if (h.id == id_) [[likely]]
            return *h.slot;
    }
    std::erase_if(my_slots.all, [](const auto& h) { return h.pool.expired(); });
    thread_slot* s = nullptr;
    {
        const std::lock_guard lock(lock_);
        if (!free_.empty()) {
            s = free_.back();
            free_.pop_back();
        }
    }
    if (s == nullptr)
        s = &make();
    my_slots.all.push_back({id_, s, weak_from_this()});
    return *s;
}

thread_slot& slot_pool::make()
{
    epoch_domain::slot& mark = epochs_.make_slot();
    const std::lock_guard lock(lock_);
    seed_ += 0x9e3779b97f4a7c15ULL;
    return *all_.emplace_back(std::make_unique<thread_slot>(mark, seed_, static_cast<std::uint32_t>(all_.size())));
}

void slot_pool::give_back(thread_slot& s)
{
    const std::lock_guard lock(lock_);
    free_.push_back(&s);
}

std::uint64_t slot_pool::decisions() const
{
    const std::lock_guard lock(lock_);
    std::uint64_t sum = 0;
    for (const auto& s : all_)
        sum += s->decisions.load(std::memory_order_relaxed);
    return sum;
}

void slot_pool::clear()
{
    const std::lock_guard lock(lock_);
    for (const auto& s : all_) {
        for (thread_slot::lookups& l : s->tables)
            l.forget();
        while (s->pool != nullptr)
            delete std::exchange(s->pool, s->pool->next);
    }
}

}  // namespace shunt::client
