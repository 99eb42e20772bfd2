#include <interop/cases/cases.hpp>

#include <gtest/gtest.h>

int main(int argc, char** argv)
{
    testing::InitGoogleTest(&argc, argv);
    shunt::cases::register_cases("Embedded", shunt::cases::embedded_world, [](const auto&) { return true; });
    const int status = RUN_ALL_TESTS();
    shunt::cases::end_worlds();
    return status;
}
