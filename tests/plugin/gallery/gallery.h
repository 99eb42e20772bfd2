/* A whole plugin in plain C with one selector. A file of the gallery redefines what is wrong in it, then includes this. */
#ifndef SHUNT_TESTS_GALLERY_H
#define SHUNT_TESTS_GALLERY_H

#include <shunt/sdk/abi.h>

#ifndef GALLERY_NAME
#define GALLERY_NAME "gallery" /* the selector's */
#endif
#ifndef GALLERY_ABI_MAJOR
#define GALLERY_ABI_MAJOR 1
#endif
#ifndef GALLERY_ABI_MINOR
#define GALLERY_ABI_MINOR 0
#endif
#ifndef GALLERY_MIN_HOST_MINOR
#define GALLERY_MIN_HOST_MINOR 0
#endif
#ifndef GALLERY_NOTE_NAMES
#define GALLERY_NOTE_NAMES "selector:" GALLERY_NAME "\n"
#endif
#ifndef GALLERY_NOTE_MAJOR
#define GALLERY_NOTE_MAJOR GALLERY_ABI_MAJOR
#endif
#ifndef GALLERY_NOTE_MINOR
#define GALLERY_NOTE_MINOR GALLERY_ABI_MINOR
#endif
#ifndef GALLERY_NOTE_TYPE
#define GALLERY_NOTE_TYPE SHUNT_NOTE_TYPE
#endif
#ifndef GALLERY_NOTE_RESERVED
#define GALLERY_NOTE_RESERVED 0
#endif
#ifndef GALLERY_MAGIC
#define GALLERY_MAGIC SHUNT_MAGIC
#endif
#ifndef GALLERY_PLUGIN_SIZE
#define GALLERY_PLUGIN_SIZE sizeof(shunt_plugin)
#endif
#ifndef GALLERY_CLASS_SIZE
#define GALLERY_CLASS_SIZE sizeof(shunt_selector_class)
#endif
#ifndef GALLERY_CLASS_FLAGS
#define GALLERY_CLASS_FLAGS 0
#endif
#ifndef GALLERY_CLASS_RESERVED
#define GALLERY_CLASS_RESERVED 0
#endif
#ifndef GALLERY_PARAMS
#define GALLERY_PARAMS 0, 0, 0 /* params, n_params, param_stride */
#endif
#ifndef GALLERY_CREATE
#define GALLERY_CREATE gallery_create
#endif
#ifndef GALLERY_DESTROY
#define GALLERY_DESTROY gallery_destroy
#endif
#ifndef GALLERY_SELECT
#define GALLERY_SELECT gallery_select
#endif
#ifndef GALLERY_WANTS
#define GALLERY_WANTS 0
#endif
#ifndef GALLERY_FILTER
#define GALLERY_FILTER 0
#endif
#ifndef GALLERY_ENTRY
#define GALLERY_ENTRY shunt_plugin_entry_v1
#endif
#ifndef GALLERY_ANSWER
#define GALLERY_ANSWER &gallery_plugin
#endif
#ifndef GALLERY_SELECTORS
#define GALLERY_SELECTORS gallery_selectors
#endif
#ifndef GALLERY_N_SELECTORS
#define GALLERY_N_SELECTORS 1
#endif
#ifndef GALLERY_SUMMARY
#define GALLERY_SUMMARY "for tests"
#endif
#ifndef GALLERY_SCHEMA
#define GALLERY_SCHEMA 0
#endif
#ifndef GALLERY_EXPORT
#define GALLERY_EXPORT 0
#endif
#ifndef GALLERY_IMPORT
#define GALLERY_IMPORT 0
#endif
#ifndef GALLERY_QUEUE
#define GALLERY_QUEUE 0
#endif

#define GALLERY_STR(text) {text, sizeof(text) - 1}

#ifndef GALLERY_WITHOUT_NOTE
static const struct {
    uint32_t owner_len, description_len, type;
    char owner[8];
    shunt_note head;
    char names[(sizeof(GALLERY_NOTE_NAMES) + 3) / 4 * 4];
} gallery_note __attribute__((section(".note.shunt"), used, aligned(4))) = {
    sizeof(SHUNT_NOTE_OWNER), sizeof(shunt_note) + sizeof(gallery_note.names), GALLERY_NOTE_TYPE, SHUNT_NOTE_OWNER,
    {GALLERY_NOTE_MAJOR, GALLERY_NOTE_MINOR, GALLERY_MIN_HOST_MINOR, GALLERY_NOTE_RESERVED, sizeof(GALLERY_NOTE_NAMES) - 1},
    GALLERY_NOTE_NAMES};
#endif

static int gallery_thing;

static __attribute__((unused)) shunt_status gallery_create(const shunt_host *host, const shunt_config *config,
                                                           const shunt_instance *instance, shunt_selector **out)
{
    (void)host, (void)config, (void)instance;
    *out = (shunt_selector *)&gallery_thing;
    return SHUNT_OK;
}

static __attribute__((unused)) void gallery_destroy(shunt_selector *self) { (void)self; }

static __attribute__((unused)) shunt_status gallery_select(shunt_selector *self, const shunt_view *view, const shunt_msg *msg,
                                                           shunt_pick *out)
{
    (void)self, (void)view, (void)msg;
    out->queue_index = GALLERY_QUEUE;
    out->why = SHUNT_WHY_PLUGIN;
    return SHUNT_OK;
}

/* Room behind the class, for those that are larger than this header knows. */
static const struct {
    shunt_selector_class known;
    uint64_t later[4];
} gallery_class = {{GALLERY_CLASS_SIZE, GALLERY_CLASS_FLAGS, GALLERY_STR(GALLERY_NAME), GALLERY_STR(GALLERY_SUMMARY), GALLERY_PARAMS,
                    GALLERY_SCHEMA, GALLERY_CLASS_RESERVED, GALLERY_CREATE, GALLERY_DESTROY, GALLERY_SELECT, GALLERY_WANTS, GALLERY_FILTER,
                    GALLERY_EXPORT, GALLERY_IMPORT, 0},
                   {1, 2, 3, 4}};

static const shunt_selector_class *const gallery_selectors[] __attribute__((unused)) = {&gallery_class.known};

static const shunt_plugin gallery_plugin __attribute__((unused)) = {
    GALLERY_MAGIC, GALLERY_PLUGIN_SIZE, GALLERY_ABI_MAJOR, GALLERY_ABI_MINOR,
    GALLERY_STR("shunt.tests." GALLERY_NAME), GALLERY_STR("1.2.3"), GALLERY_STR("Apache-2.0"), GALLERY_STR("shunt"),
    GALLERY_STR("gallery"), GALLERY_N_SELECTORS, 0, GALLERY_SELECTORS, 0};

#ifndef GALLERY_WITHOUT_ENTRY
#ifdef __cplusplus
extern "C"
#endif
__attribute__((visibility("default"))) const shunt_plugin *GALLERY_ENTRY(const shunt_handshake *handshake);

const shunt_plugin *GALLERY_ENTRY(const shunt_handshake *handshake)
{
    if (handshake->abi_major != 1)
        return 0;
    return GALLERY_ANSWER;
}
#endif

#endif
