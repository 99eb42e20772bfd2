/* Its version has ten million characters. */
#include <string.h>
#define GALLERY_ANSWER answer()
#include <shunt/sdk/abi.h>
static const shunt_plugin *answer(void);
#include "gallery.h"
static const shunt_plugin *answer(void)
{
    static char much[10 * 1000 * 1000];
    static shunt_plugin huge;
    memset(much, 'x', sizeof much);
    huge = gallery_plugin;
    huge.version.ptr = much;
    huge.version.len = sizeof much;
    return &huge;
}
