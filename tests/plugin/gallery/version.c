/* One plugin in two builds: picks the queue numbered after its version. */
#define GALLERY_NAME "version"
#define GALLERY_QUEUE GALLERY_VERSION
#include "gallery.h"
