// Has a function of a name that the host has too, and a variable that is one for all versions of it unless built well.
#include <shunt/sdk/abi.h>

#include <cstdint>

std::uint32_t gallery_same_name();
std::uint32_t gallery_same_name() { return GALLERY_VERSION; }

struct counter {
    static inline std::uint32_t calls = 0;
};

static shunt_status select_by_own_symbols(shunt_selector*, const shunt_view*, const shunt_msg*, shunt_pick* out)
{
    out->queue_index = gallery_same_name();
    out->why = ++counter::calls;
    return SHUNT_OK;
}

#define GALLERY_NAME "own-symbols"
#define GALLERY_SELECT select_by_own_symbols
#include "gallery.h"
