/* The border between shunt and a plugin: plain C, version 1.
 *
 * A plugin is a shared object that exports one function, shunt_plugin_entry_v1. It answers a static description of the
 * strategies in the file: selectors (which queue does a message go to?) and fault strategies (which brokers are avoided?).
 * Authors in C++ use plugin.hpp, which fills these tables from a plain class; authors in C or Rust fill them by hand.
 *
 * Rules that hold for everything here
 *   layout     fixed-width members only, no implicit padding; sizes and offsets are asserted below.
 *   growth     new members come at the end. Every struct that crosses the border begins with its size; a reader uses
 *              min(struct_size, its own sizeof) and treats what is missing as zero. Arrays of structs that may grow
 *              come with a stride. Reserved members are zero.
 *   ownership  whoever makes a thing frees it. What the host passes in is valid until the call returns, except
 *              shunt_host (until destroy returns). What the plugin describes is static: it lives as long as the file.
 *   strings    UTF-8, counted; those from the host are also followed by a NUL. They may contain NUL.
 *   threads    each function says who calls it: [control] one call at a time per instance; [sender] see `select`;
 *              [any] from any thread at once.
 *   errors     a negative status, with a text through shunt_host.set_error. No exception, longjmp or exit may leave a
 *              function. A selector's error never loses a message: the host counts it and falls back.
 *   manners    no I/O, no threads, no sleeping, no clocks, no random source of its own: all of these come from the host.
 *   support    a host of 1.x loads every plugin of 1.y with y <= x. It refuses other majors by name of both versions.
 */
#ifndef SHUNT_SDK_ABI_H
#define SHUNT_SDK_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHUNT_ABI_MAJOR 1
#define SHUNT_ABI_MINOR 0
#define SHUNT_MAGIC UINT64_C(0x53484e5450475631) /* "SHNTPGV1" */
#define SHUNT_NONE UINT32_MAX                    /* no queue, no broker */
#define SHUNT_MAX_QUEUES 65536u                  /* the host never shows a view with more */

/* ---- answers ---- */
typedef int32_t shunt_status;      /* 0: done; > 0: a normal answer that is not a result; < 0: an error */
#define SHUNT_OK 0
#define SHUNT_ABSTAIN 1            /* no opinion: the host uses the policy's fallback */
#define SHUNT_NO_QUEUE 2           /* refuses on purpose: the policy's when_no_queue decides */
#define SHUNT_UNSUPPORTED 3        /* an optional thing that is not here; a state schema that is not known */
#define SHUNT_E_INVALID (-1)
#define SHUNT_E_NOMEM (-2)
#define SHUNT_E_EXCEPTION (-3)
#define SHUNT_E_CONFIG (-4)        /* create: a setting that passed the declared range but makes no sense here */

typedef struct shunt_str {
    const char *ptr; /* may be NULL when len is 0 */
    uint64_t len;
} shunt_str;

typedef struct shunt_kv {
    shunt_str key, value;
} shunt_kv;

/* ---- what a selector looks at ---- */

typedef struct shunt_queue {
    uint32_t broker;   /* index into shunt_view.brokers */
    uint32_t queue_id; /* the number on the wire */
} shunt_queue;

#define SHUNT_BROKER_WRITABLE 1u /* has at least one queue in this view */

/* What is on its way to a broker. It changes while you look: read each member once, atomically (relaxed); plugin.hpp
   does. One per broker and producer, shared by all views. */
typedef struct shunt_load {
    uint32_t inflight;       /* attempts decided for the broker and not ended; a failed one counts on for a while */
    uint32_t reserved0;
    int64_t ewma_latency_ns; /* moving average, from the write to the answer; 0: nothing measured */
} shunt_load;

typedef struct shunt_broker {
    shunt_str name;          /* unique in a view; the order of brokers is by name, bytes unsigned */
    shunt_str room;          /* empty: none is known */
    uint32_t id;             /* stable for the life of the process; the only thing about a broker to remember */
    uint32_t flags;          /* SHUNT_BROKER_* */
    uint32_t weight;         /* 0..1000000, 1 unless configured */
    uint32_t first_queue;    /* the broker's queues stand together: queues[first_queue .. first_queue + n_queues) */
    uint32_t n_queues;
    uint32_t reserved0;
    const shunt_load *load;  /* never NULL */
} shunt_broker;

/* Bit i of a mask stands for queues[i]: mask[i / 64] >> (i % 64) & 1. Bits past n_queues are zero. */
typedef struct shunt_view {
    uint32_t struct_size, flags;      /* flags: none yet */
    shunt_str topic;
    uint32_t n_queues, n_brokers;     /* n_queues >= 1; n_brokers may count brokers without a queue here */
    uint32_t broker_stride, reserved0;
    const shunt_queue *queues;        /* writable ones, by (broker name, queue id): the same order in every producer */
    const shunt_broker *brokers;      /* element i lies broker_stride * i bytes after the first */
    const uint64_t *available;        /* brokers the fault strategy finds well */
    const uint64_t *reachable;        /* available, or isolated but answering */
    const uint64_t *candidates;       /* NULL: all. Else only these may be picked (filters stand before the selector) */
    uint64_t route_gen;               /* equal: topic, queues, names, rooms and weights are equal */
    uint64_t verdict_gen;             /* equal with equal route_gen: the masks are equal */
} shunt_view;

#define SHUNT_MSG_HAS_KEY 1u /* a key is there; it may be empty, which is not the same as absent */
#define SHUNT_MSG_ORDERED 2u /* the policy keeps order per key */

typedef struct shunt_msg {
    uint32_t struct_size, flags;    /* SHUNT_MSG_* */
    shunt_str key;
    uint64_t hash64;                /* XXH3-64 of the key, seed 0; only if wanted (SHUNT_F_WANTS_HASH64), else 0 */
    int32_t java_hash;              /* java.lang.String.hashCode of the key; only if wanted, else 0 */
    uint32_t attempt;               /* 1 for the first */
    uint64_t random;                /* fresh for each decision, uniform */
    int64_t now_ns;                 /* monotonic */
    const uint32_t *tried;          /* brokers this send already tried, as indexes into view.brokers, no repeats */
    uint32_t n_tried, body_len;     /* body_len in bytes */
    /* What the application set on the message, only if wanted (SHUNT_F_WANTS_PROPS), else NULL: KEYS (its keys, joined by
       blanks) and TAGS (its tag) where it has them, then its own properties in the order in which it set them. No name
       comes twice; what shunt adds (UNIQ_KEY, WAIT, DELAY, ...) is left out. Messages that are sent as one batch go to one
       queue: the batch has no properties, for those in it are of each message. In `shunt simulate` messages have none. */
    const shunt_kv *props;
    uint32_t n_props, reserved0;
} shunt_msg;

/* Why a queue was picked; shown in receipts and decision logs. */
#define SHUNT_WHY_PLUGIN 0u          /* "plugin": no reason given */
#define SHUNT_WHY_ROTATION 1u        /* "rotation": the first position looked at */
#define SHUNT_WHY_AVOID_TRIED 2u     /* "avoid-tried": available; a tried broker's queue was passed over */
#define SHUNT_WHY_AVOID_ISOLATED 3u  /* "avoid-isolated": available; only isolated ones were passed over */
#define SHUNT_WHY_REACHABLE_ONLY 4u  /* "reachable-only": nothing available was left */
#define SHUNT_WHY_LAST_RESORT 5u     /* "last-resort": nothing reachable was left */
#define SHUNT_WHY_ALL_TRIED 6u       /* "all-tried": every broker was tried already */
#define SHUNT_WHY_KEY 7u
#define SHUNT_WHY_ROOM 8u
#define SHUNT_WHY_SPILL 9u
#define SHUNT_WHY_WEIGHT 10u
#define SHUNT_WHY_LOAD 11u
#define SHUNT_WHY_RANDOM 12u

typedef struct shunt_pick {
    uint32_t queue_index; /* into view.queues; checked by the host */
    uint32_t why;         /* SHUNT_WHY_* */
} shunt_pick;

/* ---- what the host gives ---- */

#define SHUNT_T_BOOL 1
#define SHUNT_T_I64 2
#define SHUNT_T_F64 3
#define SHUNT_T_STR 4
#define SHUNT_T_DURATION_NS 5 /* written "250ms" in the file, i64 nanoseconds here */
#define SHUNT_T_ARRAY 6
#define SHUNT_T_SIZE 7        /* written "4MiB" in the file, i64 bytes here */

typedef struct shunt_value {
    int32_t type; /* SHUNT_T_* */
    uint32_t count; /* elements of an array */
    int64_t i64;  /* BOOL (0 or 1), I64, DURATION_NS, SIZE */
    double f64;
    shunt_str str;
    const void *node; /* ARRAY: for at() */
} shunt_value;

/* The settings of one instance: checked against the declared parameters, defaults filled in. Valid during create only. */
typedef struct shunt_config {
    uint32_t struct_size, reserved0;
    const void *root;
    /* SHUNT_UNSUPPORTED: not set and no default. */
    shunt_status (*get)(const void *root, shunt_str name, shunt_value *out);
    shunt_status (*at)(const void *array_node, uint32_t index, shunt_value *out);
} shunt_config;

typedef struct shunt_instance {
    uint32_t struct_size;
    uint32_t start; /* where a rotation begins, 0..2147483647: random when live, given in scenarios and tests */
} shunt_instance;

#define SHUNT_LOG_DEBUG 1
#define SHUNT_LOG_INFO 2
#define SHUNT_LOG_WARN 3
#define SHUNT_LOG_ERROR 4

typedef struct shunt_host {
    uint32_t struct_size;
    uint16_t abi_major, abi_minor;
    void *ctx; /* pass it back in every call */
    void (*log)(void *ctx, int32_t level, shunt_str text);                            /* [any], rate-limited */
    void (*set_error)(void *ctx, shunt_str text);                                     /* [any], for the call that fails */
    int64_t (*now_ns)(void *ctx);                                                     /* [any], monotonic */
    uint64_t (*random)(void *ctx);                                                    /* [any] */
    uint32_t (*metric)(void *ctx, shunt_str name, shunt_str help);                    /* in create only; a counter's number */
    void (*metric_add)(void *ctx, uint32_t metric, double value);                     /* [any] */
    /* [control], fault strategies only: tries to connect to the broker at (not before) at_ns; the result comes back as
       feedback of kind PROBE. One probe a broker is pending at most; a second request moves it. */
    shunt_status (*request_probe)(void *ctx, uint32_t broker_id, int64_t at_ns);
    const void *(*extension)(void *ctx, shunt_str id);                                /* "vendor.name/1" or NULL */
} shunt_host;

typedef struct shunt_writer {
    void *ctx;
    shunt_status (*write)(void *ctx, const void *bytes, uint64_t count);
} shunt_writer;

/* ---- what a plugin declares ---- */

#define SHUNT_P_REQUIRED 1u

/* One setting of a strategy. The host checks a file against these before create and shows them to users. */
typedef struct shunt_param {
    shunt_str name;         /* "failure_latency" */
    shunt_str help;         /* one line */
    shunt_str default_text; /* as a user would write it in TOML, e.g. "\"10s\"" or "10"; empty: none */
    shunt_str unit;         /* "", "ms", "messages", ...: shown to users */
    shunt_str choices;      /* STR, or an array of STR: "java|murmur2"; empty: any */
    int32_t type;           /* SHUNT_T_* */
    int32_t element_type;   /* ARRAY: of what; else 0 */
    uint32_t flags;         /* SHUNT_P_* */
    uint32_t min_count;     /* ARRAY: fewest elements */
    double min, max;        /* inclusive, for numbers, durations (ns) and sizes (bytes), or an array's elements; both 0: any */
} shunt_param;

#define SHUNT_F_CONCURRENT 1u    /* select may run on several threads at once on one instance. Without it the host makes
                                    one instance for each sender thread and topic, so a cursor can be a plain member */
#define SHUNT_F_DETERMINISTIC 2u /* the same view and key give the same queue: no state, no randomness */
/* What costs something is given on request: what the selector of a policy or one of its filters wants, they all see. */
#define SHUNT_F_WANTS_HASH64 4u
#define SHUNT_F_WANTS_JAVA_HASH 8u
#define SHUNT_F_WANTS_PROPS 16u
#define SHUNT_F_FILTER 32u       /* offers `filter`: may stand in a policy's `filters` */

typedef struct shunt_selector shunt_selector; /* the plugin's own */

typedef struct shunt_selector_class {
    uint32_t struct_size, flags;    /* SHUNT_F_* */
    shunt_str name, summary;        /* the name users write: [a-z0-9-], the file's folder */
    const shunt_param *params;
    uint32_t n_params, param_stride;
    uint32_t state_schema, reserved0; /* of export_state; 0: none */
    /* [control], or on the sender thread that first needs the instance */
    shunt_status (*create)(const shunt_host *, const shunt_config *, const shunt_instance *, shunt_selector **out);
    void (*destroy)(shunt_selector *); /* [control]; never while another call is inside */
    /* [sender]: the hot path. One call at a time unless CONCURRENT. */
    shunt_status (*select)(shunt_selector *, const shunt_view *, const shunt_msg *, shunt_pick *out);
    /* from here on NULL means "not offered" */
    /* [control], after create: which SHUNT_F_WANTS_* of the class this instance really needs. NULL: all of them. */
    uint32_t (*wants)(const shunt_selector *);
    /* [sender], with SHUNT_F_FILTER: the queues of preference level 0, 1, ... as a mask of (n_queues + 63) / 64 words,
       zeroed by the host. SHUNT_NO_QUEUE: there is no such level. */
    shunt_status (*filter)(shunt_selector *, const shunt_view *, const shunt_msg *, uint32_t level, uint64_t *mask);
    shunt_status (*export_state)(shunt_selector *, const shunt_writer *);                    /* [control] */
    shunt_status (*import_state)(shunt_selector *, uint32_t schema, const void *, uint64_t); /* [control] */
    const void *(*extension)(shunt_selector *, shunt_str id);
} shunt_selector_class;

/* ---- fault strategies ---- */

#define SHUNT_FB_SEND 1  /* an attempt ended */
#define SHUNT_FB_PROBE 2 /* a requested probe ended: GOOD or UNREACHABLE */
#define SHUNT_FB_LEFT 3  /* the broker left every route of the producer: forget it */

#define SHUNT_FB_GOOD 0        /* stored; latency_ns tells how fast */
#define SHUNT_FB_FAILED 1      /* failed, but the broker was reached: the connection dropped, or a code that speaks of the
                                  broker's health. What is wrong with a message is never fed back */
#define SHUNT_FB_UNREACHABLE 2 /* could not connect */
#define SHUNT_FB_EXPIRED 3     /* no answer within the attempt's share of the deadline; share_ns tells how long that was */

typedef struct shunt_feedback {
    uint32_t struct_size;
    int32_t kind, result;        /* SHUNT_FB_* */
    uint32_t broker_id;
    uint32_t queue_id, attempt;
    int32_t broker_code;         /* the answer's code; -1: no answer */
    uint32_t reserved0;
    int64_t at_ns;               /* when it ended: the time to reckon with */
    int64_t start_ns;            /* when the attempt started */
    int64_t latency_ns;          /* from the write to the answer */
    int64_t share_ns;            /* the attempt's share of the deadline */
    uint64_t generation, route_gen;
} shunt_feedback;

typedef struct shunt_fault shunt_fault;

typedef struct shunt_fault_class {
    uint32_t struct_size, flags; /* flags: none yet */
    shunt_str name, summary;
    const shunt_param *params;
    uint32_t n_params, param_stride;
    uint32_t state_schema, reserved0;
    /* all [control] */
    shunt_status (*create)(const shunt_host *, const shunt_config *, const shunt_instance *, shunt_fault **out);
    void (*destroy)(shunt_fault *);
    /* Judges n brokers at now_ns: one bit per broker (index in `brokers`), masks of (n + 63) / 64 words, zeroed by the
       host. An available broker counts as reachable whether its bit is set or not. *valid_until_ns: when an answer can
       change by the mere passing of time; INT64_MAX: never. */
    shunt_status (*evaluate)(shunt_fault *, const shunt_broker *brokers, uint32_t stride, uint32_t n, int64_t now_ns,
                             uint64_t *available, uint64_t *reachable, int64_t *valid_until_ns);
    /* Oldest first. 0: no verdict changed; 1: evaluate again; < 0: error. */
    shunt_status (*on_feedback)(shunt_fault *, const shunt_feedback *, uint32_t stride, uint32_t n);
    /* from here on NULL means "not offered" */
    shunt_status (*export_state)(shunt_fault *, const shunt_writer *);
    shunt_status (*import_state)(shunt_fault *, uint32_t schema, const void *, uint64_t);
    const void *(*extension)(shunt_fault *, shunt_str id);
} shunt_fault_class;

/* ---- the entry ---- */

typedef struct shunt_plugin {
    uint64_t magic; /* SHUNT_MAGIC */
    uint32_t struct_size;
    uint16_t abi_major, abi_minor;
    shunt_str id, version, license, vendor, build_info;
    uint32_t n_selectors, n_faults;
    const shunt_selector_class *const *selectors;
    const shunt_fault_class *const *faults;
} shunt_plugin;

typedef struct shunt_handshake {
    uint32_t struct_size;
    uint16_t abi_major, abi_minor; /* the host's */
    shunt_str host_version;
} shunt_handshake;

/* Exported as shunt_plugin_entry_v1. Pure, allocates nothing, may be called often. NULL: not for this host. */
typedef const shunt_plugin *(*shunt_entry_fn)(const shunt_handshake *);
#define SHUNT_ENTRY_NAME "shunt_plugin_entry_v1"

/* An ELF note lets the host refuse a file before any of its code runs, and find strategies by name without loading.
   Section ".note.shunt", owner "SHUNT", type 1; the description is this struct followed by `names_len` bytes:
   "selector:best-queue\n" or "fault:none\n" for each strategy. */
#define SHUNT_NOTE_OWNER "SHUNT"
#define SHUNT_NOTE_TYPE 1u
typedef struct shunt_note {
    uint16_t abi_major, abi_minor;
    uint16_t min_host_minor, reserved0;
    uint32_t names_len;
} shunt_note;

#ifdef __cplusplus
}
#define SHUNT_ABI_ASSERT static_assert
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SHUNT_ABI_ASSERT _Static_assert
#endif

#if defined(SHUNT_ABI_ASSERT) && UINTPTR_MAX == UINT64_MAX
SHUNT_ABI_ASSERT(sizeof(shunt_str) == 16, "shunt_str");
SHUNT_ABI_ASSERT(sizeof(shunt_queue) == 8, "shunt_queue");
SHUNT_ABI_ASSERT(sizeof(shunt_broker) == 64, "shunt_broker");
SHUNT_ABI_ASSERT(offsetof(shunt_broker, load) == 56, "shunt_broker.load");
SHUNT_ABI_ASSERT(sizeof(shunt_load) == 16, "shunt_load");
SHUNT_ABI_ASSERT(sizeof(shunt_view) == 96, "shunt_view");
SHUNT_ABI_ASSERT(offsetof(shunt_view, queues) == 40, "shunt_view.queues");
SHUNT_ABI_ASSERT(sizeof(shunt_msg) == 88, "shunt_msg");
SHUNT_ABI_ASSERT(offsetof(shunt_msg, tried) == 56, "shunt_msg.tried");
SHUNT_ABI_ASSERT(sizeof(shunt_pick) == 8, "shunt_pick");
SHUNT_ABI_ASSERT(sizeof(shunt_value) == 48, "shunt_value");
SHUNT_ABI_ASSERT(sizeof(shunt_config) == 32, "shunt_config");
SHUNT_ABI_ASSERT(sizeof(shunt_host) == 80, "shunt_host");
SHUNT_ABI_ASSERT(sizeof(shunt_param) == 112, "shunt_param");
SHUNT_ABI_ASSERT(sizeof(shunt_feedback) == 80, "shunt_feedback");
SHUNT_ABI_ASSERT(offsetof(shunt_feedback, at_ns) == 32, "shunt_feedback.at_ns");
SHUNT_ABI_ASSERT(sizeof(shunt_selector_class) == 128, "shunt_selector_class");
SHUNT_ABI_ASSERT(sizeof(shunt_fault_class) == 120, "shunt_fault_class");
SHUNT_ABI_ASSERT(sizeof(shunt_plugin) == 120, "shunt_plugin");
SHUNT_ABI_ASSERT(sizeof(shunt_note) == 12, "shunt_note");
#endif

#endif
