/* Its parameters lie closer together than they are long. */
#include <shunt/sdk/abi.h>
#define GALLERY_PARAMS params, 1, 64
static const shunt_param params[] = {
    {{"size", 4}, {"how many", 8}, {"7", 1}, {0, 0}, {0, 0}, SHUNT_T_I64, 0, 0, 0, 1, 16}};
#include "gallery.h"
