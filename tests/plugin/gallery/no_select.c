/* Lacks a required function. */
#define GALLERY_SELECT 0

#include "gallery.h"
