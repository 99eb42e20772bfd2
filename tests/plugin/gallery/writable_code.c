/* Keeps data in a section that is code as well. */
#define GALLERY_NAME "writable-code"

#include "gallery.h"

__asm__(".section .both,\"awx\",@progbits\n.quad 1\n.text\n");
