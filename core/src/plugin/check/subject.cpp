#include <plugin/check/subject.hpp>

#include <plugin/descriptor.hpp>

#include <cxxabi.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <typeinfo>
#include <utility>

namespace shunt::plugin::check {

using strategy::in_quotes;

std::string_view to_string(phase p) noexcept
{
    switch (p) {
    case phase::host: return "the check itself";
    case phase::load: return "load";
    case phase::entry: return "entry";
    case phase::create: return "create";
    case phase::wants: return "wants";
    case phase::select: return "select";
    case phase::filter: return "filter";
    case phase::evaluate: return "evaluate";
    case phase::feedback: return "on_feedback";
    case phase::export_state: return "export_state";
    case phase::import_state: return "import_state";
    case phase::destroy: return "destroy";
    case phase::unload: break;
    }
    return "unload";
}

// ---- the host ----

namespace {

constexpr std::size_t longest_error = 1024;
thread_local struct {
    std::size_t size = 0;
    char text[longest_error];
} last_error;
constexpr std::size_t most_probes = 4096;

}  // namespace

std::string bench_host::take_error() { return {last_error.text, std::exchange(last_error.size, 0)}; }

bench_host::bench_host(std::uint64_t seed) : dice_(seed)
{
    probes.reserve(most_probes);
    shunt_host& t = longer_.known;
    t.struct_size = sizeof longer_;
    t.abi_major = SHUNT_ABI_MAJOR;
    t.abi_minor = SHUNT_ABI_MINOR;
    t.ctx = this;
    t.log = [](void* c, std::int32_t, shunt_str) { ++static_cast<bench_host*>(c)->log_lines; };
    t.set_error = [](void*, shunt_str text) {
        last_error.size = text.ptr == nullptr ? 0 : std::min<std::size_t>(text.len, longest_error);
        if (last_error.size != 0)
            std::memcpy(last_error.text, text.ptr, last_error.size);
    };
    t.now_ns = [](void* c) { return static_cast<bench_host*>(c)->now; };
    t.random = [](void* c) { return static_cast<bench_host*>(c)->dice_.next(); };
    t.metric = [](void* c, shunt_str, shunt_str) { return static_cast<bench_host*>(c)->metrics_++; };
    t.metric_add = [](void*, std::uint32_t, double) {};
    t.request_probe = [](void* c, std::uint32_t broker_id, std::int64_t at_ns) -> shunt_status {
        auto& self = *static_cast<bench_host*>(c);
        ++self.probe_requests;
        if (self.probes.size() < most_probes)
            self.probes.push_back({broker_id, at_ns});
        return SHUNT_OK;
    };
    t.extension = [](void*, shunt_str) -> const void* { return nullptr; };
    std::fill(std::begin(longer_.later), std::end(longer_.later), 0xa5a5a5a5a5a5a5a5u);
}

// ---- the file and its code ----

subject::subject(std::string file, instruments with) : file_(std::move(file)), with_(with)
{
    unreadable_ = read_file(file_, path_rules::readable, content_);
    if (!unreadable_)
        refused_ = inspect_bytes(file_, content_.bytes, facts_);
}

const load_error& subject::load()
{
    if (unreadable_ || refused_)
        throw skipped("the file is refused before it is loaded: " + (unreadable_ ? unreadable_ : refused_).text);
    if (!load_)
        load_ = during(phase::load, [&] { return load_image(content_, std::numeric_limits<std::size_t>::max(), image_); });
    return *load_;
}

shunt_entry_fn subject::entry()
{
    if (const load_error& e = load())
        throw skipped("it cannot be loaded: " + e.text);
    if (entry_ == nullptr)
        if (const load_error e = entry_of(*image_, file_, entry_))
            throw skipped("it has no entry: " + e.text);
    return entry_;
}

const load_error& subject::describe()
{
    const shunt_entry_fn f = entry();
    if (!describe_)
        describe_ = during(phase::entry, [&] {
            return describe_plugin(f, {file_, content_.sha256, strategy::strategy_origin::file, image_, &facts_}, classes_);
        });
    return *describe_;
}

const std::vector<strategy::strategy_class_ptr>& subject::classes()
{
    if (const load_error& e = describe())
        throw skipped("its descriptor is refused: " + e.text);
    return classes_;
}

const shunt_plugin* subject::ask_entry(const shunt_handshake& host)
{
    const shunt_entry_fn f = entry();
    return during(phase::entry, [&] { return f(&host); });
}

// ---- the strategy ----

void subject::choose(strategy::strategy_kind kind, std::string name)
{
    kind_ = kind;
    name_ = std::move(name);
    chosen_.reset();
    plain_.reset();
    settings_.reset();
}

const strategy::strategy_class& subject::chosen()
{
    if (!chosen_) {
        for (const auto& c : classes())
            if (c->kind == kind_ && c->name == name_)
                chosen_ = c;
        if (!chosen_)
            throw skipped(fmt::format("its descriptor has no {} {}", strategy::to_string(kind_), in_quotes(name_)));
    }
    return *chosen_;
}

setting plausible_value(const strategy::parameter& p)
{
    const auto scalar = [&](std::int32_t type, std::size_t i) -> setting {
        const bool bounded = p.min != 0 || p.max != 0;
        const double low = bounded && std::isfinite(p.min) && p.min > -9e18 ? p.min : 0;
        const double number = bounded ? low : 1;
        switch (type) {
        case SHUNT_T_BOOL: return true;
        case SHUNT_T_I64: return static_cast<std::int64_t>(std::ceil(number));
        case SHUNT_T_F64: return number;
        case SHUNT_T_DURATION_NS: return strategy::format_duration(std::max<std::int64_t>(std::llround(number), bounded ? 0 : 1'000'000'000));
        case SHUNT_T_SIZE: return strategy::format_size(std::max<std::int64_t>(std::llround(number), bounded ? 0 : 1024));
        default: return p.choices.empty() ? fmt::format("hz-{}", i + 1) : p.choices[i % p.choices.size()];
        }
    };
    if (p.type != SHUNT_T_ARRAY)
        return scalar(p.type, 0);
    setting_array all;
    for (std::size_t i = 0; i < std::max<std::size_t>(1, p.min_count); ++i)
        all.push_back(scalar(p.element_type, i));
    return all;
}

const setting_table& subject::plain_settings()
{
    if (!plain_) {
        const auto declares = [](const strategy::strategy_class& c, std::string_view name) {
            return std::any_of(c.parameters.begin(), c.parameters.end(), [&](const strategy::parameter& p) { return p.name == name; });
        };
        plain_.emplace();
        for (const auto& [name, value] : given_) {
            const auto has_it = [&declares, &key = name](const auto& c) { return declares(*c, key); };
            const bool of_another = !declares(chosen(), name) && std::any_of(classes_.begin(), classes_.end(), has_it);
            if (!of_another)
                plain_->emplace(name, value);
        }
        for (const strategy::parameter& p : chosen().parameters)
            if (p.required && !plain_->contains(p.name))
                plain_->emplace(p.name, plausible_value(p));
    }
    return *plain_;
}

const strategy::checked_settings& subject::settings()
{
    if (!settings_) {
        std::vector<strategy::setting_problem> problems;
        settings_ = strategy::check_settings(chosen(), plain_settings(), {}, problems);
        if (!problems.empty() && given_.contains(problems.front().key))
            throw failed(fmt::format("--set: {} is {}; it must be {}", problems.front().key, problems.front().found, problems.front().expected));
        if (!problems.empty())
            throw skipped(fmt::format("no settings for it: {} is {}; it must be {} (--set gives it)", problems.front().key,
                                      problems.front().found, problems.front().expected));
    }
    return *settings_;
}

std::string subject::thrown_in(phase p)
{
    std::string what = "no std::exception";
    try {
        throw;
    } catch (const std::exception& e) {
        what = e.what();
    } catch (...) {
        if (const std::type_info* const type = abi::__cxa_current_exception_type())
            what = fmt::format("a thing of type {}", in_quotes(type->name()));
    }
    return fmt::format("an exception left {}: {}", to_string(p), what);
}

outcome run_rule(const rule& r, subject& s)
{
    try {
        return r.run(s);
    } catch (const outcome& o) {
        return o;
    } catch (const std::exception& e) {
        return failed(fmt::format("the check ended with {}", in_quotes(e.what())));
    }
}

}  // namespace shunt::plugin::check
