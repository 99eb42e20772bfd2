/* @name@: isolates a broker after so many failures in a row, for a while. After that it is on trial: one more failure
 * isolates it again, one good answer makes it as good as new.
 *
 * A whole fault strategy to start from, in C11. CHANGE marks what to make your own. What each struct means is told in
 * shunt/sdk/abi.h. */
#include <shunt/sdk/abi.h>

#include <stdbool.h>
#include <stdlib.h>

#define NAME "@name@"    /* what users write: use = "@name@" */
#define MAX_FAILURES 1000000
#define MS INT64_C(1000000) /* in nanoseconds */
#define DAY (24 * 3600 * 1000 * MS)
#define STR(text) {text, sizeof(text) - 1}

struct broker {
    uint32_t id;
    uint32_t failures;  /* in a row */
    int64_t until_ns;   /* isolated before this */
    bool answers;       /* the last failure was an answer */
};

/* There is an instance for a policy, and one call at a time, off the way of a send, so it may allocate. */
struct shunt_fault {
    uint32_t failures;      /* the settings */
    int64_t isolation_ns;
    struct broker *brokers; /* those that failed since their last good answer */
    uint32_t n_brokers, room;
};

/* ---- the brokers that failed ---- */

static struct broker *find(const shunt_fault *self, uint32_t id)
{
    for (uint32_t i = 0; i < self->n_brokers; ++i)
        if (self->brokers[i].id == id)
            return &self->brokers[i];
    return NULL;
}

static struct broker *find_or_add(shunt_fault *self, uint32_t id)
{
    struct broker *found = find(self, id);
    if (found != NULL)
        return found;
    if (self->n_brokers == self->room) {
        const uint32_t room = self->room == 0 ? 8 : 2 * self->room;
        struct broker *const more = realloc(self->brokers, room * sizeof *more);
        if (more == NULL)
            return NULL;
        self->brokers = more;
        self->room = room;
    }
    found = &self->brokers[self->n_brokers++];
    *found = (struct broker){.id = id, .until_ns = INT64_MIN};
    return found;
}

static bool forget(shunt_fault *self, uint32_t id)
{
    struct broker *const found = find(self, id);
    if (found == NULL)
        return false;
    *found = self->brokers[--self->n_brokers];
    return true;
}

/* ---- the strategy ---- */

/* CHANGE: what an attempt's end says about its broker. 1: evaluate again. Time comes with the feedback. */
static shunt_status learn(shunt_fault *self, const shunt_feedback *f)
{
    if (f->kind == SHUNT_FB_LEFT)
        return forget(self, f->broker_id);
    /* A caller's own small deadline says nothing about the broker. */
    if (f->kind != SHUNT_FB_SEND || (f->result == SHUNT_FB_EXPIRED && f->share_ns < 500 * MS))
        return 0;
    if (f->result == SHUNT_FB_GOOD)
        return forget(self, f->broker_id);
    struct broker *const b = find_or_add(self, f->broker_id);
    if (b == NULL)
        return SHUNT_E_NOMEM;
    if (b->failures < self->failures)
        ++b->failures;
    if (b->failures < self->failures)
        return 0;
    const int64_t until_ns = f->at_ns > INT64_MAX - self->isolation_ns ? INT64_MAX : f->at_ns + self->isolation_ns;
    if (b->until_ns < until_ns)
        b->until_ns = until_ns;
    b->answers = f->result == SHUNT_FB_FAILED;
    return 1;
}

static shunt_status on_feedback(shunt_fault *self, const shunt_feedback *first, uint32_t stride, uint32_t n)
{
    shunt_status changed = 0;
    for (uint32_t i = 0; i < n; ++i) {
        const shunt_status one = learn(self, (const shunt_feedback *)((const char *)first + (size_t)stride * i));
        if (one < 0)
            return one;
        changed |= one;
    }
    return changed;
}

static void mark(uint64_t *mask, uint32_t i) { mask[i / 64] |= UINT64_C(1) << i % 64; }

/* CHANGE: which brokers are well now. */
static shunt_status evaluate(shunt_fault *self, const shunt_broker *brokers, uint32_t stride, uint32_t n, int64_t now_ns,
                             uint64_t *available, uint64_t *reachable, int64_t *valid_until_ns)
{
    *valid_until_ns = INT64_MAX;
    for (uint32_t i = 0; i < n; ++i) {
        const shunt_broker *const one = (const shunt_broker *)((const char *)brokers + (size_t)stride * i);
        const struct broker *const known = find(self, one->id);
        if (known == NULL || now_ns >= known->until_ns) {
            mark(available, i);
            continue;
        }
        if (known->answers)
            mark(reachable, i); /* taken when nothing is available */
        if (*valid_until_ns > known->until_ns)
            *valid_until_ns = known->until_ns;
    }
    return SHUNT_OK;
}

static shunt_status fail(const shunt_host *host, shunt_status status, shunt_str text)
{
    host->set_error(host->ctx, text);
    return status;
}

/* The host has checked the settings against `params` and filled in defaults before. */
static shunt_status create(const shunt_host *host, const shunt_config *config, const shunt_instance *instance, shunt_fault **out)
{
    (void)instance;
    shunt_value failures = {0}, isolation = {0};
    if (config->get(config->root, (shunt_str)STR("failures"), &failures) != SHUNT_OK || failures.type != SHUNT_T_I64 ||
        failures.i64 < 1 || failures.i64 > MAX_FAILURES)
        return fail(host, SHUNT_E_CONFIG, (shunt_str)STR("failures must be a whole number from 1 to 1000000"));
    if (config->get(config->root, (shunt_str)STR("isolation"), &isolation) != SHUNT_OK || isolation.type != SHUNT_T_DURATION_NS ||
        isolation.i64 < MS || isolation.i64 > DAY)
        return fail(host, SHUNT_E_CONFIG, (shunt_str)STR("isolation must be a duration from 1ms to 24h"));
    shunt_fault *const self = calloc(1, sizeof *self);
    if (self == NULL)
        return fail(host, SHUNT_E_NOMEM, (shunt_str)STR("out of memory"));
    self->failures = (uint32_t)failures.i64;
    self->isolation_ns = isolation.i64;
    *out = self;
    return SHUNT_OK;
}

static void destroy(shunt_fault *self)
{
    free(self->brokers);
    free(self);
}

/* ---- what the host is told ---- */

/* CHANGE: what may be set. */
static const shunt_param params[] = {
    {.name = STR("failures"), .help = STR("so many failures in a row isolate a broker"), .default_text = STR("3"),
     .unit = STR("attempts"), .type = SHUNT_T_I64, .min = 1, .max = MAX_FAILURES},
    {.name = STR("isolation"), .help = STR("how long, from its last failure on"), .default_text = STR("\"10s\""),
     .type = SHUNT_T_DURATION_NS, .min = MS, .max = DAY},
};

static const shunt_fault_class fault = {
    .struct_size = sizeof(shunt_fault_class),
    .name = STR(NAME),
    .summary = STR("@summary@"), /* CHANGE: one line for users */
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .param_stride = sizeof *params,
    .create = create,
    .destroy = destroy,
    .evaluate = evaluate,
    .on_feedback = on_feedback,
};
static const shunt_fault_class *const faults[] = {&fault};

static const shunt_plugin plugin = {
    .magic = SHUNT_MAGIC,
    .struct_size = sizeof(shunt_plugin),
    .abi_major = SHUNT_ABI_MAJOR,
    .abi_minor = SHUNT_ABI_MINOR,
    .id = STR("example." NAME), /* CHANGE: an id of your own, the version, your licence */
    .version = STR("0.1.0"),
    .license = STR("Apache-2.0"),
    .n_faults = 1,
    .faults = faults,
};

__attribute__((visibility("default"))) const shunt_plugin *shunt_plugin_entry_v1(const shunt_handshake *host);
const shunt_plugin *shunt_plugin_entry_v1(const shunt_handshake *host)
{
    return host->abi_major == SHUNT_ABI_MAJOR ? &plugin : NULL;
}

/* The note that lets a host see what the file offers before any of its code runs. */
#define NOTED "fault:" NAME "\n"
static const struct {
    uint32_t owner_len, description_len, type;
    char owner[8];
    shunt_note head;
    char names[(sizeof NOTED + 3) / 4 * 4];
} note __attribute__((section(".note.shunt"), used, aligned(4))) = {
    sizeof SHUNT_NOTE_OWNER, sizeof(shunt_note) + sizeof note.names, SHUNT_NOTE_TYPE, SHUNT_NOTE_OWNER,
    {SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR, 0, 0, sizeof NOTED - 1}, NOTED};
