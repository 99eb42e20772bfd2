/* Its class ends before select. */
#define GALLERY_CLASS_SIZE offsetof(shunt_selector_class, select)

#include "gallery.h"
