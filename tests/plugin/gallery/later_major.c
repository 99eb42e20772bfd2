/* Made for version 2 of the boundary. */
#define GALLERY_ABI_MAJOR 2
#define GALLERY_ENTRY shunt_plugin_entry_v2

#include "gallery.h"
