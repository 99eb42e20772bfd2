/* Takes hosts of exactly its own minor only. */
#define GALLERY_NAME "refuses-later-hosts"
#define GALLERY_ANSWER (handshake->abi_minor == 0 ? &gallery_plugin : 0)

#include "gallery.h"
