// Stands before the C library's malloc in this program only, so that what a plugin allocates is seen however it does it:
// with new, with malloc, or inside the C++ library. A sanitizer stands there already; then its own counters are asked.

#include "allocations.hpp"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace {

std::atomic<std::uint64_t> made{0};
std::atomic<std::int64_t> live{0};

}  // namespace

#ifdef SHUNT_SANITIZED

extern "C" {
int __lsan_is_turned_off();
int __lsan_is_turned_off() { return 1; }  // what a plugin leaves behind is a check's business

std::size_t __sanitizer_get_allocated_size(const volatile void* at);
void __sanitizer_malloc_hook(const volatile void*, std::size_t size);
void __sanitizer_free_hook(const volatile void* at);

void __sanitizer_malloc_hook(const volatile void*, std::size_t size)
{
    made.fetch_add(1, std::memory_order_relaxed);
    live.fetch_add(static_cast<std::int64_t>(size), std::memory_order_relaxed);
}
void __sanitizer_free_hook(const volatile void* at)
{
    live.fetch_sub(static_cast<std::int64_t>(__sanitizer_get_allocated_size(at)), std::memory_order_relaxed);
}
}

#else

namespace {

std::atomic<std::uint64_t*> refused{nullptr};
thread_local std::int64_t allowed = -1;  // allocations of this thread until they fail; negative: they do not

bool may_go_on() noexcept
{
    if (allowed < 0)
        return true;
    if (allowed == 0) {
        errno = ENOMEM;
        return false;
    }
    --allowed;
    return true;
}

void* counted(void* at, std::size_t size) noexcept
{
    if (at == nullptr) {
        if (std::uint64_t* const to = refused.load(std::memory_order_relaxed); to != nullptr && size > 0)
            std::atomic_ref(*to).store(size, std::memory_order_relaxed);
    } else {
        made.fetch_add(1, std::memory_order_relaxed);
        live.fetch_add(static_cast<std::int64_t>(::malloc_usable_size(at)), std::memory_order_relaxed);
    }
    return at;
}

void uncounted(void* at) noexcept
{
    if (at != nullptr)
        live.fetch_sub(static_cast<std::int64_t>(::malloc_usable_size(at)), std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* at, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* at);

void* malloc(std::size_t size) noexcept { return may_go_on() ? counted(__libc_malloc(size), size) : nullptr; }
void* calloc(std::size_t count, std::size_t size) noexcept
{
    return may_go_on() ? counted(__libc_calloc(count, size), count * size) : nullptr;
}
void* realloc(void* at, std::size_t size) noexcept
{
    if (!may_go_on())
        return nullptr;
    const std::size_t before = at != nullptr ? ::malloc_usable_size(at) : 0;
    void* const moved = __libc_realloc(at, size);
    if (moved != nullptr || size == 0)
        live.fetch_sub(static_cast<std::int64_t>(before), std::memory_order_relaxed);
    return counted(moved, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept
{
    return may_go_on() ? counted(__libc_memalign(alignment, size), size) : nullptr;
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept
{
    void* const at = memalign(alignment, size);
    if (at == nullptr)
        return ENOMEM;
    *out = at;
    return 0;
}
void free(void* at) noexcept
{
    uncounted(at);
    __libc_free(at);
}
}

#endif

namespace shunt::helper {

plugin::check::memory_meter allocations() noexcept
{
    plugin::check::memory_meter meter;
    meter.allocations = [] { return made.load(std::memory_order_relaxed); };
    meter.live_bytes = [] { return live.load(std::memory_order_relaxed); };
#ifndef SHUNT_SANITIZED
    meter.fail_after = [](std::int64_t n) { allowed = n; };
    meter.note_refusal = [](std::uint64_t* to) { refused = to; };
#endif
    return meter;
}

}  // namespace shunt::helper
