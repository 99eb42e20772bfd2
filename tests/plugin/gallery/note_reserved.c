/* A reserved member of its note is not zero. */
#define GALLERY_NOTE_RESERVED 5

#include "gallery.h"
