#include <observe/exposition.hpp>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <vector>

namespace shunt::observe {

struct exposition::state {
    std::vector<prometheus::MetricFamily> families;

    void begin(std::string_view name, std::string_view help, prometheus::MetricType type)
    {
        prometheus::MetricFamily& f = families.emplace_back();
        f.name = name;
        f.help = help;
        f.type = type;
    }
    prometheus::ClientMetric& add(labels with)
    {
        prometheus::ClientMetric& m = families.back().metric.emplace_back();
        m.label.reserve(with.size());
        for (const auto& [name, value] : with) {
            prometheus::ClientMetric::Label& l = m.label.emplace_back();
            l.name = name;
            l.value = value;
        }
        return m;
    }
};

exposition::exposition() : state_(std::make_unique<state>()) {}

exposition::~exposition() = default;

exposition& exposition::counter(std::string_view name, std::string_view help)
{
    state_->begin(name, help, prometheus::MetricType::Counter);
    return *this;
}

exposition& exposition::gauge(std::string_view name, std::string_view help)
{
    state_->begin(name, help, prometheus::MetricType::Gauge);
    return *this;
}

exposition& exposition::histogram(std::string_view name, std::string_view help)
{
    state_->begin(name, help, prometheus::MetricType::Histogram);
    return *this;
}

exposition& exposition::add(double value, labels with)
{
    prometheus::ClientMetric& m = state_->add(with);
    (state_->families.back().type == prometheus::MetricType::Counter ? m.counter.value : m.gauge.value) = value;
    return *this;
}

exposition& exposition::add(const histogram_counts& counts, std::span<const std::int64_t> bounds, labels with)
{
    prometheus::ClientMetric::Histogram& h = state_->add(with).histogram;
    h.sample_sum = static_cast<double>(counts.sum_ns) / 1e9;
    h.bucket.reserve(bounds.size());
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        so_far += counts.buckets[i];
        prometheus::ClientMetric::Bucket& b = h.bucket.emplace_back();
        b.cumulative_count = so_far;
        b.upper_bound = static_cast<double>(bounds[i]) / 1e9;
    }
    h.sample_count = counts.count();
    return *this;
}

std::string exposition::text() const { return prometheus::TextSerializer().Serialize(state_->families); }

}  // namespace shunt::observe
