// What programs may link to: everything else in the shared library is hidden.

#pragma once

#define SHUNT_EXPORT __attribute__((visibility("default")))
