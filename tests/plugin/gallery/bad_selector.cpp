// A good selector over the plain C table, with one thing wrong in it: GALLERY_BAD_... says which. Built once for each, so that
// every check of selectors can be seen to fail. Without any it passes them all.

#include <shunt/sdk/abi.h>
#include <shunt/sdk/hash.hpp>
#include <shunt/sdk/tiers.hpp>

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace {

namespace sdk = shunt::sdk;

#ifdef GALLERY_BY_KEY
#define GALLERY_CLASS_FLAGS SHUNT_F_DETERMINISTIC
constexpr bool goes_by_key = true;
#elif defined(GALLERY_BAD_FILTER_LEVELS)
#define GALLERY_CLASS_FLAGS SHUNT_F_FILTER
constexpr bool goes_by_key = false;
#elif defined(GALLERY_BAD_SELECT_THREADS_SHARED)
#define GALLERY_CLASS_FLAGS SHUNT_F_CONCURRENT
constexpr bool goes_by_key = false;
#elif defined(GALLERY_BAD_SELECT_PROPERTIES)
#define GALLERY_CLASS_FLAGS SHUNT_F_WANTS_PROPS
constexpr bool goes_by_key = false;
#else
constexpr bool goes_by_key = false;
#endif

struct instance {
    const shunt_host* host = nullptr;
    sdk::cursor at{0};
    std::int32_t turn = 0;          // for the signed cursor
    std::uint32_t known_queues = 0; // for what is worked out once for all time
};

[[maybe_unused]] std::uint32_t calls_of_all = 0;
[[maybe_unused]] std::atomic<int> inside{0};
[[maybe_unused]] volatile std::uint64_t effort = 0;

[[maybe_unused]] shunt_status say(const shunt_host* h, shunt_status status, const char* text)
{
    h->set_error(h->ctx, {text, std::strlen(text)});
    return status;
}

// Deeds for GALLERY_DIES_IN_...

[[maybe_unused]] void cut_all_files()
{
    for (int fd = 3; fd < 64; ++fd)
        (void)!ftruncate(fd, 0);
}

[[maybe_unused]] void close_all_files()
{
    for (int fd = 0; fd < 64; ++fd)
        close(fd);
}

[[maybe_unused]] void flood_output()
{
    static char much[1 << 20];
    for (int i = 0; i < 1024 && write(1, much, sizeof much) > 0; ++i) {
    }
}

[[maybe_unused]] void hang_at_exit()
{
    static const bool once = [] {
        std::atexit([] {
            while (true)
                pause();
        });
        return true;
    }();
    (void)once;
}

[[maybe_unused]] void eat_memory()
{
    constexpr std::size_t piece = 16 << 20;
    for (;;)
        std::memset(std::malloc(piece), 1, piece);  // until there is none
}

/// A process that stays when all of this is over.
[[maybe_unused]] void leave_process()
{
    if (fork() != 0)
        return;
    setsid();
    for (;;)
        pause();
}

[[maybe_unused]] void work(std::uint64_t steps)
{
    for (std::uint64_t i = 0; i < steps; ++i)
        effort = effort + i;
}

[[maybe_unused]] void spin_for_ever() { work(UINT64_MAX); }

// The page of the null pointer is never there; told to the compiler in a way that it cannot work out.
[[maybe_unused]] void write_nowhere() { *reinterpret_cast<volatile int*>(effort + 16) = 1; }
[[maybe_unused]] void call_nowhere() { reinterpret_cast<void (*)()>(effort + 16)(); }

[[maybe_unused]] std::uint64_t recurse(volatile char* above)
{
    volatile char room[4096];
    room[0] = above == nullptr ? '\0' : *above;
    const std::uint64_t deeper = effort < UINT64_MAX ? recurse(room) : 0;
    return deeper + static_cast<std::uint64_t>(room[0]);
}
[[maybe_unused]] void recurse_for_ever() { recurse(nullptr); }

// Never touched, so that nothing happens when there is no more.
[[maybe_unused]] void leak(std::size_t size)
{
    void* volatile lost = std::malloc(size);
    (void)lost;
}

// As a bomb would, but for its end: sixty-four processes, each of which stays.
[[maybe_unused]] void fork_all_the_time()
{
    static int left = 64;
    if (left-- <= 0)
        return;
    if (fork() == 0) {
        while (true)
            pause();
    }
}

#ifdef GALLERY_BAD_SETTINGS_EDGES
const shunt_param params[] = {{{"size", 4}, {"how many", 8}, {"7", 1}, {nullptr, 0}, {nullptr, 0}, SHUNT_T_I64, 0, 0, 0, 1, 16}};
#define GALLERY_PARAMS params, 1, sizeof(shunt_param)
#endif

#ifdef GALLERY_BAD_UNLOAD
pthread_key_t left_to_run;
void on_thread_exit(void*) { ++calls_of_all; }
#endif

#ifdef GALLERY_BAD_NO_THREADS
void* wait_for_ever(void*)
{
    for (;;)
        pause();
}
#endif

shunt_status create(const shunt_host* h, [[maybe_unused]] const shunt_config* c, const shunt_instance* i, shunt_selector** out)
{
#ifdef GALLERY_BAD_SETTINGS_EDGES
    shunt_value size{};
    if (c->get(c->root, {"size", 4}, &size) == SHUNT_OK && size.i64 == 16)
        return SHUNT_E_CONFIG;
#endif
#ifdef GALLERY_DIES_IN_CREATE
    GALLERY_DIES_IN_CREATE;
#endif
#ifdef GALLERY_BAD_QUICK
    work(600'000'000);
#endif
#ifdef GALLERY_BAD_CREATE_REPEAT
    *static_cast<volatile char*>(std::malloc(64)) = 1;
#endif
#ifdef GALLERY_BAD_OUT_OF_MEMORY
    void* const room = std::malloc(sizeof(instance));
    *static_cast<volatile char*>(room) = 1;
#else
    void* const room = std::malloc(sizeof(instance));
    if (room == nullptr)
        return say(h, SHUNT_E_NOMEM, "no memory");
#endif
    auto* const made = new (room) instance{.host = h, .at = sdk::cursor{i->start}, .turn = static_cast<std::int32_t>(i->start)};
    *out = reinterpret_cast<shunt_selector*>(made);
    return SHUNT_OK;
}

void destroy(shunt_selector* p)
{
#ifdef GALLERY_DIES_IN_DESTROY
    GALLERY_DIES_IN_DESTROY;
#endif
    std::free(p);
}

bool has_key(const shunt_msg* m)
{
#ifdef GALLERY_BAD_SELECT_EMPTY_KEY
    return m->key.len > 0;
#else
    return (m->flags & SHUNT_MSG_HAS_KEY) != 0;
#endif
}

shunt_status select(shunt_selector* p, const shunt_view* v, const shunt_msg* m, shunt_pick* out)
{
    instance& self = *reinterpret_cast<instance*>(p);
    const sdk::view view{*v};
    const sdk::message message{*m};
    (void)self;

#if defined(GALLERY_DIES_IN_SELECT)
    GALLERY_DIES_IN_SELECT;
#elif defined(GALLERY_BAD_EXCEPTIONS_STAY)
    if (m->attempt > 1)
        throw std::runtime_error("lost the thread");
#elif defined(GALLERY_BAD_SELECT_ISOLATED)
    bool well = false;
    for (std::uint32_t q = 0; q < v->n_queues; ++q)
        well = well || view.available(q);
    if (!well)
        return SHUNT_NO_QUEUE;
#elif defined(GALLERY_BAD_SELECT_ALL_TRIED)
    if (m->n_tried == v->n_brokers)
        return SHUNT_NO_QUEUE;
#elif defined(GALLERY_BAD_SELECT_ONE_QUEUE)
    if (v->n_queues == 1)
        return SHUNT_ABSTAIN;
#elif defined(GALLERY_BAD_SELECT_MANY_QUEUES)
    if (v->n_queues > 1000) {
        out->queue_index = v->n_queues;
        return SHUNT_OK;
    }
#elif defined(GALLERY_BAD_SELECT_KEYS)
    // As if the key ended with a zero word, not with one NUL.
    if (has_key(m) && m->key.len == 16 && m->key.ptr[m->key.len + 1] == 'x')
        return SHUNT_NO_QUEUE;
#elif defined(GALLERY_BAD_SELECT_PROPERTIES)
    effort = effort + m->props[0].value.len;
#elif defined(GALLERY_BAD_SELECT_REPEATS)
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    self.at = sdk::cursor{static_cast<std::uint32_t>(now.tv_nsec / 64)};
#elif defined(GALLERY_BAD_SELECT_CANDIDATES)
    shunt_view all = *v;
    all.candidates = nullptr;
    const sdk::pick anyone = sdk::rotate(sdk::view{all}, message, self.at);
    *out = {anyone.queue(), 0};
    return anyone.status();
#elif defined(GALLERY_BAD_SELECT_HEALTH) || defined(GALLERY_BAD_SELECT_AVOIDS_TRIED)
    shunt_msg blind = *m;
    shunt_view sick = *v;
#ifdef GALLERY_BAD_SELECT_HEALTH
    std::string ones(v->n_queues / 64 * 8 + 8, '\xff');
    sick.available = sick.reachable = reinterpret_cast<const std::uint64_t*>(ones.data());
#else
    blind.n_tried = std::min(blind.n_tried, 1u);  // only the first of them
#endif
    const sdk::pick anyone = sdk::rotate(sdk::view{sick}, sdk::message{blind}, self.at);
    *out = {anyone.queue(), 0};
    return anyone.status();
#elif defined(GALLERY_BAD_NO_LEAKS)
    leak(16);
#elif defined(GALLERY_BAD_SELECT_LEAVES_VIEW)
    const_cast<shunt_broker*>(v->brokers)->weight += 1;
#elif defined(GALLERY_BAD_SELECT_ROUTE_CHANGES)
    if (self.known_queues == 0)
        self.known_queues = v->n_queues;
    if (m->n_tried == 0 && v->candidates == nullptr && v->n_queues < self.known_queues) {
        out->queue_index = self.known_queues - 1;
        return SHUNT_OK;
    }
#elif defined(GALLERY_BAD_SELECT_EXTREMES)
    std::uint32_t weights = 0;
    for (const sdk::broker_view b : view.brokers())
        weights += b.weight();
    effort = m->random % weights;
#elif defined(GALLERY_BAD_SELECT_LONGER_STRUCTS)
    const shunt_broker& last = v->brokers[v->n_brokers - 1];
    if (v->n_brokers == 5 && last.id != 1004) {
        out->queue_index = 0;
        return SHUNT_OK;
    }
#elif defined(GALLERY_BAD_SELECT_THREADS_SHARED)
    const int others = inside.fetch_add(1);
    for (int i = 0; i < 3; ++i)
        sched_yield();
    inside.fetch_sub(1);
    if (others > 0)
        return SHUNT_E_INVALID;
    *out = {static_cast<std::uint32_t>(m->random % v->n_queues), SHUNT_WHY_RANDOM};
    return SHUNT_OK;
#elif defined(GALLERY_BAD_SELECT_THREADS_OWN)
    // Shares nothing that one thread could tell: only who is inside at the same time makes a difference.
    const int others = inside.fetch_add(1);
    for (int i = 0; i < 3; ++i)
        sched_yield();
    inside.fetch_sub(1);
    if (others > 0)
        return say(self.host, SHUNT_E_INVALID, "met another");
#elif defined(GALLERY_BAD_SELECT_ALLOCATES)
    void* const scratch = std::malloc(128);
    if (scratch == nullptr)
        return say(self.host, SHUNT_E_NOMEM, "no memory");
    *static_cast<volatile char*>(scratch) = 1;
    std::free(scratch);
#elif defined(GALLERY_BAD_SELECT_TIME)
    work(200'000);
#elif defined(GALLERY_BAD_START_VALUES)
    if (m->n_tried == 0 && v->candidates == nullptr && v->n_queues == 12) {
        const auto turn = static_cast<std::int32_t>(static_cast<std::uint32_t>(self.turn) + 1u);
        self.turn = turn;
        if (turn < 0) {
            out->queue_index = static_cast<std::uint32_t>(turn % static_cast<std::int32_t>(v->n_queues));
            return SHUNT_OK;
        }
    }
#elif defined(GALLERY_BAD_CREATE_MANY)
    self.at = sdk::cursor{calls_of_all++};
#elif defined(GALLERY_BAD_SILENT)
    std::puts("picking");
#elif defined(GALLERY_BAD_NO_THREADS)
    pthread_t thread;
    if (pthread_create(&thread, nullptr, wait_for_ever, nullptr) != 0)
        return say(self.host, SHUNT_E_INVALID, "no thread");
#elif defined(GALLERY_BAD_NO_DESCRIPTORS)
    effort = effort + static_cast<std::uint64_t>(open("/dev/null", O_RDONLY | O_CLOEXEC));
#elif defined(GALLERY_BAD_NO_SIGNALS)
    std::signal(SIGUSR2, SIG_IGN);
#elif defined(GALLERY_BAD_NO_LOCALE)
    std::setlocale(LC_ALL, "C.UTF-8");
    std::fesetround(FE_UPWARD);
#elif defined(GALLERY_BAD_NO_ENVIRONMENT)
    setenv("SHUNT_GALLERY", "was here", 1);
#elif defined(GALLERY_BAD_NO_FILES)
    if (const int fd = open("picks.log", O_WRONLY | O_CREAT | O_CLOEXEC, 0600); fd >= 0)
        close(fd);
#elif defined(GALLERY_BAD_UNLOAD)
    if (left_to_run == 0)
        pthread_key_create(&left_to_run, on_thread_exit);
    pthread_setspecific(left_to_run, &self);
#endif

    if (goes_by_key && has_key(m)) {
#ifdef GALLERY_BAD_SELECT_SAME_KEY
        *out = {static_cast<std::uint32_t>(m->random % v->n_queues), SHUNT_WHY_KEY};
        return SHUNT_OK;
#endif
        const sdk::fitting untried{view, message, sdk::tier::untried}, any{view, message, sdk::tier::any};
        const sdk::fitting& among = untried.empty() ? any : untried;
        const std::uint32_t n = among.count(0, v->n_queues);
        if (n == 0)
            return SHUNT_NO_QUEUE;
        *out = {among.nth(static_cast<std::uint32_t>(sdk::fnv1a(message.key()) % n), 0, v->n_queues), SHUNT_WHY_KEY};
        return SHUNT_OK;
    }
    const sdk::pick picked = sdk::rotate(view, message, self.at);
    *out = {picked.queue(), static_cast<std::uint32_t>(picked.reason())};
#ifdef GALLERY_BAD_SELECT_WHY
    out->why = 99;
#endif
    return picked.status();
}

#if defined(GALLERY_BAD_FILTER_LEVELS)
shunt_status filter(shunt_selector*, const shunt_view*, const shunt_msg*, std::uint32_t, std::uint64_t* mask)
{
    mask[0] |= 1;
    return SHUNT_OK;
}
#define GALLERY_FILTER filter
#endif

#ifdef GALLERY_BAD_WANTS_SUBSET
std::uint32_t wants(const shunt_selector*) { return SHUNT_F_WANTS_PROPS; }
#define GALLERY_WANTS wants
#endif

// ---- state: where the rotation stands ----

[[maybe_unused]] shunt_status export_state(shunt_selector* p, const shunt_writer* w)
{
    const std::uint32_t at = reinterpret_cast<instance*>(p)->at.at();
    const shunt_status status = w->write(w->ctx, &at, sizeof at);
#ifdef GALLERY_BAD_STATE_WRITER_FAILS
    return SHUNT_OK;
#endif
    return status;
}

[[maybe_unused]] shunt_status import_state(shunt_selector* p, [[maybe_unused]] std::uint32_t schema, const void* bytes, std::uint64_t n)
{
    instance& self = *reinterpret_cast<instance*>(p);
#ifndef GALLERY_BAD_STATE_OTHER_SCHEMA
    if (schema != 1)
        return SHUNT_UNSUPPORTED;
#endif
#ifdef GALLERY_BAD_STATE_TRUNCATED
    if (n > 4)
#else
    if (n != 4)
#endif
    {
#ifdef GALLERY_BAD_STATE_GARBAGE
        self.at = sdk::cursor{0x1234567};
#endif
        return say(self.host, SHUNT_E_INVALID, "the state is four bytes");
    }
    std::uint32_t at = 0;
    std::memcpy(&at, bytes, n);
#ifdef GALLERY_BAD_STATE_ROUND_TRIP
    at = 7;
#endif
    self.at = sdk::cursor{at};
    return SHUNT_OK;
}

}  // namespace

#ifdef GALLERY_STATE
#define GALLERY_SCHEMA 1
#define GALLERY_EXPORT export_state
#ifndef GALLERY_BAD_STATE_BOTH
#define GALLERY_IMPORT import_state
#endif
#endif
#ifndef GALLERY_NAME
#define GALLERY_NAME "bad"
#endif
#define GALLERY_CREATE create
#define GALLERY_DESTROY destroy
#define GALLERY_SELECT select
#include "gallery.h"
