/* A reserved member of its class is not zero. */
#define GALLERY_CLASS_RESERVED 5

#include "gallery.h"
