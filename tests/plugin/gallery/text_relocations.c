/* Keeps an address among its code, which the loader must change there. */
#define GALLERY_NAME "text-relocations"

#include "gallery.h"

static __attribute__((used)) int moved;
__asm__(".text\n.balign 8\n.quad moved\n");
