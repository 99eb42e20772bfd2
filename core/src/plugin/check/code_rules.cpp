// What is found by loading the file and asking its entry.

#include <plugin/check/subject.hpp>

#include <plugin/refuse.hpp>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace shunt::plugin::check {

namespace {

using strategy::in_quotes;

std::string words_of(const load_error& e)
{
    const std::size_t at = e.text.find("\": ");
    return at == std::string::npos ? e.text : e.text.substr(at + 3);
}

outcome symbols_found(subject& s)
{
    const load_error& e = s.load();
    if (e.why == refusal::undefined_symbol || e.why == refusal::missing_version || e.why == refusal::missing_dependency)
        return failed(words_of(e));
    return {};
}

outcome loads(subject& s)
{
    const load_error& e = s.load();
    if (e.why == refusal::undefined_symbol || e.why == refusal::missing_version || e.why == refusal::missing_dependency)
        throw skipped("see symbols-found: " + words_of(e));
    if (e)
        return failed(words_of(e));
    (void)s.entry();
    return {};
}

outcome entry_answers(subject& s)
{
    const load_error& e = s.describe();
    return e.why == refusal::null_descriptor || e.why == refusal::entry_threw ? failed(words_of(e)) : outcome{};
}

/// The descriptor's refusals, each told by the check it belongs to.
outcome descriptor_refused_for(subject& s, std::initializer_list<refusal> mine)
{
    const load_error& e = s.describe();
    if (!e)
        return {};
    for (const refusal r : mine)
        if (e.why == r)
            return failed(words_of(e));
    return skipped("the descriptor is refused: " + words_of(e));
}

outcome descriptor(subject& s) { return descriptor_refused_for(s, {refusal::bad_descriptor, refusal::bad_class, refusal::abi_major}); }
outcome strategy_names(subject& s) { return descriptor_refused_for(s, {refusal::bad_name}); }
outcome parameters(subject& s) { return descriptor_refused_for(s, {refusal::bad_parameter}); }
outcome note_agrees(subject& s) { return descriptor_refused_for(s, {refusal::note_differs}); }

/// Everything of a description that must stay, as bytes.
std::string bytes_of(const shunt_plugin& p)
{
    std::string all;
    const auto add = [&](const void* from, std::size_t n) { all.append(static_cast<const char*>(from), n); };
    const auto text = [&](shunt_str t) { add(t.ptr, t.len); };
    add(&p, sizeof p);
    for (const shunt_str t : {p.id, p.version, p.license, p.vendor, p.build_info})
        text(t);
    const auto classes = [&](const auto* const* tables, std::uint32_t n) {
        for (std::uint32_t i = 0; i < n; ++i) {
            add(tables[i], std::min<std::size_t>(tables[i]->struct_size, sizeof *tables[i]));
            text(tables[i]->name);
            text(tables[i]->summary);
            for (std::uint32_t k = 0; k < tables[i]->n_params; ++k) {
                const auto* const param = reinterpret_cast<const char*>(tables[i]->params) + std::size_t{k} * tables[i]->param_stride;
                add(param, sizeof(shunt_param));
            }
        }
    };
    classes(p.selectors, p.n_selectors);
    classes(p.faults, p.n_faults);
    return all;
}

outcome descriptor_stable(subject& s)
{
    (void)s.classes();  // now it may be read as it stands
    const shunt_handshake today = host_handshake();
    const shunt_plugin* const first = s.ask_entry(today);
    if (first == nullptr)
        return failed("its entry answered once, and NULL when asked again");
    const std::string bytes = bytes_of(*first);
    const std::uint64_t before = s.with().memory.allocations != nullptr ? s.with().memory.allocations() : 0;
    bool same = true, allocated = false;
    for (int i = 0; i < 1000 && same; ++i)
        same = s.ask_entry(today) == first;
    if (s.with().memory.allocations != nullptr)
        allocated = s.with().memory.allocations() != before;
    if (!same)
        return failed("its entry answers another descriptor each time; it is static, as long as the file is loaded");
    std::vector<const shunt_plugin*> answers(8, nullptr);
    s.during(phase::entry, [&] {
        std::vector<std::thread> threads;
        for (const shunt_plugin*& a : answers)
            threads.emplace_back([&a, &today, entry = s.entry()] { a = entry(&today); });
        for (std::thread& t : threads)
            t.join();
    });
    for (const shunt_plugin* const a : answers)
        if (a != first)
            return failed("its entry answers something else to another thread");
    if (bytes_of(*first) != bytes)
        return failed("its descriptor changed between two calls of the entry");
    return allocated ? failed("its entry allocates memory") : outcome{};
}

outcome other_hosts(subject& s)
{
    (void)s.classes();
    const struct {
        shunt_handshake known;
        std::uint64_t later[4];
    } next{{sizeof next, SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR + 9, {"9.0", 3}}, {~0ull, ~0ull, ~0ull, ~0ull}};
    if (s.ask_entry(next.known) == nullptr)
        return failed(fmt::format("refuses a host of ABI {}; a host of 1.x loads every plugin of 1.y with y <= x",
                                  abi_text(next.known.abi_major, next.known.abi_minor)));
    // One that says no version; what it lacks counts as zero.
    const shunt_handshake shorter{offsetof(shunt_handshake, host_version), SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR, {nullptr, ~std::uint64_t{0}}};
    if (s.ask_entry(shorter) == nullptr)
        return failed("refuses a host whose handshake ends before host_version; what is missing counts as zero");
    const shunt_handshake other{sizeof other, SHUNT_ABI_MAJOR + 1, 0, {"99", 2}};
    if (s.ask_entry(other) != nullptr)
        return warned(fmt::format("gives a host of ABI {} its descriptor of ABI {}; it should answer NULL", abi_text(other.abi_major, 0),
                                  abi_text(SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR)));
    return {};
}

outcome texts(subject& s)
{
    constexpr std::size_t longest = 1000;
    std::vector<std::string> wrong;
    const auto judge = [&](std::string_view what, std::string_view text, bool required) {
        if (required && text.empty())
            wrong.push_back(fmt::format("{} is empty", what));
        if (text.size() > longest)
            wrong.push_back(fmt::format("{} has {} bytes; at most {} are shown", what, text.size(), longest));
        for (const char c : text)
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
                wrong.push_back(fmt::format("{} is {}; it must be one line without control characters", what, in_quotes(text.substr(0, 40))));
                break;
            }
    };
    const auto& all = s.classes();
    judge("the plugin's id", all.front()->plugin_id, true);
    judge("the plugin's version", all.front()->version, true);
    judge("the plugin's license", all.front()->license, false);
    judge("the plugin's vendor", all.front()->vendor, false);
    for (const auto& c : all) {
        judge(fmt::format("the summary of {}", c->name), c->summary, true);
        for (const strategy::parameter& p : c->parameters) {
            judge(fmt::format("the help of {}.{}", c->name, p.name), p.help, true);
            judge(fmt::format("the unit of {}.{}", c->name, p.name), p.unit, false);
        }
    }
    return wrong.empty() ? outcome{} : failed(fmt::format("{}", fmt::join(wrong, "; ")));
}

constexpr std::array all{
    rule{"loads", scope::code, true, "it loads, and what runs then ends well",
         "Constructors of static objects run in the program when the file is loaded. They should do nothing; they must not throw, wait or end the process.",
         loads},
    rule{"symbols-found", scope::code, true, "everything it calls is defined",
         "All symbols are bound when a plugin is loaded, so that nothing is missing in the middle of a send. Link with -Wl,-z,defs to find it at home; "
         "a missing version means that it was built on a newer system.",
         symbols_found},
    rule{"entry-answers", scope::code, true, "its entry answers this host, and throws nothing",
         "The entry is asked first. It is pure, allocates nothing and may be called often. NULL means: not for this host.", entry_answers},
    rule{"descriptor", scope::code, true, "its descriptor and tables have the right magic, sizes and functions",
         "A host copies min(struct_size, its own size) of each struct, so sizes must be true and reserved members zero. SHUNT_PLUGIN fills the tables.",
         descriptor},
    rule{"strategy-names", scope::code, true, "its strategies have names of a-z, 0-9 and '-'",
         "Users write these names in files, and tools list them.", strategy_names},
    rule{"parameters", scope::code, true, "its parameters are declared sanely, defaults within their ranges",
         "The host checks files against the declarations, shows them to users and fills in defaults. A default that its own range refuses makes the "
         "strategy unusable.",
         parameters},
    rule{"note-agrees", scope::code, true, "its note names what its descriptor has",
         "A folder's listing is made from notes, without loading. It would promise what loading does not keep.", note_agrees},
    rule{"descriptor-stable", scope::code, false, "its entry gives the same descriptor each time, from any thread, without allocating",
         "Tables are static data. Hosts ask more than once, and keep what they got as long as the file is loaded.", descriptor_stable},
    rule{"other-hosts", scope::code, false, "it takes hosts of later minors, and refuses other majors",
         "A host of 1.x loads every plugin of 1.y with y <= x; its handshake may be longer than yours. Compare abi_major, nothing else.", other_hosts},
    rule{"texts", scope::code, false, "what people read of it is there, short and one line each",
         "`plugin list`, `plugin describe`, the log and the reference page show these texts: id, version, summaries, the help of each parameter.", texts},
};

}  // namespace

std::span<const rule> code_rules() { return all; }

}  // namespace shunt::plugin::check
