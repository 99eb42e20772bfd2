// The one place where Asio itself is compiled.

#include <boost/asio/impl/src.hpp>
