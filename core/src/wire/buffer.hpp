// A growing run of bytes that encoders append to. Keeps its memory when cleared.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace shunt::wire {

class buffer {
public:
    buffer() = default;
    buffer(buffer&& other) noexcept
        : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)), capacity_(std::exchange(other.capacity_, 0))
    {
    }
    buffer& operator=(buffer&& other) noexcept
    {
        data_ = std::move(other.data_);
        size_ = std::exchange(other.size_, 0);
        capacity_ = std::exchange(other.capacity_, 0);
        return *this;
    }

    [[nodiscard]] const char* data() const noexcept { return data_.get(); }
    [[nodiscard]] char* data() noexcept { return data_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::string_view view() const noexcept { return {data_.get(), size_}; }

    void clear() noexcept { size_ = 0; }
    /// Cuts the end off; `size` is at most size().
    void truncate(std::size_t size) noexcept { size_ = size; }
    /// Drops the first `count` bytes and moves the rest to the front.
    void consume(std::size_t count) noexcept
    {
        size_ -= count;
        if (size_ != 0)
            std::memmove(data_.get(), data_.get() + count, size_);
    }
    void release() noexcept
    {
        data_.reset();
        size_ = capacity_ = 0;
    }

    /// Room for `count` more bytes; writes to [data() + size(), ...) are made visible by advance().
    char* grab(std::size_t count)
    {
        if (capacity_ - size_ < count)
            grow(count);
        return data_.get() + size_;
    }
    void advance(std::size_t count) noexcept { size_ += count; }

    void put(std::string_view bytes)
    {
        if (bytes.empty())
            return;
        std::memcpy(grab(bytes.size()), bytes.data(), bytes.size());
        size_ += bytes.size();
    }
    void put(char byte)
    {
        *grab(1) = byte;
        ++size_;
    }
    void put_u16(std::uint16_t v)
    {
        char* p = grab(2);
        p[0] = static_cast<char>(v >> 8);
        p[1] = static_cast<char>(v);
        size_ += 2;
    }
    void put_u32(std::uint32_t v)
    {
        store_u32(grab(4), v);
        size_ += 4;
    }
    void put_u64(std::uint64_t v)
    {
        put_u32(static_cast<std::uint32_t>(v >> 32));
        put_u32(static_cast<std::uint32_t>(v));
    }
    /// Overwrites four bytes at `at`, which were put before (lengths that are known only at the end).
    void patch_u32(std::size_t at, std::uint32_t v) noexcept { store_u32(data_.get() + at, v); }
    /// Decimal digits, with a sign where negative.
    void put_decimal(std::int64_t v);

private:
    static void store_u32(char* p, std::uint32_t v) noexcept
    {
        p[0] = static_cast<char>(v >> 24);
        p[1] = static_cast<char>(v >> 16);
        p[2] = static_cast<char>(v >> 8);
        p[3] = static_cast<char>(v);
    }
    void grow(std::size_t count);

    std::unique_ptr<char[]> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace shunt::wire
