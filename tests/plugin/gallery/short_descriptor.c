/* Its descriptor ends within the first version. */
#define GALLERY_PLUGIN_SIZE 112

#include "gallery.h"
