/* @name@: stays on a queue for a run of messages, then goes on to the next. Batches get fuller, and in the long run every
 * queue gets the same.
 *
 * A whole selector to start from, in C11. CHANGE marks what to make your own. What each struct means is told in
 * shunt/sdk/abi.h. */
#include <shunt/sdk/abi.h>

#include <stdbool.h>
#include <stdlib.h>

#define NAME "@name@"    /* what users write: use = "@name@" */
#define MAX_RUN 1000000
#define STR(text) {text, sizeof(text) - 1}

/* There is an instance for each topic and sending thread, and one call at a time, so plain members may remember things. */
struct shunt_selector {
    uint32_t run;    /* the setting */
    uint32_t next;   /* where the rotation goes on */
    uint32_t queue;  /* where the run is, */
    uint32_t left;   /* and how many messages it has left */
    uint64_t route;  /* the route in which `queue` means something */
};

/* ---- which queues fit ---- */

/* From best to last resort: a broker that this message has tried is taken only if all have been. */
enum tier { UNTRIED_AVAILABLE, UNTRIED_REACHABLE, UNTRIED, AVAILABLE, REACHABLE, ANY, TIERS };

static bool has(const uint64_t *mask, uint32_t queue) { return mask == NULL || (mask[queue / 64] >> queue % 64 & 1) != 0; }

static bool tried(const shunt_msg *message, uint32_t broker)
{
    for (uint32_t i = 0; i < message->n_tried; ++i)
        if (message->tried[i] == broker)
            return true;
    return false;
}

static bool fits(const shunt_view *view, const shunt_msg *message, enum tier tier, uint32_t queue)
{
    const uint64_t *const well = tier == UNTRIED_AVAILABLE || tier == AVAILABLE   ? view->available
                                 : tier == UNTRIED_REACHABLE || tier == REACHABLE ? view->reachable
                                                                                  : NULL;
    return has(view->candidates, queue) && has(well, queue) && (tier > UNTRIED || !tried(message, view->queues[queue].broker));
}

/* What receipts and decision logs show. */
static uint32_t reason(const shunt_view *view, const shunt_msg *message, enum tier tier, bool stepped_over)
{
    switch (tier) {
    case UNTRIED_AVAILABLE:
        return !stepped_over               ? SHUNT_WHY_ROTATION
               : message->n_tried > 0      ? SHUNT_WHY_AVOID_TRIED
               : view->candidates == NULL ? SHUNT_WHY_AVOID_ISOLATED
                                           : SHUNT_WHY_ROTATION;
    case UNTRIED_REACHABLE: return SHUNT_WHY_REACHABLE_ONLY;
    case UNTRIED: return SHUNT_WHY_LAST_RESORT;
    default: return SHUNT_WHY_ALL_TRIED;
    }
}

/* ---- the strategy ---- */

/* CHANGE: the decision. It must not wait and had better not allocate: it is called for each attempt of each message. */
static shunt_status select_queue(shunt_selector *self, const shunt_view *view, const shunt_msg *message, shunt_pick *out)
{
    if (self->left > 0 && self->route == view->route_gen && fits(view, message, UNTRIED_AVAILABLE, self->queue)) {
        --self->left;
        *out = (shunt_pick){self->queue, SHUNT_WHY_PLUGIN};
        return SHUNT_OK;
    }
    const uint32_t n = view->n_queues, first = self->next % n;
    for (enum tier tier = 0; tier < TIERS; ++tier)
        for (uint32_t i = 0; i < n; ++i) {
            const uint32_t queue = (first + i) % n;
            if (!fits(view, message, tier, queue))
                continue;
            self->queue = queue;
            self->next = queue + 1;
            self->left = self->run - 1;
            self->route = view->route_gen;
            *out = (shunt_pick){queue, reason(view, message, tier, i > 0)};
            return SHUNT_OK;
        }
    return SHUNT_NO_QUEUE; /* there are no candidates at all */
}

static shunt_status fail(const shunt_host *host, shunt_status status, shunt_str text)
{
    host->set_error(host->ctx, text);
    return status;
}

/* The host has checked the settings against `params` and filled in defaults before. */
static shunt_status create(const shunt_host *host, const shunt_config *config, const shunt_instance *instance, shunt_selector **out)
{
    shunt_value run = {0};
    if (config->get(config->root, (shunt_str)STR("run"), &run) != SHUNT_OK || run.type != SHUNT_T_I64 || run.i64 < 1 ||
        run.i64 > MAX_RUN)
        return fail(host, SHUNT_E_CONFIG, (shunt_str)STR("run must be a whole number from 1 to 1000000"));
    shunt_selector *const self = calloc(1, sizeof *self);
    if (self == NULL)
        return fail(host, SHUNT_E_NOMEM, (shunt_str)STR("out of memory"));
    self->run = (uint32_t)run.i64;
    self->next = instance->start;
    *out = self;
    return SHUNT_OK;
}

static void destroy(shunt_selector *self) { free(self); }

/* ---- what the host is told ---- */

/* CHANGE: what may be set. */
static const shunt_param params[] = {
    {.name = STR("run"), .help = STR("messages to one queue before it is the next one's turn"), .default_text = STR("100"),
     .unit = STR("messages"), .type = SHUNT_T_I64, .min = 1, .max = MAX_RUN},
};

static const shunt_selector_class selector = {
    .struct_size = sizeof(shunt_selector_class),
    .name = STR(NAME),
    .summary = STR("@summary@"), /* CHANGE: one line for users */
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .param_stride = sizeof *params,
    .create = create,
    .destroy = destroy,
    .select = select_queue,
};
static const shunt_selector_class *const selectors[] = {&selector};

static const shunt_plugin plugin = {
    .magic = SHUNT_MAGIC,
    .struct_size = sizeof(shunt_plugin),
    .abi_major = SHUNT_ABI_MAJOR,
    .abi_minor = SHUNT_ABI_MINOR,
    .id = STR("example." NAME), /* CHANGE: an id of your own, the version, your licence */
    .version = STR("0.1.0"),
    .license = STR("Apache-2.0"),
    .n_selectors = 1,
    .selectors = selectors,
};

__attribute__((visibility("default"))) const shunt_plugin *shunt_plugin_entry_v1(const shunt_handshake *host);
const shunt_plugin *shunt_plugin_entry_v1(const shunt_handshake *host)
{
    return host->abi_major == SHUNT_ABI_MAJOR ? &plugin : NULL;
}

/* The note that lets a host see what the file offers before any of its code runs. */
#define NOTED "selector:" NAME "\n"
static const struct {
    uint32_t owner_len, description_len, type;
    char owner[8];
    shunt_note head;
    char names[(sizeof NOTED + 3) / 4 * 4];
} note __attribute__((section(".note.shunt"), used, aligned(4))) = {
    sizeof SHUNT_NOTE_OWNER, sizeof(shunt_note) + sizeof note.names, SHUNT_NOTE_TYPE, SHUNT_NOTE_OWNER,
    {SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR, 0, 0, sizeof NOTED - 1}, NOTED};
