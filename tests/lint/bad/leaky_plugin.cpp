// Exports more than its entry, and needs a library: the sample that the check of plugins must refuse.

#include <zlib.h>

extern "C" __attribute__((visibility("default"))) unsigned long leaked_symbol() { return zlibCompileFlags(); }
