/* The same strategy as step.cpp, by hand over abi.h alone: builds with every version of it. See builds_test.py. */
#include <shunt/sdk/abi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MIN_HOST_MINOR
#define MIN_HOST_MINOR 0
#endif
#define STR(text) {text, sizeof(text) - 1}

struct shunt_selector {
    const shunt_host *host;
    uint32_t next, step;
};

static shunt_status fail(const shunt_host *host, shunt_status status, const char *text)
{
    const shunt_str s = {text, strlen(text)};
    host->set_error(host->ctx, s);
    return status;
}

static shunt_status create(const shunt_host *host, const shunt_config *config, const shunt_instance *instance, shunt_selector **out)
{
    const shunt_str name = STR("step");
    shunt_value step;
    if (config->get(config->root, name, &step) != SHUNT_OK || step.type != SHUNT_T_I64)
        return fail(host, SHUNT_E_CONFIG, "step is missing");
    if (step.i64 % 7 == 0) {
        char text[80];
        snprintf(text, sizeof text, "step is %d; it must be no multiple of 7", (int)step.i64);
        return fail(host, SHUNT_E_CONFIG, text);
    }
    shunt_selector *self = malloc(sizeof *self);
    if (self == NULL)
        return fail(host, SHUNT_E_NOMEM, "out of memory");
    self->host = host;
    self->next = instance->start;
    self->step = (uint32_t)step.i64;
    *out = self;
    return SHUNT_OK;
}

static void destroy(shunt_selector *self) { free(self); }

static int fits(const shunt_view *view, const shunt_msg *msg, uint32_t q)
{
    if (view->candidates != NULL && (view->candidates[q / 64] >> (q % 64) & 1) == 0)
        return 0;
    if ((view->available[q / 64] >> (q % 64) & 1) == 0)
        return 0;
    for (uint32_t i = 0; i < msg->n_tried; ++i)
        if (msg->tried[i] == view->queues[q].broker)
            return 0;
    return 1;
}

static shunt_status pick(shunt_selector *self, const shunt_view *view, const shunt_msg *msg, shunt_pick *out)
{
    if ((msg->flags & SHUNT_MSG_HAS_KEY) != 0 && msg->key.len == 6 && memcmp(msg->key.ptr, "poison", 6) == 0)
        return fail(self->host, SHUNT_E_EXCEPTION, "the key is 'poison'; no queue is right for it");
    uint32_t first = self->next;
    self->next += self->step;
    for (uint64_t i = 0; i < msg->key.len; ++i)
        first += (unsigned char)msg->key.ptr[i];
    first %= view->n_queues;
    for (uint32_t i = 0; i < view->n_queues; ++i) {
        const uint32_t q = (first + i) % view->n_queues;
        if (fits(view, msg, q)) {
            out->queue_index = q;
            out->why = i == 0 ? SHUNT_WHY_ROTATION : SHUNT_WHY_AVOID_ISOLATED;
            return SHUNT_OK;
        }
    }
    return SHUNT_NO_QUEUE;
}

static const shunt_param params[] = {{.name = STR("step"), .help = STR("from one to the next"), .default_text = STR("1"),
                                      .unit = STR("queues"), .type = SHUNT_T_I64, .min = 1, .max = 100}};

static const shunt_selector_class step = {.struct_size = sizeof step, .name = STR("step"),
                                          .summary = STR("goes on by so many queues, and further by the key's bytes"),
                                          .params = params, .n_params = 1, .param_stride = sizeof *params,
                                          .create = create, .destroy = destroy, .select = pick};
static const shunt_selector_class *const selectors[] = {&step};

static const shunt_plugin plugin = {.magic = SHUNT_MAGIC, .struct_size = sizeof plugin, .abi_major = SHUNT_ABI_MAJOR,
                                    .abi_minor = SHUNT_ABI_MINOR, .id = STR("shunt.tests.step"), .version = STR("1.0.0"),
                                    .license = STR("Apache-2.0"), .n_selectors = 1, .selectors = selectors};

__attribute__((visibility("default"))) const shunt_plugin *shunt_plugin_entry_v1(const shunt_handshake *host);
const shunt_plugin *shunt_plugin_entry_v1(const shunt_handshake *host)
{
    return host->abi_major == SHUNT_ABI_MAJOR ? &plugin : NULL;
}

#define NAMES "selector:step\n"
static const struct {
    uint32_t owner_len, description_len, type;
    char owner[8];
    shunt_note head;
    char names[(sizeof NAMES + 3) / 4 * 4];
} note __attribute__((section(".note.shunt"), used, aligned(4))) = {
    sizeof SHUNT_NOTE_OWNER, sizeof(shunt_note) + sizeof note.names, SHUNT_NOTE_TYPE, SHUNT_NOTE_OWNER,
    {SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR, MIN_HOST_MINOR, 0, sizeof NAMES - 1}, NAMES};
