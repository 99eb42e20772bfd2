#include <interop/cases/cases.hpp>

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace shunt::cases {

namespace {

struct shared_world {
    std::function<std::unique_ptr<world>()> make;
    std::unique_ptr<world> made;
};

std::map<std::string, shared_world>& worlds()
{
    static std::map<std::string, shared_world> all;
    return all;
}

class CaseTest : public testing::Test {
public:
    CaseTest(std::string suite, const one_case& c) : suite_(std::move(suite)), case_(c) {}
    void TestBody() override
    {
        shared_world& shared = worlds()[suite_];
        if (shared.made == nullptr)
            shared.made = shared.make();
        case_.run(*shared.made, "T_" + case_.name);
    }

private:
    std::string suite_;
    const one_case& case_;
};

}  // namespace

void register_cases(const std::string& suite, std::function<std::unique_ptr<world>()> make, std::function<bool(const one_case&)> wanted)
{
    worlds()[suite].make = std::move(make);
    for (const one_case& c : all_cases()) {
        if (wanted(c))
            testing::RegisterTest(suite.c_str(), c.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                                  [suite, &c]() -> CaseTest* { return new CaseTest(suite, c); });
    }
}

void end_worlds() { worlds().clear(); }

}  // namespace shunt::cases
