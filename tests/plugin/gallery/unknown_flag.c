/* Has a flag that its own version does not know. */
#define GALLERY_CLASS_FLAGS 0x40000000u

#include "gallery.h"
