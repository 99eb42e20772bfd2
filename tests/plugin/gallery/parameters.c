/* One parameter of each type, declared well, with room between them as a later header would have. */
#include <shunt/sdk/abi.h>
#define GALLERY_NAME "parameters"
#define GALLERY_PARAMS &params[0].p, 4, sizeof(params[0])
static const struct {
    shunt_param p;
    uint64_t later[2];
} params[] = {
    {{{"size", 4}, {"how many", 8}, {"7", 1}, {"messages", 8}, {0, 0}, SHUNT_T_I64, 0, 0, 0, 1, 16}, {1, 2}},
    {{{"pause", 5}, {"how long", 8}, {"\"10s\"", 5}, {0, 0}, {0, 0}, SHUNT_T_DURATION_NS, 0, 0, 0, 0, 6e10}, {1, 2}},
    {{{"way", 3}, {"how", 3}, {"\"left\"", 6}, {0, 0}, {"left|right", 10}, SHUNT_T_STR, 0, 0, 0, 0, 0}, {1, 2}},
    {{{"rooms", 5}, {"where", 5}, {0, 0}, {0, 0}, {0, 0}, SHUNT_T_ARRAY, SHUNT_T_STR, SHUNT_P_REQUIRED, 1, 0, 0}, {1, 2}}};
#include "gallery.h"
