/* A note of a type that version 1 does not have. */
#define GALLERY_NOTE_TYPE 7

#include "gallery.h"
