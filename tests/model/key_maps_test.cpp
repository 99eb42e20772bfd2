// Which map an ordered key goes by while policies are exchanged: all ways in which messages of two keys come and end while
// maps replace each other, time passes and barriers are set.

#include <model/explore.hpp>

#include <swap/key_maps.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

namespace shunt::model {
namespace {

constexpr std::int64_t quiet_ns = 10;
constexpr std::size_t n_keys = 2;
// enter, leave of each key; a new map; a little time, the quiet time; a barrier; a sweep
constexpr std::size_t letters = 2 * n_keys + 5;
constexpr std::size_t depth = 6;

template <typename Maps>
class exchanges {
public:
    std::string step(std::size_t letter)
    {
        if (letter < n_keys) {
            key& k = keys_[letter];
            const std::uint64_t would = under_test_->find(letter, newest_, now_);
            const std::uint64_t map = under_test_->enter(letter, newest_, now_);
            if (map != would)
                return "it goes another way than was told";
            const bool held = k.busy > 0 || (k.known && !k.free && now_ - k.ended < quiet_ns);
            if (held && map != k.map)
                return "a key moved before it was quiet";
            if (!held && map != newest_)
                return "a key that is quiet stays behind";
            k.map = map;
            k.known = true;
            if (k.busy++ == 0)
                k.free = false;
        } else if (letter < 2 * n_keys) {
            key& k = keys_[letter - n_keys];
            under_test_->leave(letter - n_keys, now_);
            if (k.busy > 0 && --k.busy == 0)
                k.ended = now_;
        } else {
            switch (letter - 2 * n_keys) {
            case 0: ++newest_; break;
            case 1: now_ += 1; break;
            case 2: now_ += quiet_ns; break;
            case 3:
                under_test_->barrier();
                for (key& k : keys_)
                    k.free = true;
                break;
            default: under_test_->sweep(now_);
            }
        }
        return state();
    }

private:
    struct key {
        std::uint64_t map = 0;
        int busy = 0;
        bool known = false;
        bool free = false;  // a barrier has passed: it need not be quiet once it is idle
        std::int64_t ended = 0;
    };
    std::string state() const
    {
        std::size_t least = 0;
        for (std::uint64_t map = 0; map <= newest_; ++map) {
            std::size_t must = 0;
            for (const key& k : keys_)
                must += k.map == map && k.known && (k.busy > 0 || (!k.free && now_ - k.ended < quiet_ns)) ? 1 : 0;
            if (under_test_->on(map) < must)
                return "a map counts as out of use while a key goes by it";
            if (must != 0 && !under_test_->holds(map))
                return "a map may be let go while a key goes by it";
            least += under_test_->on(map);
        }
        if (least != under_test_->size())
            return "the counts of the maps are not those of the keys";
        for (const key& k : keys_) {
            if (k.busy == 0 && k.known && !k.free && now_ - k.ended < quiet_ns && under_test_->next_ns() > k.ended + quiet_ns)
                return "it sleeps past the time when a key may move";
        }
        return {};
    }

    std::unique_ptr<Maps> under_test_ = std::make_unique<Maps>(quiet_ns);
    std::array<key, n_keys> keys_;
    std::uint64_t newest_ = 1;
    std::int64_t now_ = 1000;
};

template <typename Maps>
finding all_of(std::size_t length)
{
    return explore<exchanges<Maps>>(letters, length, [] { return exchanges<Maps>(); });
}

TEST(KeyMapsModel, HoldsInEverySequenceOfSixEvents)
{
    const finding f = all_of<swap::key_maps>(depth);
    EXPECT_EQ(f.wrong, "") << f.shown();
    EXPECT_EQ(f.sequences, 531'441U);
}

// ---- planted ----

struct moves_at_once : swap::key_maps {
    using key_maps::key_maps;
    std::uint64_t enter(std::uint64_t key, std::uint64_t wanted, std::int64_t now)
    {
        (void)key_maps::enter(key, wanted, now);
        return wanted;
    }
    [[nodiscard]] std::uint64_t find(std::uint64_t, std::uint64_t wanted, std::int64_t) const { return wanted; }
};
struct forgets_those_under_way : swap::key_maps {
    using key_maps::key_maps;
    std::uint64_t enter(std::uint64_t key, std::uint64_t wanted, std::int64_t now)
    {
        const std::uint64_t map = key_maps::enter(key, wanted, now);
        leave(key, now - quiet_ns);  // counts as long quiet
        return map;
    }
};
struct never_moves : swap::key_maps {
    explicit never_moves(std::int64_t) noexcept : key_maps(INT64_MAX / 2) {}
};

TEST(KeyMapsModel, FindsWhatIsPlanted)
{
    EXPECT_EQ(all_of<moves_at_once>(4).wrong, "a key moved before it was quiet");
    EXPECT_NE(all_of<forgets_those_under_way>(4).wrong, "");
    EXPECT_NE(all_of<never_moves>(5).wrong, "");
}

}  // namespace
}  // namespace shunt::model
