// A run as a series over time, for pictures: who got how much when, how long sends took, who was avoided.
//
// Time is cut into at most `most` pieces of one width, which doubles when the run gets longer: memory does not grow with it.

#pragma once

#include <simulate/run.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shunt::simulate {

class recording {
public:
    static constexpr std::size_t most = 240;

    struct piece {
        std::map<std::size_t, std::uint64_t> attempts, failed;  ///< by broker
        std::map<std::int64_t, std::uint64_t> latencies;        ///< of sends that ended: how many took so many ms
    };
    struct stretch {
        std::int64_t from_ms = 0, to_ms = 0;
        verdict said = verdict::available;
    };
    struct key_place {
        std::size_t first = 0, last = 0;  ///< brokers
    };

    void decided(const line& l);
    void ended(const send_end& e);
    void judged(std::int64_t t_ms, std::string_view broker, verdict v);
    /// The run is over: what lasts still lasts until then.
    void close(std::int64_t end_ms);

    [[nodiscard]] std::int64_t width_ms() const noexcept { return width_ms_; }
    [[nodiscard]] const std::vector<piece>& pieces() const noexcept { return pieces_; }
    [[nodiscard]] const std::vector<std::string>& brokers() const noexcept { return brokers_; }
    [[nodiscard]] const std::vector<std::vector<stretch>>& stretches() const noexcept { return stretches_; }  ///< by broker; not of those available
    /// How many keys had their first stored message on the one broker, their last on the other.
    [[nodiscard]] std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> keys() const;

private:
    [[nodiscard]] std::size_t number_of(std::string_view broker);
    [[nodiscard]] piece& piece_at(std::int64_t t_ms);

    std::int64_t width_ms_ = 1;
    std::vector<piece> pieces_;
    std::vector<std::string> brokers_;  ///< in the order they were met
    std::map<std::string, std::size_t, std::less<>> numbers_;
    std::vector<std::vector<stretch>> stretches_;
    std::vector<stretch> open_;         ///< by broker
    std::unordered_map<std::string, key_place> keys_;
};

/// The value at `per_mille` of so many, by nearest rank; 0: there are none.
[[nodiscard]] std::int64_t percentile(const std::map<std::int64_t, std::uint64_t>& counts, std::uint64_t per_mille);

}  // namespace shunt::simulate
