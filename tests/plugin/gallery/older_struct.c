/* Its class ends after the last required member, as one of an older header would; what lies behind is none of ours. */
#define GALLERY_NAME "older-struct"
#define GALLERY_CLASS_SIZE offsetof(shunt_selector_class, wants)
#define GALLERY_WANTS (uint32_t(*)(const shunt_selector *))0x1234

#include "gallery.h"
