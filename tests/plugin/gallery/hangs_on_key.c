/* Does not come back for the key "hang" before a byte can be read from the descriptor in SHUNT_TEST_HANG_FD. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define GALLERY_NAME "hangs-on-key"
#define GALLERY_SELECT select_or_hang
#include <shunt/sdk/abi.h>
static shunt_status select_or_hang(shunt_selector *self, const shunt_view *view, const shunt_msg *msg, shunt_pick *out)
{
    char byte;
    (void)self, (void)view;
    if (msg->key.len == 4 && memcmp(msg->key.ptr, "hang", 4) == 0 && getenv("SHUNT_TEST_HANG_FD") != 0 &&
        read(atoi(getenv("SHUNT_TEST_HANG_FD")), &byte, 1) != 1)
        return SHUNT_E_INVALID;
    out->queue_index = 0;
    out->why = SHUNT_WHY_PLUGIN;
    return SHUNT_OK;
}
#include "gallery.h"
