/* Made for version 1.9, and no use without it. */
#define GALLERY_ABI_MINOR 9
#define GALLERY_MIN_HOST_MINOR 9

#include "gallery.h"
