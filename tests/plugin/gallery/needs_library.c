/* Needs a library that is not where the loader looks. */
#include <shunt/sdk/abi.h>
#define GALLERY_SELECT select_through_library
uint32_t gallery_dependency(void);
static shunt_status select_through_library(shunt_selector *self, const shunt_view *view, const shunt_msg *msg, shunt_pick *out)
{
    (void)self, (void)view, (void)msg;
    out->queue_index = gallery_dependency();
    return SHUNT_OK;
}
#include "gallery.h"
