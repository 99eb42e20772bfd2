// Preloaded into a program, counts its allocations: each malloc, calloc, realloc and aligned one, of new too.

#include <atomic>
#include <cstddef>
#include <cstdint>

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

static std::atomic<std::uint64_t> counted{0};

std::uint64_t bench_allocations() { return counted.load(std::memory_order_relaxed); }

void* malloc(std::size_t n)
{
    counted.fetch_add(1, std::memory_order_relaxed);
    return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t each)
{
    counted.fetch_add(1, std::memory_order_relaxed);
    return __libc_calloc(n, each);
}
void* realloc(void* p, std::size_t n)
{
    counted.fetch_add(1, std::memory_order_relaxed);
    return __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t alignment, std::size_t n)
{
    counted.fetch_add(1, std::memory_order_relaxed);
    return __libc_memalign(alignment, n);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t n)
{
    counted.fetch_add(1, std::memory_order_relaxed);
    *p = __libc_memalign(alignment, n);
    return *p == nullptr ? 12 : 0;
}
}
