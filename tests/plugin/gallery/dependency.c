/* The library that needs_library needs; the loader does not find it. */
__attribute__((visibility("default"))) unsigned gallery_dependency(void) { return 1; }
