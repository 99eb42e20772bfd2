/* Says it is a filter and has no such function. */
#define GALLERY_CLASS_FLAGS SHUNT_F_FILTER

#include "gallery.h"
