#include <cluster/store.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

namespace shunt::cluster {
namespace {

constexpr std::size_t block_size = 1024 * 1024;
static_assert(std::is_trivially_destructible_v<record>, "blocks are freed without destroying what lies in them");

/// Bytes of the fixed part of a stored message between IPv4 hosts, its one-byte topic length included.
constexpr std::size_t stored_fixed_size = 4 * 5 + 8 * 2 + 4 + 8 + 8 + 8 + 8 + 4 + 8 + 4 + 1 + 2;

}  // namespace

topic_log* store::find(std::string_view topic) noexcept
{
    if (last_ != nullptr && last_->config.name == topic)
        return last_;
    const auto it = topics_.find(topic);
    if (it == topics_.end())
        return nullptr;
    return last_ = it->second.get();
}

const topic_log* store::find(std::string_view topic) const noexcept
{
    const auto it = topics_.find(topic);
    return it == topics_.end() ? nullptr : it->second.get();
}

topic_log& store::put_topic(const topic_config& config)
{
    auto& slot = topics_[config.name];
    if (slot == nullptr)
        slot = std::make_unique<topic_log>();
    slot->config = config;
    return *slot;
}

bool store::erase_topic(std::string_view topic)
{
    const auto it = topics_.find(topic);
    if (it == topics_.end())
        return false;
    const topic_log* gone = it->second.get();
    std::erase_if(log_, [gone](const record* r) { return r->topic == gone; });
    last_ = nullptr;
    topics_.erase(it);
    return true;
}

const record& store::append(topic_log& topic, const new_message& m, std::uint64_t sequence)
{
    const std::size_t properties_size = m.properties.size() + m.more_properties.size();
    const std::size_t body_size = keep_bodies_ ? m.body.size() : 0;
    char* at = allocate(sizeof(record) + properties_size + body_size);

    if (topic.queues.size() <= static_cast<std::size_t>(m.queue_id))
        topic.queues.resize(static_cast<std::size_t>(m.queue_id) + 1);
    auto& queue = topic.queues[static_cast<std::size_t>(m.queue_id)];

    auto* r = new (at) record;
    r->sequence = sequence;
    r->commit_log_offset = commit_log_end_;
    r->queue_offset = static_cast<std::int64_t>(queue.size());
    r->born_ms = m.born_ms;
    r->stored_ms = m.stored_ms;
    r->prepared_offset = m.prepared_offset;
    r->topic = &topic;
    r->queue_id = m.queue_id;
    r->flag = m.flag;
    r->sys_flag = m.sys_flag | (m.born_host.ipv6 ? 0x10 : 0) | (host_.ipv6 ? 0x20 : 0);
    r->reconsume_times = m.reconsume_times;
    r->born_host = m.born_host;
    r->properties_size = static_cast<std::uint32_t>(properties_size);
    r->body_size = static_cast<std::uint32_t>(body_size);

    char* bytes = reinterpret_cast<char*>(r + 1);
    const auto put = [&bytes](std::string_view part) {
        if (!part.empty())
            std::memcpy(bytes, part.data(), part.size());
        bytes += part.size();
    };
    put(m.properties);
    put(m.more_properties);
    put(m.body.substr(0, body_size));

    queue.push_back(r);
    log_.push_back(r);
    commit_log_end_ += static_cast<std::int64_t>(stored_fixed_size + m.body.size() + properties_size +
                                                 topic.config.name.size() + (m.born_host.ipv6 ? 12 : 0) + (host_.ipv6 ? 12 : 0));
    return *r;
}

const record* store::at(const topic_log& topic, std::int32_t queue_id, std::int64_t offset) const noexcept
{
    if (offset < 0 || offset >= end(topic, queue_id))
        return nullptr;
    return topic.queues[static_cast<std::size_t>(queue_id)][static_cast<std::size_t>(offset)];
}

std::int64_t store::end(const topic_log& topic, std::int32_t queue_id) const noexcept
{
    if (queue_id < 0 || static_cast<std::size_t>(queue_id) >= topic.queues.size())
        return 0;
    return static_cast<std::int64_t>(topic.queues[static_cast<std::size_t>(queue_id)].size());
}

const record* store::by_commit_log_offset(std::int64_t offset) const noexcept
{
    const auto it = std::lower_bound(log_.begin(), log_.end(), offset,
                                     [](const record* r, std::int64_t wanted) { return r->commit_log_offset < wanted; });
    return it != log_.end() && (*it)->commit_log_offset == offset ? *it : nullptr;
}

std::int64_t store::offset_at(const topic_log& topic, std::int32_t queue_id, std::int64_t ms) const noexcept
{
    if (end(topic, queue_id) == 0)
        return 0;
    const auto& queue = topic.queues[static_cast<std::size_t>(queue_id)];
    const auto it = std::lower_bound(queue.begin(), queue.end(), ms,
                                     [](const record* r, std::int64_t wanted) { return r->stored_ms < wanted; });
    return it - queue.begin();
}

void store::encode(wire::buffer& out, const record& r) const
{
    wire::stored_message m;
    m.queue_id = r.queue_id;
    m.flag = r.flag;
    m.queue_offset = r.queue_offset;
    m.commit_log_offset = r.commit_log_offset;
    m.sys_flag = r.sys_flag;
    m.born_ms = r.born_ms;
    m.born_host = r.born_host;
    m.store_ms = r.stored_ms;
    m.store_host = host_;
    m.reconsume_times = r.reconsume_times;
    m.prepared_offset = r.prepared_offset;
    m.body = r.body();
    m.topic = r.topic->config.name;
    m.properties = r.properties();
    wire::put_stored(out, m);
}

char* store::allocate(std::size_t size)
{
    size = (size + alignof(record) - 1) / alignof(record) * alignof(record);
    if (size > block_size / 4) {  // a large one has a block of its own, so that the current one is not left half empty
        blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
        return blocks_.back().get();
    }
    if (block_left_ < size) {
        blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_size));
        block_ = blocks_.back().get();
        block_left_ = block_size;
    }
    char* at = block_;
    block_ += size;
    block_left_ -= size;
    return at;
}

}  // namespace shunt::cluster
