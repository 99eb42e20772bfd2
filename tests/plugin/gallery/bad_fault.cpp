// A good fault strategy over the plain C table, with one thing wrong in it: GALLERY_BAD_... says which. Built once for each, so
// that every check of fault strategies can be seen to fail. Without any it passes them all.

#include <shunt/sdk/abi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>

#include <unistd.h>

#define GALLERY_NOTE_NAMES "fault:bad-fault\n"
#define GALLERY_WITHOUT_ENTRY
#include "gallery.h"

namespace {

constexpr std::int64_t isolation_ns = 1'000'000'000;

struct instance {
    const shunt_host* host = nullptr;
    std::map<std::uint32_t, std::int64_t> isolated_until;  // by broker id
    std::int64_t last_at = 0;
};

[[maybe_unused]] shunt_status say(const shunt_host* h, shunt_status status, const char* text)
{
    h->set_error(h->ctx, {text, std::strlen(text)});
    return status;
}

shunt_status create(const shunt_host* h, const shunt_config*, const shunt_instance*, shunt_fault** out)
{
    auto* const made = new (std::nothrow) instance{h, {}, 0};
    if (made == nullptr)
        return say(h, SHUNT_E_NOMEM, "no memory");
    *out = reinterpret_cast<shunt_fault*>(made);
    return SHUNT_OK;
}

void destroy(shunt_fault* p) { delete reinterpret_cast<instance*>(p); }

shunt_status evaluate(shunt_fault* p, const shunt_broker* brokers, std::uint32_t stride, std::uint32_t n, std::int64_t now,
                      std::uint64_t* available, [[maybe_unused]] std::uint64_t* reachable, std::int64_t* valid_until)
{
    instance& self = *reinterpret_cast<instance*>(p);
    *valid_until = INT64_MAX;
    for (std::uint32_t i = 0; i < n; ++i) {
        const auto& broker = *reinterpret_cast<const shunt_broker*>(reinterpret_cast<const char*>(brokers) + std::size_t{stride} * i);
        const auto known = self.isolated_until.find(broker.id);
        bool well = known == self.isolated_until.end() || known->second <= now;
#ifdef GALLERY_BAD_FAULT_FRESH
        well = known != self.isolated_until.end() && known->second <= now;
#endif
        if (well)
            available[i / 64] |= std::uint64_t{1} << (i % 64);
        else if (known != self.isolated_until.end())
            *valid_until = std::min(*valid_until, known->second);
    }
#ifdef GALLERY_BAD_FAULT_MASKS
    if (n % 64 != 0)
        reachable[n / 64] |= std::uint64_t{1} << (n % 64);
#endif
#if defined(GALLERY_BAD_FAULT_VALID_UNTIL) || defined(GALLERY_BAD_FAULT_RECOVERS)
    *valid_until = INT64_MAX;
#endif
    return SHUNT_OK;
}

shunt_status on_feedback(shunt_fault* p, const shunt_feedback* first, std::uint32_t stride, std::uint32_t n)
{
    instance& self = *reinterpret_cast<instance*>(p);
    shunt_status changed = 0;
#ifdef GALLERY_DIES_IN_FEEDBACK
    GALLERY_DIES_IN_FEEDBACK;
#endif
    for (std::uint32_t i = 0; i < n; ++i) {
#ifdef GALLERY_BAD_FAULT_LONGER_STRUCTS
        const shunt_feedback& f = first[i];
        (void)stride;
#else
        const auto& f = *reinterpret_cast<const shunt_feedback*>(reinterpret_cast<const char*>(first) + std::size_t{stride} * i);
#endif
        if (f.kind == SHUNT_FB_LEFT) {
#ifdef GALLERY_BAD_FAULT_UNKNOWN_BROKER
            if (!self.isolated_until.contains(f.broker_id))
                return say(self.host, SHUNT_E_INVALID, "no such broker");
#endif
#ifndef GALLERY_BAD_FAULT_FORGETS
            changed |= static_cast<shunt_status>(self.isolated_until.erase(f.broker_id));
#endif
            continue;
        }
        if (f.kind != SHUNT_FB_SEND)
            continue;
#ifdef GALLERY_BAD_FAULT_TIME
        if (f.at_ns < self.last_at)
            return say(self.host, SHUNT_E_INVALID, "time goes backward");
        self.last_at = f.at_ns;
#endif
#ifdef GALLERY_BAD_FAULT_EXTREMES
        if (1000 / static_cast<std::int32_t>(f.share_ns) > 1)
            continue;
#endif
        if (f.result == SHUNT_FB_GOOD || f.result > SHUNT_FB_EXPIRED)
            continue;
#ifdef GALLERY_BAD_FAULT_ONE_FOR_ONE
        for (std::uint32_t id = 1000; id < 1010; ++id)
            self.isolated_until[id] = f.at_ns + isolation_ns;
#endif
#ifdef GALLERY_BAD_FAULT_PROBES
        self.host->request_probe(self.host->ctx, f.broker_id + 500, f.at_ns);
#endif
#ifdef GALLERY_BAD_FAULT_RECOVERS
        self.isolated_until[f.broker_id] = INT64_MAX;
#else
        self.isolated_until[f.broker_id] = f.at_ns + isolation_ns;
#endif
        changed = 1;
    }
#ifdef GALLERY_BAD_FAULT_SAYS_CHANGED
    return 0;
#endif
    return changed;
}

const shunt_fault_class bad = {sizeof(shunt_fault_class), 0, GALLERY_STR("bad-fault"), GALLERY_STR("for tests"), nullptr, 0, 0, 0, 0,
                               create, destroy, evaluate, on_feedback, nullptr, nullptr, nullptr};
const shunt_fault_class* const faults[] = {&bad};
const shunt_plugin plugin = {SHUNT_MAGIC, sizeof(shunt_plugin), 1, 0, GALLERY_STR("shunt.tests.bad-fault"), GALLERY_STR("1.0.0"),
                             GALLERY_STR("Apache-2.0"), GALLERY_STR("shunt"), GALLERY_STR("gallery"), 0, 1, nullptr, faults};

}  // namespace

extern "C" __attribute__((visibility("default"))) const shunt_plugin* shunt_plugin_entry_v1(const shunt_handshake* handshake);

extern "C" const shunt_plugin* shunt_plugin_entry_v1(const shunt_handshake* handshake)
{
    return handshake->abi_major == 1 ? &plugin : nullptr;
}
