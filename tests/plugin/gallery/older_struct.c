/* Its class ends after the last required member, as one of an older header would. */
#define GALLERY_NAME "older-struct"
#define GALLERY_CLASS_SIZE offsetof(shunt_selector_class, wants)

#include "gallery.h"
