// Metrics as Prometheus reads them.

#pragma once

#include <observe/metrics.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace shunt::observe {

class exposition {
public:
    using labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

    exposition();
    ~exposition();
    exposition(const exposition&) = delete;
    exposition& operator=(const exposition&) = delete;

    // Each begins a metric; the values that are added belong to the last that was begun.
    exposition& counter(std::string_view name, std::string_view help);
    exposition& gauge(std::string_view name, std::string_view help);
    exposition& histogram(std::string_view name, std::string_view help);
    exposition& add(double value, labels with = {});
    /// In seconds.
    exposition& add(const histogram_counts& counts, std::span<const std::int64_t> bounds, labels with = {});

    [[nodiscard]] std::string text() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace shunt::observe
