#include <wire/buffer.hpp>
#include <wire/text.hpp>

#include <algorithm>

namespace shunt::wire {

void buffer::put_decimal(std::int64_t v)
{
    char* const p = grab(decimal_room);
    size_ += static_cast<std::size_t>(wire::put_decimal(p, v) - p);
}

void buffer::grow(std::size_t count)
{
    const std::size_t wanted = std::max({size_ + count, capacity_ * 2, std::size_t{256}});
    auto bigger = std::make_unique_for_overwrite<char[]>(wanted);
    if (size_ != 0)
        std::memcpy(bigger.get(), data_.get(), size_);
    data_ = std::move(bigger);
    capacity_ = wanted;
}

}  // namespace shunt::wire
