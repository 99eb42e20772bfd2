/* Has no note: a library as any other. */
#define GALLERY_WITHOUT_NOTE

#include "gallery.h"
