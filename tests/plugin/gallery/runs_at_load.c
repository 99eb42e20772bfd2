/* Leaves a trace in the environment as soon as it is loaded, before anyone calls it. */
#define _DEFAULT_SOURCE
#include <stdlib.h>

#define GALLERY_NAME "runs-at-load"
#include "gallery.h"

static __attribute__((constructor)) void leave_a_trace(void) { setenv("SHUNT_GALLERY_RAN", "1", 1); }
