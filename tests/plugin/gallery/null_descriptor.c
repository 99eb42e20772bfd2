/* Its entry takes no host. */
#define GALLERY_ANSWER 0

#include "gallery.h"
