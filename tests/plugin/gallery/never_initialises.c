/* Says all went well and gives nothing: no instance, no queue. */
#include <shunt/sdk/abi.h>
#define GALLERY_NAME "never-initialises"
#define GALLERY_CREATE create_nothing
#define GALLERY_SELECT select_nothing
static shunt_status create_nothing(const shunt_host *host, const shunt_config *config, const shunt_instance *instance,
                                   shunt_selector **out)
{
    (void)host, (void)config, (void)instance, (void)out;
    return SHUNT_OK;
}
static shunt_status select_nothing(shunt_selector *self, const shunt_view *view, const shunt_msg *msg, shunt_pick *out)
{
    (void)self, (void)view, (void)msg, (void)out;
    return SHUNT_OK;
}
#include "gallery.h"
