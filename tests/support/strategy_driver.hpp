// Drives a selector through the C table of the built .so with nothing but abi.h, of whatever version: for what stands in for
// older and later hosts. Tests of strategies use the kit, <shunt/sdk/testing.hpp>.
//
//     plugin p{SHUNT_TEST_PLUGINS, "best-queue"};
//     topic t{"a*4 b*4 c*4"};
//     selector s{p, {}, {.start = 3}};
//     t.isolate({"b"});
//     EXPECT_EQ(s.pick(t), "b-0");
//
// Depends on the C boundary and the standard library only.

#pragma once

#include <shunt/sdk/abi.h>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace shunt::test {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

inline shunt_str str(std::string_view s) { return {s.data(), s.size()}; }
inline std::string text(shunt_str s) { return s.len == 0 ? std::string{} : std::string{s.ptr, s.len}; }

/// The number of a broker, the same for a name as long as the program runs.
inline std::uint32_t broker_id(const std::string& name)
{
    static std::map<std::string, std::uint32_t> ids;
    return ids.try_emplace(name, 100 + static_cast<std::uint32_t>(ids.size())).first->second;
}

// ---- a plugin file ----

class plugin {
public:
    /// The file of strategy `name` in `folder`. Stays loaded: leak reports keep their names, and tests are short.
    plugin(const std::string& folder, std::string name) : name_(std::move(name))
    {
        std::string file = name_;
        std::ranges::replace(file, '-', '_');
        path_ = folder + "/lib" + file + ".so";
        handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (handle_ == nullptr)
            throw std::runtime_error(dlerror());
        entry_ = reinterpret_cast<shunt_entry_fn>(dlsym(handle_, SHUNT_ENTRY_NAME));
        if (entry_ == nullptr)
            throw std::runtime_error(path_ + " exports no " SHUNT_ENTRY_NAME);
        const shunt_handshake hello{sizeof hello, SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR, str("test")};
        description_ = entry_(&hello);
        if (description_ == nullptr)
            throw std::runtime_error(path_ + " is not for this host");
    }

    /// Another strategy of the same file.
    [[nodiscard]] plugin named(std::string other) const
    {
        plugin p = *this;
        p.name_ = std::move(other);
        return p;
    }

    [[nodiscard]] const shunt_plugin& description() const { return *description_; }
    [[nodiscard]] shunt_entry_fn entry() const { return entry_; }
    [[nodiscard]] const std::string& path() const { return path_; }

    [[nodiscard]] const shunt_selector_class& selector() const
    {
        for (std::uint32_t i = 0; i < description_->n_selectors; ++i)
            if (text(description_->selectors[i]->name) == name_)
                return *description_->selectors[i];
        throw std::runtime_error(path_ + " has no selector " + name_);
    }

private:
    std::string name_, path_;
    void* handle_ = nullptr;
    shunt_entry_fn entry_ = nullptr;
    const shunt_plugin* description_ = nullptr;
};

// ---- what the host gives ----

/// A host whose clock stands still until set, whose dice are seeded, and that writes down what it is asked.
class fake_host {
public:
    fake_host()
    {
        table_.struct_size = sizeof table_;
        table_.abi_major = SHUNT_ABI_MAJOR;
        table_.abi_minor = SHUNT_ABI_MINOR;
        table_.ctx = this;
        table_.log = [](void* c, std::int32_t, shunt_str s) { self(c).logged.push_back(text(s)); };
        table_.set_error = [](void* c, shunt_str s) { self(c).error = text(s); };
        table_.now_ns = [](void* c) { return self(c).now.count(); };
        table_.random = [](void* c) { return self(c).dice(); };
        table_.metric = [](void* c, shunt_str name, shunt_str) {
            self(c).metrics.push_back(text(name));
            return static_cast<std::uint32_t>(self(c).metrics.size() - 1);
        };
        table_.metric_add = [](void*, std::uint32_t, double) {};
        table_.request_probe = [](void* c, std::uint32_t broker, std::int64_t at) {
            self(c).probes[broker] = nanoseconds{at};
            ++self(c).probe_requests;
            return shunt_status{SHUNT_OK};
        };
        table_.extension = [](void*, shunt_str) { return static_cast<const void*>(nullptr); };
    }
    fake_host(const fake_host&) = delete;
    fake_host& operator=(const fake_host&) = delete;

    [[nodiscard]] const shunt_host* table() const { return &table_; }

    nanoseconds now{};
    std::function<std::uint64_t()> dice = std::mt19937_64{1};
    std::map<std::uint32_t, nanoseconds> probes;  ///< pending, by broker id
    int probe_requests = 0;
    std::string error;                            ///< the last set_error
    std::vector<std::string> logged, metrics;

private:
    static fake_host& self(void* c) { return *static_cast<fake_host*>(c); }
    shunt_host table_{};
};

// ---- settings ----

struct setting_value;
using setting_array = std::vector<setting_value>;
struct setting_value {
    std::variant<bool, std::int64_t, double, std::string, nanoseconds, setting_array> v;

    setting_value(bool b) : v(b) {}
    setting_value(int i) : v(std::int64_t{i}) {}
    setting_value(double d) : v(d) {}
    setting_value(const char* s) : v(std::string{s}) {}
    setting_value(std::string s) : v(std::move(s)) {}
    template <class Rep, class Period>
    setting_value(std::chrono::duration<Rep, Period> d) : v(nanoseconds{d})
    {
    }
    setting_value(setting_array a) : v(std::move(a)) {}
};
using settings = std::map<std::string, setting_value>;

/// The given settings and the defaults of the rest, in the form of the border. Does not check, that is the host's work.
class config {
public:
    config(settings given, const shunt_param* params, std::uint32_t n, std::uint32_t stride) : all_(std::move(given))
    {
        for (std::uint32_t i = 0; i < n; ++i) {
            const auto& p = *reinterpret_cast<const shunt_param*>(reinterpret_cast<const char*>(params) + std::size_t{stride} * i);
            if (p.default_text.len > 0)
                all_.try_emplace(text(p.name), parse(text(p.default_text), p.type));
        }
        table_.struct_size = sizeof table_;
        table_.root = this;
        table_.get = [](const void* root, shunt_str name, shunt_value* out) -> shunt_status {
            const auto& all = static_cast<const config*>(root)->all_;
            const auto found = all.find(text(name));
            if (found == all.end())
                return SHUNT_UNSUPPORTED;
            *out = to_c(found->second);
            return SHUNT_OK;
        };
        table_.at = [](const void* node, std::uint32_t i, shunt_value* out) -> shunt_status {
            const auto& array = *static_cast<const setting_array*>(node);
            if (i >= array.size())
                return SHUNT_E_INVALID;
            *out = to_c(array[i]);
            return SHUNT_OK;
        };
    }
    config(const config&) = delete;
    config& operator=(const config&) = delete;

    [[nodiscard]] const shunt_config* table() const { return &table_; }

private:
    static setting_value parse(const std::string& s, std::int32_t type)
    {
        if (s == "[]")
            return setting_array{};
        if (s == "true" || s == "false")
            return s == "true";
        if (s.front() != '"')
            return type == SHUNT_T_F64 ? setting_value{std::stod(s)} : setting_value{std::stoi(s)};
        const std::string inside = s.substr(1, s.size() - 2);
        if (type != SHUNT_T_DURATION_NS)
            return inside;
        std::size_t digits = 0;
        const std::int64_t number = std::stoll(inside, &digits);
        const std::string unit = inside.substr(digits);
        const std::map<std::string, nanoseconds> units{{"ms", 1ms}, {"s", 1s}, {"m", 1min}, {"h", 1h}};
        return number * units.at(unit);
    }

    static shunt_value to_c(const setting_value& s)
    {
        shunt_value out{};
        if (const auto* b = std::get_if<bool>(&s.v))
            out = {.type = SHUNT_T_BOOL, .count = 0, .i64 = *b, .f64 = 0, .str = {}, .node = nullptr};
        else if (const auto* i = std::get_if<std::int64_t>(&s.v))
            out = {.type = SHUNT_T_I64, .count = 0, .i64 = *i, .f64 = 0, .str = {}, .node = nullptr};
        else if (const auto* d = std::get_if<double>(&s.v))
            out = {.type = SHUNT_T_F64, .count = 0, .i64 = 0, .f64 = *d, .str = {}, .node = nullptr};
        else if (const auto* t = std::get_if<std::string>(&s.v))
            out = {.type = SHUNT_T_STR, .count = 0, .i64 = 0, .f64 = 0, .str = str(*t), .node = nullptr};
        else if (const auto* n = std::get_if<nanoseconds>(&s.v))
            out = {.type = SHUNT_T_DURATION_NS, .count = 0, .i64 = n->count(), .f64 = 0, .str = {}, .node = nullptr};
        else if (const auto* a = std::get_if<setting_array>(&s.v))
            out = {.type = SHUNT_T_ARRAY, .count = static_cast<std::uint32_t>(a->size()), .i64 = 0, .f64 = 0, .str = {}, .node = a};
        return out;
    }

    settings all_;
    shunt_config table_{};
};

// ---- a topic's view ----

/// Queues, brokers and masks, from a line such as "a*4 b*4(room=hz,weight=3) c*0": a broker with 0 queues is in the view
/// without a queue. All is well until said otherwise.
class topic {
public:
    explicit topic(std::string_view line, std::uint64_t generation = 1)
    {
        struct spec {
            std::string name, room;
            std::uint32_t queues = 0, weight = 1;
        };
        std::vector<spec> specs;
        while (!line.empty()) {
            const std::string_view word = line.substr(0, line.find(' '));
            line.remove_prefix(std::min(line.size(), word.size() + 1));
            if (word.empty())
                continue;
            const std::size_t star = word.rfind('*');
            spec s{.name = std::string{word.substr(0, star)}, .room = {}};
            std::string_view rest = word.substr(star + 1);
            s.queues = number(rest.substr(0, rest.find('(')));
            const std::size_t open = rest.find('(');
            for (std::string_view more = open == std::string_view::npos ? "" : rest.substr(open + 1, rest.size() - open - 2); !more.empty();) {
                const std::string_view one = more.substr(0, more.find(','));
                more.remove_prefix(std::min(more.size(), one.size() + 1));
                if (one.starts_with("room="))
                    s.room = one.substr(5);
                else if (one.starts_with("weight="))
                    s.weight = number(one.substr(7));
                else
                    throw std::invalid_argument(std::string{one});
            }
            specs.push_back(std::move(s));
        }
        std::ranges::sort(specs, {}, &spec::name);

        for (spec& s : specs) {
            const auto index = static_cast<std::uint32_t>(brokers_.size());
            names_.push_back(std::move(s.name));
            rooms_.push_back(std::move(s.room));
            shunt_load& l = loads_.emplace_back();
            brokers_.push_back({.name = str(names_.back()), .room = str(rooms_.back()), .id = broker_id(names_.back()),
                                .flags = s.queues > 0 ? SHUNT_BROKER_WRITABLE : 0, .weight = s.weight,
                                .first_queue = static_cast<std::uint32_t>(queues_.size()), .n_queues = s.queues, .reserved0 = 0, .load = &l});
            for (std::uint32_t q = 0; q < s.queues; ++q)
                queues_.push_back({index, q});
        }
        view_.struct_size = sizeof view_;
        view_.topic = str("T");
        view_.n_queues = static_cast<std::uint32_t>(queues_.size());
        view_.n_brokers = static_cast<std::uint32_t>(brokers_.size());
        view_.broker_stride = sizeof(shunt_broker);
        view_.queues = queues_.data();
        view_.brokers = brokers_.data();
        view_.route_gen = generation;
        view_.verdict_gen = 1;
        all_well();
    }
    topic(const topic&) = delete;
    topic& operator=(const topic&) = delete;

    void all_well()
    {
        available_ = reachable_ = ones();
        publish_masks();
    }
    /// Slow, say: not available but reachable.
    void isolate(const std::vector<std::string>& brokers)
    {
        for (const auto& b : brokers)
            set(available_, index(b), false);
        publish_masks();
    }
    /// Neither available nor reachable.
    void cut_off(const std::vector<std::string>& brokers)
    {
        isolate(brokers);
        for (const auto& b : brokers)
            set(reachable_, index(b), false);
        publish_masks();
    }
    /// By broker index, as fault strategies answer.
    void judge(const std::vector<bool>& available, const std::vector<bool>& reachable)
    {
        for (std::uint32_t b = 0; b < brokers_.size(); ++b) {
            set(available_, b, available[b]);
            set(reachable_, b, available[b] || reachable[b]);
        }
        publish_masks();
    }
    void only(const std::vector<std::string>& queues)
    {
        candidates_.assign(words(), 0);
        for (std::uint32_t q = 0; q < view_.n_queues; ++q)
            if (std::ranges::find(queues, name(q)) != queues.end())
                candidates_[q / 64] |= std::uint64_t{1} << (q % 64);
        view_.candidates = candidates_.data();
        publish_masks();
    }

    [[nodiscard]] std::string name(std::uint32_t queue) const
    {
        const shunt_queue& q = queues_.at(queue);
        return names_.at(q.broker) + "-" + std::to_string(q.queue_id);
    }
    [[nodiscard]] const std::string& broker_of(std::uint32_t queue) const { return names_.at(queues_.at(queue).broker); }
    [[nodiscard]] std::uint32_t index(const std::string& broker) const
    {
        const auto at = std::ranges::find(names_, broker);
        return at == names_.end() ? SHUNT_NONE : static_cast<std::uint32_t>(at - names_.begin());
    }
    [[nodiscard]] shunt_load& load(const std::string& broker) { return loads_.at(index(broker)); }
    [[nodiscard]] const shunt_view& view() const { return view_; }
    [[nodiscard]] std::size_t words() const { return (queues_.size() + 63) / 64; }
    [[nodiscard]] bool available(std::uint32_t q) const { return (available_[q / 64] >> (q % 64) & 1) != 0; }
    [[nodiscard]] bool reachable(std::uint32_t q) const { return (reachable_[q / 64] >> (q % 64) & 1) != 0; }

    /// Everything a strategy could scribble over, to compare before and after.
    [[nodiscard]] std::string snapshot() const
    {
        std::string bytes;
        const auto add = [&bytes](const auto& v) { bytes.append(reinterpret_cast<const char*>(v.data()), v.size() * sizeof v[0]); };
        add(queues_), add(brokers_), add(available_), add(reachable_), add(candidates_);
        return bytes;
    }

private:
    static std::uint32_t number(std::string_view s)
    {
        std::uint32_t n = 0;
        if (std::from_chars(s.data(), s.data() + s.size(), n).ptr != s.data() + s.size())
            throw std::invalid_argument(std::string{s});
        return n;
    }
    [[nodiscard]] std::vector<std::uint64_t> ones() const
    {
        std::vector<std::uint64_t> m(words(), ~std::uint64_t{0});
        if (view_.n_queues % 64 != 0)
            m.back() = (std::uint64_t{1} << (view_.n_queues % 64)) - 1;
        return m;
    }
    void set(std::vector<std::uint64_t>& mask, std::uint32_t broker, bool to) const
    {
        const shunt_broker& b = brokers_.at(broker);
        for (std::uint32_t q = b.first_queue; q < b.first_queue + b.n_queues; ++q)
            if (to)
                mask[q / 64] |= std::uint64_t{1} << (q % 64);
            else
                mask[q / 64] &= ~(std::uint64_t{1} << (q % 64));
    }
    void publish_masks()
    {
        ++view_.verdict_gen;
        view_.available = available_.data();
        view_.reachable = reachable_.data();
    }

    std::deque<std::string> names_, rooms_;
    std::deque<shunt_load> loads_;
    std::vector<shunt_broker> brokers_;
    std::vector<shunt_queue> queues_;
    std::vector<std::uint64_t> available_, reachable_, candidates_;
    shunt_view view_{};
};

// ---- a selector ----

/// What a test says of a message.
struct msg {
    const char* key = nullptr;                 ///< nullptr: none
    std::vector<std::string> tried = {};       ///< brokers, by name; those not in the view are left out
    std::uint64_t hash64 = 0;
    std::string long_key = {};                 ///< used instead of `key` if not empty; may hold NULs
    std::int32_t java_hash = 0;
    bool ordered = false;
};

struct start_at {
    std::uint32_t start = 0;
};

class selector {
public:
    explicit selector(const plugin& p, settings s = {}, start_at at = {}) : table_(p.selector())
    {
        const config c{std::move(s), table_.params, table_.n_params, table_.param_stride};
        const shunt_instance i{sizeof i, at.start};
        status_ = table_.create(host_.table(), c.table(), &i, &instance_);
    }
    selector(const selector&) = delete;
    selector& operator=(const selector&) = delete;
    ~selector()
    {
        if (instance_ != nullptr)
            table_.destroy(instance_);
    }

    /// Why it could not be made; empty: it could.
    [[nodiscard]] std::string refusal() const { return status_ == SHUNT_OK ? std::string{} : host_.error; }
    [[nodiscard]] shunt_status status() const { return status_; }

    struct answer {
        shunt_status status = SHUNT_OK;
        shunt_pick pick{SHUNT_NONE, 0};
    };

    answer ask(const topic& t, const msg& m = {})
    {
        std::vector<std::uint32_t> tried;
        for (const std::string& b : m.tried)
            if (const std::uint32_t i = t.index(b); i != SHUNT_NONE)
                tried.push_back(i);
        shunt_msg c{};
        c.struct_size = sizeof c;
        c.flags = (m.key != nullptr || !m.long_key.empty() ? SHUNT_MSG_HAS_KEY : 0u) | (m.ordered ? SHUNT_MSG_ORDERED : 0u);
        c.key = m.long_key.empty() ? str(m.key == nullptr ? std::string_view{} : std::string_view{m.key}) : str(m.long_key);
        c.hash64 = m.hash64;
        c.java_hash = m.java_hash;
        c.attempt = static_cast<std::uint32_t>(m.tried.size()) + 1;
        c.random = host_.dice();
        c.now_ns = host_.now.count();
        c.tried = tried.data();
        c.n_tried = static_cast<std::uint32_t>(tried.size());
        ++calls;
        answer a;
        a.status = table_.select(instance_, &t.view(), &c, &a.pick);
        return a;
    }

    /// The queue's name, or "abstain", "no queue", "error: ...".
    std::string pick(const topic& t, const msg& m = {})
    {
        const answer a = ask(t, m);
        switch (a.status) {
        case SHUNT_OK: return a.pick.queue_index < t.view().n_queues ? t.name(a.pick.queue_index) : "out of range";
        case SHUNT_ABSTAIN: return "abstain";
        case SHUNT_NO_QUEUE: return "no queue";
        default: return "error: " + host_.error;
        }
    }

    std::string picks(const topic& t, int n, const msg& m = {})
    {
        std::string all;
        for (int i = 0; i < n; ++i)
            all += (i > 0 ? " " : "") + pick(t, m);
        return all;
    }

    std::map<std::string, int> count(const topic& t, int n, const msg& m = {})
    {
        std::map<std::string, int> all;
        for (int i = 0; i < n; ++i)
            ++all[pick(t, m)];
        return all;
    }

    /// One send whose attempts all fail: the queues it tries, up to `attempts`.
    std::string failing_send(const topic& t, int attempts)
    {
        msg m;
        std::string all;
        for (int i = 0; i < attempts; ++i) {
            const std::string q = pick(t, m);
            all += (i > 0 ? " " : "") + q;
            if (const std::string b = q.substr(0, q.rfind('-')); std::ranges::find(m.tried, b) == m.tried.end())
                m.tried.push_back(b);
        }
        return all;
    }

    [[nodiscard]] const shunt_selector_class& table() const { return table_; }
    [[nodiscard]] shunt_selector* instance() { return instance_; }
    [[nodiscard]] fake_host& host() { return host_; }

    int calls = 0;

private:
    const shunt_selector_class& table_;
    fake_host host_;
    shunt_selector* instance_ = nullptr;
    shunt_status status_;
};

}  // namespace shunt::test
