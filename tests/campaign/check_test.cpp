// The check of a round: a history as it should be passes, and each thing that must never happen is called by its name.

#include <campaign/history.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace shunt::campaign {
namespace {

/// Message `number`, stored once, where copy_of() puts it.
sent_message stored(int number, way how = way::async)
{
    sent_message m;
    m.number = number;
    m.how = how;
    m.completions = 1;
    m.outcome = outcome::stored;
    m.stored_attempts = m.attempts = 1;
    m.broker = "broker-a";
    m.queue = 0;
    m.offset = number;
    m.limit = std::chrono::milliseconds(100);
    return m;
}
sent_message ended(int number, outcome o)
{
    sent_message m = stored(number);
    m.outcome = o;
    m.stored_attempts = 0;
    m.unknown_attempts = o == outcome::unknown ? 1 : 0;
    m.offset = -1;
    return m;
}
copy copy_of(int number, shelf where = shelf::topic)
{
    copy c;
    c.sequence = static_cast<std::uint64_t>(number) + 1;
    c.number = number;
    c.where = where;
    c.broker = "broker-a";
    c.queue = 0;
    c.offset = number;
    return c;
}

/// Three messages of one key, all stored in order, and one that ended unknown and left no copy.
history good()
{
    history h;
    for (int i = 0; i < 3; ++i) {
        h.sent.push_back(stored(i, way::ordered));
        h.sent.back().key = 7;
        h.ledger.push_back(copy_of(i));
    }
    h.sent.push_back(ended(3, outcome::unknown));
    h.counts = {.calls = 4, .requests = 0, .sends = 4, .stored = 3, .not_sent = 0, .unknown = 1, .rejected = 0, .in_flight_messages = 0,
                .in_flight_bytes = 0, .lanes = 0, .most_in_flight = 2, .max_in_flight = 2};
    return h;
}

std::vector<std::string> kinds(const history& h)
{
    std::vector<std::string> found;
    for (const problem& p : check(h))
        found.push_back(p.kind);
    return found;
}
using only = std::vector<std::string>;

TEST(Check, FindsNothingWhereEverythingIsAsItShouldBe)
{
    EXPECT_EQ(kinds(good()), only{});
}

TEST(Check, FindsACompletionThatCameTwice)
{
    history h = good();
    h.sent[1].completions = 2;
    EXPECT_EQ(kinds(h), only{"double completion"});
}

TEST(Check, FindsACompletionThatNeverCame)
{
    history h = good();
    h.sent[3].completions = 0;
    EXPECT_EQ(kinds(h), only{"lost completion"});
}

TEST(Check, FindsUnknownThatIsReportedAsNotSent)
{
    history h = good();
    h.sent[3] = ended(3, outcome::not_sent);
    h.ledger.push_back(copy_of(3));
    EXPECT_EQ(kinds(h), only{"not_sent but stored"});
}

TEST(Check, FindsAnOutcomeThatTheAttemptsDoNotSay)
{
    history h = good();
    h.sent[3].outcome = outcome::not_sent;
    EXPECT_EQ(kinds(h), only{"the outcome is not what the attempts say"});
    h.sent[3].outcome = outcome::stored;
    EXPECT_EQ(kinds(h), (only{"the outcome is not what the attempts say", "stored but lost"}));
}

TEST(Check, FindsALaneThatWasOvertaken)
{
    history h = good();
    std::swap(h.ledger[0].sequence, h.ledger[1].sequence);
    EXPECT_EQ(kinds(h), only{"overtaken in its lane"});
}

TEST(Check, LetsALateSecondCopyLieBehindTheNext)
{
    history h = good();
    h.sent[0].unknown_attempts = 1;
    h.sent[0].attempts = 2;
    copy late = copy_of(0);
    late.sequence = 99;
    late.offset = 98;
    h.ledger.push_back(late);
    EXPECT_EQ(kinds(h), only{});
}

TEST(Check, FindsALaneThatIsNotToldOfADoubt)
{
    history h = good();
    h.sent[0] = ended(0, outcome::unknown);
    h.sent[0].key = 7;
    EXPECT_EQ(kinds(h), only{}) << "it lies before the next";
    h.ledger.erase(h.ledger.begin());
    EXPECT_EQ(kinds(h), only{"not told of the doubt before it"});
    h.sent[1].after_unknown = true;
    EXPECT_EQ(kinds(h), only{});
}

TEST(Check, FindsRoomThatIsNotGivenBackAndALimitThatIsNotKept)
{
    history h = good();
    h.counts.in_flight_messages = 1;
    h.counts.most_in_flight = 3;
    EXPECT_EQ(kinds(h), (only{"room is not given back", "the limit is not kept"}));
}

TEST(Check, FindsWhatIsStoredAndNotThere)
{
    history h = good();
    h.ledger.erase(h.ledger.begin() + 1);
    EXPECT_EQ(kinds(h), only{"stored but lost"});
}

TEST(Check, FindsRejectedMessagesThatAreThere)
{
    history h = good();
    h.sent[3] = ended(3, outcome::rejected);
    h.ledger.push_back(copy_of(3));
    EXPECT_EQ(kinds(h), only{"rejected but stored"});
}

TEST(Check, CountsCopiesByTheAttemptsThatExplainThem)
{
    history h = good();
    copy second = copy_of(2);
    second.offset = 50;
    h.ledger.push_back(second);
    EXPECT_EQ(kinds(h), only{"a copy that no attempt explains"});
    h.sent[2].unknown_attempts = 1;
    EXPECT_EQ(kinds(h), only{});
    h.sent[2].unknown_attempts = 0;
    h.sent[2].stored_attempts = 3;
    EXPECT_EQ(kinds(h), only{"a stored attempt left no copy"});
}

TEST(Check, FindsAReceiptThatNamesAnotherPlace)
{
    history h = good();
    h.sent[1].offset = 40;
    EXPECT_EQ(kinds(h), only{"not where the receipt says"});
}

TEST(Check, FindsForeignMessagesAndSpoiltBodies)
{
    history h = good();
    h.ledger.push_back(copy_of(77));
    h.ledger[0].intact = false;
    EXPECT_EQ(kinds(h), (only{"a body that is not what was sent", "a message nobody sent"}));
}

TEST(Check, KnowsWhatBecomesOfTransactions)
{
    history h = good();
    h.sent[2] = stored(2, way::transaction);
    h.ledger[2].where = shelf::half;
    h.sent[2].end = transaction_end::commit;
    h.sent[2].confirmed = true;
    EXPECT_EQ(kinds(h), only{"committed but not delivered"});
    h.ledger.push_back(copy_of(2));
    EXPECT_EQ(kinds(h), only{});
    h.sent[2].end = transaction_end::rollback;
    EXPECT_EQ(kinds(h), only{"delivered though not committed"});
}

TEST(Check, KnowsThatTimedMessagesAreHeldFirst)
{
    history h = good();
    h.sent[2] = stored(2, way::timed);
    h.ledger[2].where = shelf::held;
    EXPECT_EQ(kinds(h), only{});
    h.ledger.push_back(copy_of(2));
    EXPECT_EQ(kinds(h), only{});
    h.ledger.push_back(copy_of(2));
    EXPECT_EQ(kinds(h), only{"delivered too often"});
}

TEST(Check, FindsCountersThatDoNotAddUp)
{
    history h = good();
    ++h.counts.sends;
    EXPECT_EQ(kinds(h), (only{"counters do not add up", "counters do not add up"}));
    h.counts.requests = 1;
    EXPECT_EQ(kinds(h), only{"counters do not add up"});
    ++h.counts.unknown;
    EXPECT_EQ(kinds(h), only{});
}

TEST(Check, FindsWhatIsLeftBehindAndWhatIsLate)
{
    history h = good();
    h.after.descriptors = 1;
    h.after.threads = 1;
    h.counts.lanes = 1;
    h.closed_in_time = false;
    h.sent[0].took = h.sent[0].limit + h.grace + std::chrono::milliseconds(1);
    EXPECT_EQ(kinds(h), (only{"later than promised", "a lane is left", "descriptors", "threads", "close() takes too long"}));
}

}  // namespace
}  // namespace shunt::campaign
