/* Its descriptor is something else. */
#define GALLERY_MAGIC 42

#include "gallery.h"
