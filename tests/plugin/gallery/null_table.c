/* Its table of selectors holds a NULL. */
#define GALLERY_SELECTORS nothing
#include <shunt/sdk/abi.h>
static const shunt_selector_class *const nothing[1];
#include "gallery.h"
