// Lets an exception out of its entry.
#include <shunt/sdk/abi.h>
#include <stdexcept>
#define GALLERY_NAME "entry-throws"
#define GALLERY_ANSWER (throw std::runtime_error("no"), &gallery_plugin)
#include "gallery.h"
