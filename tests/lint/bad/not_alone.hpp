// Lacks an include: the sample that the check of headers must refuse.

#pragma once

inline std::string no_string_without_its_header() { return {}; }
