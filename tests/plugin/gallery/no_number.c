/* A parameter whose bounds are no numbers. */
#include <math.h>
#include <shunt/sdk/abi.h>
#define GALLERY_PARAMS params, 1, sizeof(shunt_param)
static const shunt_param params[] = {
    {{"size", 4}, {"how much", 8}, {"17.0", 4}, {0, 0}, {0, 0}, SHUNT_T_F64, 0, 0, 0, NAN, NAN}};
#include "gallery.h"
