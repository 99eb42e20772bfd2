#include <unit/wire/allocation_count.hpp>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> count{0};
}

long shunt::wire::test::allocations() noexcept { return count.load(); }

// Not inlined, or the compiler sees free() meet new and warns.
[[gnu::noinline]] void* operator new(std::size_t size)
{
    count.fetch_add(1);
    if (void* p = std::malloc(size != 0 ? size : 1))
        return p;
    throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
