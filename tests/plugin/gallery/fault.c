/* A fault strategy in plain C: every broker is well. */
#include <shunt/sdk/abi.h>
#define GALLERY_NOTE_NAMES "fault:mild\n"
#define GALLERY_WITHOUT_ENTRY
#include "gallery.h"

static shunt_status create(const shunt_host *host, const shunt_config *config, const shunt_instance *instance, shunt_fault **out)
{
    (void)host, (void)config, (void)instance;
    *out = (shunt_fault *)&gallery_thing;
    return SHUNT_OK;
}
static void destroy(shunt_fault *self) { (void)self; }
static shunt_status evaluate(shunt_fault *self, const shunt_broker *brokers, uint32_t stride, uint32_t n, int64_t now_ns,
                             uint64_t *available, uint64_t *reachable, int64_t *valid_until_ns)
{
    (void)self, (void)brokers, (void)stride, (void)now_ns, (void)reachable;
    for (uint32_t i = 0; i < n; ++i)
        available[i / 64] |= UINT64_C(1) << i % 64;
    *valid_until_ns = INT64_MAX;
    return SHUNT_OK;
}
static shunt_status on_feedback(shunt_fault *self, const shunt_feedback *feedback, uint32_t stride, uint32_t n)
{
    (void)self, (void)feedback, (void)stride, (void)n;
    return SHUNT_OK;
}
static const shunt_fault_class mild = {sizeof(shunt_fault_class), 0, GALLERY_STR("mild"), GALLERY_STR("for tests"), 0, 0, 0, 0, 0,
                                       create, destroy, evaluate, on_feedback, 0, 0, 0};
static const shunt_fault_class *const faults[] = {&mild};
static const shunt_plugin plugin = {SHUNT_MAGIC, sizeof(shunt_plugin), 1, 0, GALLERY_STR("shunt.tests.mild"), GALLERY_STR("1.0.0"),
                                    GALLERY_STR("Apache-2.0"), GALLERY_STR("shunt"), GALLERY_STR("gallery"), 0, 1, 0, faults};

__attribute__((visibility("default"))) const shunt_plugin *shunt_plugin_entry_v1(const shunt_handshake *handshake);
const shunt_plugin *shunt_plugin_entry_v1(const shunt_handshake *handshake)
{
    return handshake->abi_major == 1 ? &plugin : 0;
}
