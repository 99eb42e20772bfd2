#include <interop/cases/cases.hpp>

#include <gtest/gtest.h>

#include <string>

// SHUNT_CASES_VERSION: of the brokers. 5.3.2 runs all cases, others those whose answers may differ and the smoke set.
int main(int argc, char** argv)
{
    using namespace shunt::cases;
    testing::InitGoogleTest(&argc, argv);
    const std::string version = SHUNT_CASES_VERSION;
    std::string suite = "Real";
    for (const char c : version)
        suite += c == '.' ? '_' : c;
    register_cases(suite, [version] { return real_world(version); },
                   [version](const one_case& c) { return version == "5.3.2" || c.where == also::v550; });
    const int status = RUN_ALL_TESTS();
    end_worlds();
    return status;
}
