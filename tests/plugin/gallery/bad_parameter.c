/* A parameter whose default lies outside of its own range. */
#include <shunt/sdk/abi.h>
#define GALLERY_PARAMS params, 1, sizeof(shunt_param)
static const shunt_param params[] = {
    {{"size", 4}, {"how many", 8}, {"17", 2}, {0, 0}, {0, 0}, SHUNT_T_I64, 0, 0, 0, 1, 16}};
#include "gallery.h"
