/* Its note has a name that users could not write. */
#define GALLERY_NOTE_NAMES "selector:Bad_Name\n"

#include "gallery.h"
