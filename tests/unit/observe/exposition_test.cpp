// Metrics as Prometheus reads them.

#include <observe/exposition.hpp>

#include <gtest/gtest.h>

#include <array>

namespace shunt::observe {
namespace {

TEST(Exposition, IsPrometheusText)
{
    exposition e;
    e.counter("a_total", "What a is").add(3, {{"x", "1"}, {"y", "2"}}).add(4, {{"x", "2"}, {"y", "3"}});
    e.gauge("b", "What b is").add(0.5);
    EXPECT_EQ(e.text(), "# HELP a_total What a is\n# TYPE a_total counter\na_total{x=\"1\",y=\"2\"} 3\na_total{x=\"2\",y=\"3\"} 4\n"
                        "# HELP b What b is\n# TYPE b gauge\nb 0.5\n");
}

TEST(Exposition, EscapesWhatLabelsMayNotHave)
{
    exposition e;
    e.gauge("b", "B").add(1, {{"x", "a\"b\\c\nd"}});
    EXPECT_NE(e.text().find("b{x=\"a\\\"b\\\\c\\nd\"} 1\n"), std::string::npos) << e.text();
}

TEST(Exposition, CumulatesHistogramsInSeconds)
{
    static constexpr std::array<std::int64_t, 2> bounds{1'000'000, 2'500'000'000};
    histogram_counts c;
    c.buckets = {1, 2, 3};
    c.sum_ns = 7'500'000'000;
    exposition e;
    e.histogram("h_seconds", "H").add(c, bounds, {{"x", "1"}});
    EXPECT_EQ(e.text(), "# HELP h_seconds H\n# TYPE h_seconds histogram\nh_seconds_count{x=\"1\"} 6\nh_seconds_sum{x=\"1\"} 7.5\n"
                        "h_seconds_bucket{x=\"1\",le=\"0.001\"} 1\nh_seconds_bucket{x=\"1\",le=\"2.5\"} 3\nh_seconds_bucket{x=\"1\",le=\"+Inf\"} 6\n");
}

}  // namespace
}  // namespace shunt::observe
