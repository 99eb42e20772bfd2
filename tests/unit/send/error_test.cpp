// An error of a send compares with what may be concluded from it.

#include "printing.hpp"

#include <shunt/error.hpp>
#include <shunt/receipt.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace shunt {
namespace {

constexpr errc all[] = {errc::closed, errc::invalid_topic, errc::forbidden_topic, errc::empty_body, errc::body_too_large,
                        errc::properties_too_large, errc::invalid_property, errc::invalid_key, errc::invalid_delay,
                        errc::unknown_policy, errc::full, errc::larger_than_limit, errc::no_queue, errc::queue_not_writable,
                        errc::selector_failed, errc::no_route, errc::route_timeout, errc::expired_waiting, errc::would_deadlock,
                        errc::connect_failed, errc::connect_timeout, errc::connection_lost, errc::response_timeout,
                        errc::bad_response, errc::cancelled, errc::broker_error};

TEST(SendError, HasATextOfItsOwnForEachCondition)
{
    std::set<std::string> texts;
    for (const errc e : all) {
        const std::string text = make_error_code(e).message();
        EXPECT_NE(text, "unknown error");
        EXPECT_TRUE(texts.insert(text).second) << text << " is said of two conditions";
    }
}

TEST(SendError, EqualsItsOutcomeAndNoOther)
{
    for (const errc e : all) {
        const outcome expected = e == errc::broker_error ? outcome::rejected
                                 : e == errc::connection_lost || e == errc::response_timeout || e == errc::bad_response
                                     ? outcome::unknown
                                     : outcome::not_sent;
        const error_code ec = e;
        for (const outcome o : {outcome::stored, outcome::not_sent, outcome::unknown, outcome::rejected})
            EXPECT_EQ(ec == o, o == expected) << testing::PrintToString(e) << " == " << to_string(o);
    }
}

TEST(SendError, CarriesAnOutcomeThatIsNotItsUsualOne)
{
    const error_code ec = make_send_error(errc::cancelled, outcome::unknown);
    EXPECT_TRUE(ec == outcome::unknown);
    EXPECT_FALSE(ec == outcome::not_sent);
    EXPECT_NE(ec.message().find("may be stored"), std::string::npos);
    EXPECT_EQ(outcome_of(ec), outcome::unknown);
    EXPECT_EQ(make_send_error(errc::cancelled, outcome::not_sent), make_error_code(errc::cancelled));
}

TEST(SendError, SuccessMeansStored)
{
    EXPECT_TRUE(error_code{} == outcome::stored);
    EXPECT_FALSE(error_code{} == outcome::not_sent);
}

TEST(SendError, AForeignErrorHasNoOutcome)
{
    const error_code foreign(5, boost::system::system_category());
    EXPECT_FALSE(foreign == outcome::stored);
    EXPECT_FALSE(foreign == outcome::unknown);
}

TEST(ShortText, CutsWhatIsTooLong)
{
    const short_text<4> t("abcdef");
    EXPECT_TRUE(t == "abcd");
    EXPECT_TRUE(short_text<4>{}.empty());
    EXPECT_EQ(short_text<4>("ab").str(), "ab");
}

}  // namespace
}  // namespace shunt
