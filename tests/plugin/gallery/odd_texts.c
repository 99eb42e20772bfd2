/* Has a summary of two lines. */
#define GALLERY_NAME "odd-texts"
#define GALLERY_SUMMARY "for\ntests"

#include "gallery.h"
