/* Describes itself anew, and otherwise, each time it is asked. */
#include <shunt/sdk/abi.h>
#define GALLERY_NAME "unstable"
#define GALLERY_ANSWER describe_anew()
static const shunt_plugin *describe_anew(void);
#include "gallery.h"
static const shunt_plugin *describe_anew(void)
{
    static shunt_plugin copies[2];
    static unsigned turn;
    shunt_plugin *const copy = &copies[turn++ % 2];
    *copy = gallery_plugin;
    return copy;
}
