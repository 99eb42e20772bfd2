/* Its note names nothing. */
#define GALLERY_NOTE_NAMES ""

#include "gallery.h"
