/* Its class ends within a member. */
#define GALLERY_CLASS_SIZE (offsetof(shunt_selector_class, wants) + 4)

#include "gallery.h"
