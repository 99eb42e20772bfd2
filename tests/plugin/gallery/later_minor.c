/* Made for version 1.9 but content with 1.0: a larger class, a flag and a reserved member that mean something there. */
#define GALLERY_NAME "later-minor"
#define GALLERY_ABI_MINOR 9
#define GALLERY_CLASS_SIZE (sizeof(shunt_selector_class) + 32)
#define GALLERY_CLASS_FLAGS 0x40000000u
#define GALLERY_CLASS_RESERVED 9
#define GALLERY_NOTE_NAMES "selector:later-minor\ncodec:later\n"

#include "gallery.h"
