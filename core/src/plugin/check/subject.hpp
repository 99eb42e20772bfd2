// What a check looks at: one plugin file, read once, loaded when first asked for; one strategy of it; and what it is measured with.

#pragma once

#include <plugin/check/rule.hpp>
#include <plugin/image.hpp>
#include <plugin/registry.hpp>
#include <strategy/settings_check.hpp>
#include <strategy/strategy_class.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::plugin::check {

/// Which of the plugin's functions is running. Kept where it outlives the process, so that a crash can be told by it.
enum class phase : std::uint32_t { host, load, entry, create, wants, select, filter, evaluate, feedback, export_state, import_state, destroy, unload };
[[nodiscard]] std::string_view to_string(phase p) noexcept;

/// Counts this process's memory. All of it is there only where malloc can be watched: see core/helper.
struct memory_meter {
    std::uint64_t (*allocations)() = nullptr;     ///< so far, by any thread
    std::int64_t (*live_bytes)() = nullptr;       ///< allocated and not freed
    void (*fail_after)(std::int64_t) = nullptr;   ///< the calling thread's allocations fail after so many more; < 0: none does
    void (*note_refusal)(std::uint64_t*) = nullptr;  ///< where the size of an allocation is put for which there is no memory
};

/// What checks need that they may not get by themselves.
struct instruments {
    std::int64_t (*clock_ns)() = nullptr;  ///< monotonic, for durations
    memory_meter memory;
    bool own_process = false;              ///< the process is for this check alone: its streams, descriptors and handlers may be judged
    bool sanitized = false;                ///< the process is built with a sanitizer
    std::uint64_t seed = 1;
    phase* where = nullptr;                ///< never null while a check runs
};

/// Numbers that look random and are the same for the same seed. Any thread.
class dice {
public:
    explicit dice(std::uint64_t seed) noexcept : state_(seed) {}
    std::uint64_t next() noexcept
    {
        constexpr std::uint64_t step = 0x9e3779b97f4a7c15u;
        std::uint64_t z = state_.fetch_add(step, std::memory_order_relaxed) + step;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    std::uint32_t below(std::uint32_t n) noexcept { return static_cast<std::uint32_t>(next() % n); }

private:
    std::atomic<std::uint64_t> state_;
};

/// A host with a clock that stands still until set, seeded randomness, and a memory of what it was asked for. None of its
/// functions allocates on the plugin's behalf or throws, so that what is measured is the plugin's.
class bench_host {
public:
    explicit bench_host(std::uint64_t seed);
    bench_host(const bench_host&) = delete;
    bench_host& operator=(const bench_host&) = delete;

    /// Longer than today's, as a later host's would be.
    [[nodiscard]] const shunt_host& table() const noexcept { return longer_.known; }
    /// What set_error was told on this thread since the last time.
    [[nodiscard]] static std::string take_error();

    std::int64_t now = 3'600'000'000'000;  // an hour after the machine started
    struct probe {
        std::uint32_t broker_id;
        std::int64_t at_ns;
    };
    std::vector<probe> probes;  ///< as asked for, the first 4,096
    std::atomic<std::uint64_t> probe_requests{0}, log_lines{0};

private:
    dice dice_;
    std::atomic<std::uint32_t> metrics_{0};
    struct {
        shunt_host known;
        std::uint64_t later[4];
    } longer_{};
};

class subject {
public:
    subject(std::string file, instruments with);
    subject(const subject&) = delete;
    subject& operator=(const subject&) = delete;

    [[nodiscard]] const std::string& file() const noexcept { return file_; }
    [[nodiscard]] const instruments& with() const noexcept { return with_; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return with_.seed; }

    // ---- the file: none of its code runs ----
    [[nodiscard]] const load_error& unreadable() const noexcept { return unreadable_; }
    [[nodiscard]] const load_error& refused() const noexcept { return refused_; }  ///< by the static check
    [[nodiscard]] const elf_facts& facts() const noexcept { return facts_; }
    [[nodiscard]] const file_content& content() const noexcept { return content_; }

    // ---- the code ----
    /// Loads it, calls its entry, reads its descriptor. Each throws skipped() where the step before it failed.
    [[nodiscard]] const load_error& load();
    [[nodiscard]] shunt_entry_fn entry();
    [[nodiscard]] const load_error& describe();
    [[nodiscard]] const std::vector<strategy::strategy_class_ptr>& classes();
    /// What the entry answers to this host; null where it refuses. Throws failed() where it throws.
    [[nodiscard]] const shunt_plugin* ask_entry(const shunt_handshake& host);

    // ---- the strategy ----
    void choose(strategy::strategy_kind kind, std::string name);
    [[nodiscard]] const strategy::strategy_class& chosen();
    [[nodiscard]] const shunt_selector_class& selector() { return chosen().selector(); }
    [[nodiscard]] const shunt_fault_class& fault() { return chosen().fault(); }
    [[nodiscard]] std::uint32_t flags() { return chosen().kind == strategy::strategy_kind::selector ? selector().flags : 0; }
    /// Its defaults, and for what is required something that its declaration allows.
    [[nodiscard]] const strategy::checked_settings& settings();
    [[nodiscard]] const setting_table& plain_settings();
    /// In place of the defaults.
    void set(setting_table given) { given_ = std::move(given); }

    /// Runs `body`, which calls the plugin, as phase `p`. What it throws fails the check.
    template <typename Body>
    auto during(phase p, Body&& body)
    {
        struct mark {
            const subject& s;
            ~mark() { s.at(phase::host); }
        } const ends{*this};
        at(p);
        try {
            return body();
        } catch (const outcome&) {
            throw;
        } catch (...) {
            throw failed(thrown_in(p));
        }
    }

    /// Says where it is. Any thread; the last one to speak is believed.
    void at(phase p) const noexcept { std::atomic_ref(*with_.where).store(p, std::memory_order_relaxed); }

private:
    static std::string thrown_in(phase p);

    std::string file_;
    instruments with_;
    file_content content_;
    load_error unreadable_, refused_;
    elf_facts facts_;
    std::optional<load_error> load_, describe_;
    std::shared_ptr<const image> image_;
    shunt_entry_fn entry_ = nullptr;
    std::vector<strategy::strategy_class_ptr> classes_;
    strategy::strategy_kind kind_ = strategy::strategy_kind::selector;
    std::string name_;
    strategy::strategy_class_ptr chosen_;
    setting_table given_;
    std::optional<setting_table> plain_;
    std::optional<strategy::checked_settings> settings_;
};

/// Runs one rule in this process; whatever it throws becomes its outcome.
[[nodiscard]] outcome run_rule(const rule& r, subject& s);

/// A value that the declaration allows, for a parameter that must be given.
[[nodiscard]] setting plausible_value(const strategy::parameter& p);

}  // namespace shunt::plugin::check
