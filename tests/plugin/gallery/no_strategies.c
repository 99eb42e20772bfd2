/* Its note names a selector, its descriptor describes none. */
#define GALLERY_N_SELECTORS 0

#include "gallery.h"
