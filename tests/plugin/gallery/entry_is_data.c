/* Exports a variable of the entry's name. */
#define GALLERY_WITHOUT_ENTRY
#include "gallery.h"

__attribute__((visibility("default"))) const shunt_plugin *const shunt_plugin_entry_v1 = &gallery_plugin;
