// Readers that take no lock never see what was freed, and what nobody reads is freed.

#include <client/epoch.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace shunt::client {
namespace {

TEST(Epoch, FreesAtOnceWhatNobodyReads)
{
    epoch_domain d;
    (void)d.make_slot();
    int freed = 0;
    d.retire([&] { ++freed; });
    EXPECT_EQ(freed, 1);
    EXPECT_EQ(d.retired(), 0u);
}

TEST(Epoch, WaitsForAReaderThatWasThereBefore)
{
    epoch_domain d;
    auto& slot = d.make_slot();
    int freed = 0;
    {
        const epoch_domain::reading mark(d, slot);
        d.retire([&] { ++freed; });
        d.collect();
        EXPECT_EQ(freed, 0);
    }
    d.collect();
    EXPECT_EQ(freed, 1);
}

TEST(Epoch, DoesNotWaitForAReaderThatCameLater)
{
    epoch_domain d;
    auto& early = d.make_slot();
    auto& late = d.make_slot();
    int first = 0, second = 0;
    {
        const epoch_domain::reading mark(d, late);
        d.retire([&] { ++first; });
    }
    const epoch_domain::reading mark(d, early);
    d.collect();
    EXPECT_EQ(first, 1) << "retired before this reader came";
    d.retire([&] { ++second; });
    EXPECT_EQ(second, 0);
}

// A selector function that sends again marks the same slot: the inner end unmarked the outer reader.
TEST(Epoch, KeepsTheOuterMarkWhenReadingIsNested)
{
    epoch_domain d;
    auto& slot = d.make_slot();
    int freed = 0;
    {
        const epoch_domain::reading outer(d, slot);
        {
            const epoch_domain::reading inner(d, slot);
        }
        d.retire([&] { ++freed; });
        EXPECT_EQ(freed, 0);
    }
    d.collect();
    EXPECT_EQ(freed, 1);
}

TEST(Epoch, HoldsUnderManyReadersAndAWriter)
{
    struct value {
        explicit value(int n) : a(n), b(n) {}
        ~value() { a = b = -1; }
        int a, b;
    };
    epoch_domain d;
    std::atomic<const value*> current{new value(0)};
    std::atomic<bool> over{false};
    std::atomic<int> freed{0};
    constexpr int readers = 4, writes = 20'000;
    std::latch ready(readers);
    std::vector<std::thread> threads;
    for (int t = 0; t < readers; ++t) {
        threads.emplace_back([&] {
            auto& slot = d.make_slot();
            ready.count_down();
            int last = 0;
            while (!over) {
                const epoch_domain::reading mark(d, slot);
                const value* v = current.load(std::memory_order_seq_cst);
                ASSERT_EQ(v->a, v->b);
                ASSERT_GE(v->a, last) << "freed, or older than what was seen before";
                last = v->a;
            }
        });
    }
    ready.wait();
    for (int i = 1; i <= writes; ++i) {
        const value* old = current.exchange(new value(i), std::memory_order_seq_cst);
        d.retire([old, &freed] {
            delete old;
            ++freed;
        });
    }
    over = true;
    for (std::thread& t : threads)
        t.join();
    d.collect();
    EXPECT_EQ(freed, writes);
    EXPECT_EQ(d.retired(), 0u);
    delete current.load();
}

}  // namespace
}  // namespace shunt::client
