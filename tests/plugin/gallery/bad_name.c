/* Its name is none that users could write. */
#define GALLERY_NAME "Bad_Name"
#define GALLERY_NOTE_NAMES "selector:bad-name\n"

#include "gallery.h"
