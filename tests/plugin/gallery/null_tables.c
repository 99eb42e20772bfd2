/* Says it has a selector and gives no table of them. */
#define GALLERY_SELECTORS 0

#include "gallery.h"
