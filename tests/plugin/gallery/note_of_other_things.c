/* Its note names a kind that version 1.0 does not have. */
#define GALLERY_NOTE_NAMES "codec:gallery\n"

#include "gallery.h"
