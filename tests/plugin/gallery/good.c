/* Nothing is wrong with it. */
#define GALLERY_NAME "good"

#include "gallery.h"
