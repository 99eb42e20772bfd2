/* Its note says version 1, its descriptor 2. */
#define GALLERY_ABI_MAJOR 2
#define GALLERY_NOTE_MAJOR 1

#include "gallery.h"
