/* Picks a queue that no view has. */
#define GALLERY_NAME "out-of-range"
#define GALLERY_QUEUE 4000000000u

#include "gallery.h"
