/* Exports nothing. */
#define GALLERY_WITHOUT_ENTRY

#include "gallery.h"
