// How the values of send/ show themselves in a failing test.

#pragma once

#include <send/classify.hpp>
#include <shunt/error.hpp>

#include <ostream>

namespace shunt {

inline void PrintTo(outcome o, std::ostream* out) { *out << to_string(o); }
inline void PrintTo(errc e, std::ostream* out) { *out << "errc " << static_cast<int>(e) << " (" << make_error_code(e).message() << ")"; }

namespace send {

inline void PrintTo(ending e, std::ostream* out)
{
    constexpr const char* names[] = {"answered", "refused", "unconnected", "dropped", "expired", "garbled", "written", "cancelled"};
    *out << names[static_cast<std::size_t>(e)];
}

}  // namespace send
}  // namespace shunt
