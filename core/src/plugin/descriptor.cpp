#include <plugin/descriptor.hpp>

#include <plugin/image.hpp>
#include <plugin/refuse.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace shunt::plugin {

namespace {

using strategy::in_quotes;
using strategy::strategy_kind;

// A struct may end after its last required member: an older header had no more. It never ends within one.
constexpr std::size_t smallest_plugin = offsetof(shunt_plugin, faults) + sizeof(void*);
constexpr std::size_t smallest_selector = offsetof(shunt_selector_class, wants);
constexpr std::size_t smallest_fault = offsetof(shunt_fault_class, export_state);
constexpr std::size_t smallest_param = sizeof(shunt_param);
constexpr std::size_t largest_struct = 4096;
constexpr std::uint32_t most_elements = 1024;
constexpr std::uint64_t longest_text = 64 * 1024;

constexpr std::uint32_t known_selector_flags = SHUNT_F_CONCURRENT | SHUNT_F_DETERMINISTIC | SHUNT_F_WANTS_HASH64 |
                                               SHUNT_F_WANTS_JAVA_HASH | SHUNT_F_WANTS_PROPS | SHUNT_F_FILTER;
constexpr std::uint32_t known_param_flags = SHUNT_P_REQUIRED;

// One thing wrong, said of the file: what was found; what would be right.
struct fault_found {
    refusal why = refusal::bad_descriptor;
    std::string found;
    std::string right = "rebuild it with the sdk";
};
using verdict = std::optional<fault_found>;

verdict check_size(std::string_view what, std::size_t size, std::size_t smallest, refusal why)
{
    if (size >= smallest && size <= largest_struct && size % 8 == 0)
        return {};
    return fault_found{why, fmt::format("{} is {} bytes", what, size),
                       fmt::format("it must be at least {}, and whole members", smallest)};
}

// Copies the struct at `from`, which says its own size at `size_at`; what an older plugin lacks stays zero.
template <typename T>
verdict copy_struct(std::string_view what, const void* from, std::size_t size_at, std::size_t smallest, refusal why, T& out)
{
    std::uint32_t size = 0;
    std::memcpy(&size, static_cast<const char*>(from) + size_at, sizeof size);
    if (verdict v = check_size(what, size, smallest, why))
        return v;
    out = {};
    std::memcpy(&out, from, std::min<std::size_t>(size, sizeof out));
    return {};
}

bool copy_text(shunt_str from, std::string& out)
{
    if (from.len > longest_text || (from.ptr == nullptr && from.len != 0))
        return false;
    if (from.len != 0)
        out.assign(from.ptr, from.len);
    for (std::string_view rest = out; !rest.empty();) {
        const std::size_t n = strategy::utf8_length(rest);
        if (n == 0)
            return false;
        rest.remove_prefix(n);
    }
    return true;
}

class descriptor_reader {
public:
    descriptor_reader(const shunt_plugin* d, const provenance& from, std::vector<strategy::strategy_class_ptr>& out)
        : descriptor_(d), from_(from), out_(out)
    {}

    verdict read()
    {
        if (verdict v = read_plugin())
            return v;
        if (verdict v = read_classes<shunt_selector_class>(strategy_kind::selector, plugin_.n_selectors, plugin_.selectors))
            return v;
        if (verdict v = read_classes<shunt_fault_class>(strategy_kind::fault, plugin_.n_faults, plugin_.faults))
            return v;
        if (out_.empty())
            return fault_found{refusal::bad_descriptor, "it describes no strategy"};
        return compare_with_note();
    }

private:
    verdict read_plugin()
    {
        std::uint64_t magic = 0;
        std::memcpy(&magic, descriptor_, sizeof magic);
        if (magic != SHUNT_MAGIC)
            return fault_found{refusal::bad_descriptor,
                               fmt::format("its descriptor begins with {:#018x}, not {:#018x}", magic, SHUNT_MAGIC)};
        if (verdict v = copy_struct("its descriptor", descriptor_, offsetof(shunt_plugin, struct_size), smallest_plugin,
                                    refusal::bad_descriptor, plugin_))
            return v;
        if (plugin_.abi_major != SHUNT_ABI_MAJOR)
            return fault_found{refusal::abi_major,
                               fmt::format("its descriptor speaks shunt ABI {}, this shunt speaks {}",
                                           abi_text(plugin_.abi_major, plugin_.abi_minor),
                                           abi_text(SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR)),
                               fmt::format("rebuild it with the {}.x sdk", SHUNT_ABI_MAJOR)};
        newer_ = plugin_.abi_minor > SHUNT_ABI_MINOR;
        if (from_.noted != nullptr && from_.noted->abi_minor != plugin_.abi_minor)
            return fault_found{refusal::note_differs,
                               fmt::format("its note speaks of ABI {}, its descriptor of {}",
                                           abi_text(from_.noted->abi_major, from_.noted->abi_minor),
                                           abi_text(plugin_.abi_major, plugin_.abi_minor))};
        strategy::strategy_class& c = common_;
        for (const auto& [text, to, name] :
             {std::tuple{plugin_.id, &c.plugin_id, "id"}, {plugin_.version, &c.version, "version"},
              {plugin_.license, &c.license, "license"}, {plugin_.vendor, &c.vendor, "vendor"},
              {plugin_.build_info, &c.build_info, "build_info"}})
            if (!copy_text(text, *to))
                return fault_found{refusal::bad_descriptor, fmt::format("its {} is no UTF-8 text", name)};
        if (c.plugin_id.empty())
            return fault_found{refusal::bad_descriptor, "its id is empty"};
        c.abi_major = plugin_.abi_major;
        c.abi_minor = plugin_.abi_minor;
        c.file = from_.file;
        c.sha256 = from_.sha256;
        c.origin = from_.origin;
        c.image = from_.image;
        return {};
    }

    template <typename Class>
    verdict read_classes(strategy_kind kind, std::uint32_t count, const Class* const* classes)
    {
        if (count == 0)
            return {};
        if (count > most_elements || classes == nullptr)
            return fault_found{refusal::bad_descriptor,
                               fmt::format("it says {} {} tables{}", count, to_string(kind), classes == nullptr ? " and gives none" : ""),
                               fmt::format("it must give each, and at most {}", most_elements)};
        for (std::uint32_t i = 0; i < count; ++i) {
            if (classes[i] == nullptr)
                return fault_found{refusal::bad_descriptor, fmt::format("its {} table {} is NULL", to_string(kind), i)};
            auto c = std::make_shared<strategy::strategy_class>(common_);
            c->kind = kind;
            if (verdict v = read_class(classes[i], i, *c))
                return v;
            for (const auto& other : out_)
                if (other->kind == kind && other->name == c->name)
                    return fault_found{refusal::bad_class, fmt::format("it describes {} {} twice", to_string(kind), in_quotes(c->name))};
            out_.push_back(std::move(c));
        }
        return {};
    }

    static constexpr std::size_t smallest(const shunt_selector_class&) noexcept { return smallest_selector; }
    static constexpr std::size_t smallest(const shunt_fault_class&) noexcept { return smallest_fault; }

    // What this kind needs; the name of the first that lacks, or nothing.
    static const char* lacks(const shunt_selector_class& t) noexcept
    {
        return t.create == nullptr ? "create"
             : t.destroy == nullptr ? "destroy"
             : t.select == nullptr ? "select"
             : (t.flags & SHUNT_F_FILTER) != 0 && t.filter == nullptr ? "filter"
                                                                      : nullptr;
    }
    static const char* lacks(const shunt_fault_class& t) noexcept
    {
        return t.create == nullptr ? "create"
             : t.destroy == nullptr ? "destroy"
             : t.evaluate == nullptr ? "evaluate"
             : t.on_feedback == nullptr ? "on_feedback"
                                        : nullptr;
    }
    static constexpr std::uint32_t known_flags(const shunt_selector_class&) noexcept { return known_selector_flags; }
    static constexpr std::uint32_t known_flags(const shunt_fault_class&) noexcept { return 0; }

    template <typename Class>
    verdict read_class(const Class* from, std::uint32_t index, strategy::strategy_class& c)
    {
        const auto bad = [](std::string found, std::string right = "rebuild it with the sdk") {
            return fault_found{refusal::bad_class, std::move(found), std::move(right)};
        };
        Class t{};
        if (verdict v = copy_struct(fmt::format("its {} table {}", to_string(c.kind), index), from, 0, smallest(t),
                                    refusal::bad_class, t))
            return v;
        if (!copy_text(t.name, c.name) || !is_strategy_name(c.name))
            return fault_found{refusal::bad_name, fmt::format("its {} table {} is called {}", to_string(c.kind), index, in_quotes(c.name)),
                               "a name is made of a-z, 0-9 and '-'"};
        const std::string what = fmt::format("its {} {}", to_string(c.kind), in_quotes(c.name));
        if (!copy_text(t.summary, c.summary))
            return bad(what + " has a summary that is no UTF-8 text");
        // A later minor may give meaning to what is reserved here; its min_host_minor says that we need not know it.
        if (!newer_ && t.reserved0 != 0)
            return bad(fmt::format("{} has a reserved member of {}", what, t.reserved0), "it must be 0");
        if (!newer_ && (t.flags & ~known_flags(t)) != 0)
            return bad(fmt::format("{} has flags {:#x}, of which this ABI does not know {:#x}", what, t.flags, t.flags & ~known_flags(t)));
        if (const char* const missing = lacks(t))
            return bad(fmt::format("{} has no function {}", what, missing), "it must have one");
        if (verdict v = read_params(what, t, c))
            return v;
        t.struct_size = sizeof t;
        c.table = t;
        return {};
    }

    template <typename Class>
    verdict read_params(const std::string& what, const Class& t, strategy::strategy_class& c)
    {
        const auto bad = [&](std::string found, std::string right = "rebuild it with the sdk") {
            return fault_found{refusal::bad_parameter, fmt::format("{} {}", what, found), std::move(right)};
        };
        if (t.n_params == 0)
            return {};
        if (t.n_params > most_elements || t.params == nullptr)
            return bad(fmt::format("says {} parameters{}", t.n_params, t.params == nullptr ? " and gives none" : ""));
        if (verdict v = check_size(fmt::format("the param_stride of {}", what.substr(4)), t.param_stride, smallest_param, refusal::bad_parameter))
            return v;
        std::set<std::string> names;
        for (std::uint32_t i = 0; i < t.n_params; ++i) {
            shunt_param raw{};
            std::memcpy(&raw, reinterpret_cast<const char*>(t.params) + std::size_t{i} * t.param_stride,
                        std::min<std::size_t>(t.param_stride, sizeof raw));
            strategy::parameter p;
            std::string choices;
            if (!copy_text(raw.name, p.name) || !copy_text(raw.help, p.help) || !copy_text(raw.unit, p.unit) ||
                !copy_text(raw.default_text, p.default_text) || !copy_text(raw.choices, choices))
                return bad(fmt::format("has a parameter {} with a text that is no UTF-8", i));
            for (std::size_t at = 0; !choices.empty() && at <= choices.size();) {
                const std::size_t end = std::min(choices.find('|', at), choices.size());
                p.choices.push_back(choices.substr(at, end - at));
                at = end + 1;
            }
            p.type = raw.type;
            p.element_type = raw.element_type;
            p.required = (raw.flags & SHUNT_P_REQUIRED) != 0;
            p.min_count = raw.min_count;
            p.min = raw.min;
            p.max = raw.max;
            if (!newer_ && (raw.flags & ~known_param_flags) != 0)
                return bad(fmt::format("has a parameter {} with unknown flags {:#x}", in_quotes(p.name), raw.flags));
            if (std::string wrong = strategy::wrong_with(p); !wrong.empty())
                return bad(fmt::format("declares a parameter {} badly: {}", in_quotes(p.name), wrong), "correct the declaration");
            if (!names.insert(p.name).second)
                return bad(fmt::format("declares the parameter {} twice", in_quotes(p.name)), "correct the declaration");
            c.parameters.push_back(std::move(p));
        }
        return {};
    }

    // Otherwise a folder's listing would promise what loading does not keep.
    verdict compare_with_note() const
    {
        if (from_.noted == nullptr)
            return {};
        std::set<std::string> noted, described;
        for (const known_strategy& s : from_.noted->strategies)
            noted.insert(fmt::format("{}:{}", to_string(s.kind), s.name));
        for (const auto& c : out_)
            described.insert(fmt::format("{}:{}", to_string(c->kind), c->name));
        if (noted == described)
            return {};
        return fault_found{refusal::note_differs, fmt::format("its note names {}, its descriptor {}", fmt::join(noted, ", "),
                                                                fmt::join(described, ", "))};
    }

    const shunt_plugin* descriptor_;
    const provenance& from_;
    std::vector<strategy::strategy_class_ptr>& out_;
    shunt_plugin plugin_{};
    strategy::strategy_class common_;
    bool newer_ = false;
};

}  // namespace

load_error describe_plugin(shunt_entry_fn entry, const provenance& from, std::vector<strategy::strategy_class_ptr>& out)
{
    out.clear();
    const shunt_handshake handshake = host_handshake();
    const shunt_plugin* descriptor = nullptr;
    try {
        descriptor = entry(&handshake);
    } catch (...) {
        return refuse(from.file, refusal::entry_threw, "its entry threw an exception", "no exception may leave a plugin");
    }
    if (descriptor == nullptr)
        return refuse(from.file, refusal::null_descriptor,
                      fmt::format("its entry refuses this host, which speaks shunt ABI {}", abi_text(SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR)),
                      "ask its author for a build that takes it");
    if (const verdict v = descriptor_reader(descriptor, from, out).read()) {
        out.clear();
        return refuse(from.file, v->why, v->found, v->right);
    }
    return {};
}

}  // namespace shunt::plugin
