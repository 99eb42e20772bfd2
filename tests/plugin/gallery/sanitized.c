/* Asks for a sanitizer's run time, which ends a process that was not built for it. */
#include <shunt/sdk/abi.h>
#define GALLERY_SELECT select_sanitized
void __msan_init(void);
static shunt_status select_sanitized(shunt_selector *self, const shunt_view *view, const shunt_msg *msg, shunt_pick *out)
{
    (void)self, (void)view, (void)msg, (void)out;
    __msan_init();
    return SHUNT_OK;
}
#include "gallery.h"
