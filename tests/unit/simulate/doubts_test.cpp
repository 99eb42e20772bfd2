// What is told of a scenario that is right and hardly meant.

#include "situation.hpp"

#include <simulate/doubts.hpp>

namespace shunt::simulate {
namespace {

std::vector<std::string> doubts_about(const std::string& policy, const std::string& rest = "")
{
    std::vector<std::string> out;
    for (const config::problem& p : doubts(right("[scenario]\npolicy = " + policy + "\n[[broker]]\nname = \"a\"\nqueues = 1\nroom = \"east\"\n" + rest)))
        out.push_back(config::to_string(p));
    return out;
}

TEST(Doubts, AreHadOfRoomsThatNoBrokerIsIn)
{
    EXPECT_EQ(doubts_about("{ selector = { use = \"machine-room\", rooms = [\"eats\"], spill = [\"west\", \"east\"] }, fault = { use = \"none\" } }"),
              (std::vector<std::string>{
                  "s.toml:2:56: scenario.policy.selector.rooms[0] is 'eats'; it must be a room that some broker is in (did you mean 'east'?)",
                  "s.toml:2:74: scenario.policy.selector.spill[0] is 'west'; it must be a room that some broker is in (known: east)"}));
}

TEST(Doubts, AreHadOfFiltersAndLaterPoliciesToo)
{
    EXPECT_EQ(doubts_about("{ selector = { use = \"random\" }, fault = { use = \"none\" }, filters = [{ use = \"machine-room\", rooms = [\"x\"] }] }",
                           at("1s", "policy = { selector = { use = \"machine-room\", rooms = [\"y\"] }, fault = { use = \"none\" } }"))
                  .size(),
              2u);
}

TEST(Doubts, AreNotHadOfRoomsOfBrokersThatComeLater)
{
    EXPECT_EQ(doubts_about("{ selector = { use = \"machine-room\", rooms = [\"west\", \"north\"] }, fault = { use = \"none\" } }",
                           at("1s", "route = { add = [{ name = \"b\", queues = 1, room = \"west\" }], set = [{ name = \"a\", room = \"north\" }] }")),
              std::vector<std::string>());
}

}  // namespace
}  // namespace shunt::simulate
