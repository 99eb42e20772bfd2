/* Calls a function that nothing defines, and only in select: lazily bound, the first send would end the process. */
#include <shunt/sdk/abi.h>
#define GALLERY_SELECT select_through_nothing
uint32_t gallery_missing_function(void);
static shunt_status select_through_nothing(shunt_selector *self, const shunt_view *view, const shunt_msg *msg, shunt_pick *out)
{
    (void)self, (void)view, (void)msg;
    out->queue_index = gallery_missing_function();
    return SHUNT_OK;
}
#include "gallery.h"
