/* One plugin in two builds: picks the queue numbered after its version, whether there is one or not unless told otherwise. */
#define GALLERY_NAME "version"
#ifndef GALLERY_QUEUE
#define GALLERY_QUEUE GALLERY_VERSION
#endif
#include "gallery.h"
