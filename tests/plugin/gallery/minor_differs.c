/* Its note and its descriptor speak of different minor versions. */
#define GALLERY_NOTE_MINOR 3

#include "gallery.h"
