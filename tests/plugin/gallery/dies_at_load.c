/* Ends the process as soon as it is loaded. */
#include <stdlib.h>

#define GALLERY_NAME "dies-at-load"
#include "gallery.h"

static __attribute__((constructor)) void die(void) { abort(); }
