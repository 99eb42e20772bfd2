/* Its note promises another name than its descriptor has. */
#define GALLERY_NAME "kept"
#define GALLERY_NOTE_NAMES "selector:promised\n"

#include "gallery.h"
