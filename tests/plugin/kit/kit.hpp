// What the tests of the kit share.

#pragma once

#include <plugin/kit/planted.hpp>

#include <shunt/sdk/testing.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace shunt::test {

using namespace sdk::testing;
using namespace std::chrono_literals;
using sdk::nanoseconds;

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The words of what `body` throws; empty: it throws nothing.
template <class Body>
std::string thrown_by(Body&& body)
{
    try {
        body();
    } catch (const std::exception& e) {
        return e.what();
    }
    return {};
}

}  // namespace shunt::test
