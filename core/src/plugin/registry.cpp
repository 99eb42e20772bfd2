#include <plugin/registry.hpp>

#include <plugin/descriptor.hpp>
#include <plugin/image.hpp>
#include <plugin/linked_plugins.hpp>
#include <plugin/refuse.hpp>

#include <fmt/format.h>

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace shunt::plugin {

namespace {

namespace fs = std::filesystem;
using strategy::in_quotes;
using strategy::strategy_class_ptr;
using strategy::strategy_kind;
using strategy::strategy_origin;

// A strategy somewhere. The first offer of a (kind, name) is the one that counts, even if it is broken: to run another
// file in its place silently would be worse.
struct offer {
    known_strategy what;
    load_error broken;
    bool of_any_kind = false;   // named by [plugins.load], and the file does not tell
    std::string pin;
    strategy_class_ptr linked;
    std::vector<known_strategy> instead{};  // what a file offers that was named for something else
};

}  // namespace

struct registry::state {
    plugin_options options;
    std::string default_folder;
    std::vector<offer> offers;  // by precedence
    std::vector<std::string> warnings;
    std::vector<std::string> passed_over;  // files of which not even the names are known
    std::mutex mutex;
    std::map<std::pair<std::string, std::string>, std::vector<strategy_class_ptr>> loaded;  // by file and sha256

    void warn(const elf_facts& facts) { warnings.insert(warnings.end(), facts.warnings.begin(), facts.warnings.end()); }

    // ---- looking ----

    void look_at_named_file(const std::string& name, const plugin_file& entry)
    {
        elf_facts facts;
        const load_error broken = inspect_file(entry.file, facts);
        warn(facts);
        if (broken)
            warnings.push_back(broken.text);
        bool offered = false;
        for (const known_strategy& s : facts.strategies) {
            if (s.name != name)
                continue;
            offered = true;
            offers.push_back({s, broken, false, entry.sha256, nullptr});
        }
        if (offered)
            return;
        offer missing;
        missing.what = {name, strategy_kind::selector, entry.file, strategy_origin::file};
        missing.of_any_kind = true;
        missing.broken = broken ? broken
                                : refuse(entry.file, refusal::unknown_strategy, fmt::format("offers {}", names_of(facts)),
                                         fmt::format("a file under [plugins.load.{}] must offer {}", name, name));
        missing.instead = facts.strategies;
        offers.push_back(std::move(missing));
    }

    static std::string names_of(const elf_facts& facts)
    {
        std::vector<std::string> names;
        for (const known_strategy& s : facts.strategies)
            names.push_back(fmt::format("{} {}", to_string(s.kind), in_quotes(s.name)));
        return fmt::format("{}", fmt::join(names, ", "));
    }

    void look_into_folder(const std::string& folder, strategy_origin origin)
    {
        std::error_code failure;
        std::vector<std::string> files;
        for (fs::directory_iterator i(folder, failure), end; !failure && i != end; i.increment(failure)) {
            const std::string name = i->path().filename().string();
            std::error_code ignored;
            if (name.ends_with(".so") && !name.starts_with('.') && !i->is_directory(ignored))
                files.push_back(i->path().string());
        }
        if (failure) {
            warnings.push_back(fmt::format("plugin folder {}: {}; name folders that are there under [plugins] path", in_quotes(folder),
                                           failure.message()));
            return;
        }
        std::sort(files.begin(), files.end());
        std::set<fs::path> seen;  // several names for one file are one file
        const std::size_t first_of_folder = offers.size();
        for (const std::string& file : files) {
            const fs::path real = fs::canonical(file, failure);
            if (!failure && !seen.insert(real).second)
                continue;
            elf_facts facts;
            const load_error broken = inspect_file(file, facts);
            warn(facts);
            if (broken) {
                warnings.push_back(broken.text);
                if (facts.strategies.empty())
                    passed_over.push_back(broken.text);
            }
            for (known_strategy& s : facts.strategies) {
                s.origin = origin;
                const auto twin = std::find_if(offers.begin() + static_cast<std::ptrdiff_t>(first_of_folder), offers.end(),
                                               [&](const offer& o) { return o.what.kind == s.kind && o.what.name == s.name; });
                if (twin == offers.end())
                    offers.push_back({std::move(s), broken, false, {}, nullptr});
                else
                    twin->broken = {refusal::duplicate_name,
                                    fmt::format("{} {}: both {} and {} offer it; take one out of the folder, or name one under "
                                                "[plugins.load.{}]",
                                                to_string(s.kind), in_quotes(s.name), in_quotes(twin->what.file), in_quotes(file), s.name)};
            }
        }
    }

    void look_at_linked()
    {
        for (const linked_plugin& p : linked_plugins()) {
            provenance from;
            from.file = fmt::format("{} (linked)", p.name);
            from.origin = strategy_origin::linked;
            std::vector<strategy_class_ptr> classes;
            if (const load_error e = describe_plugin(p.entry, from, classes)) {
                warnings.push_back(e.text);
                continue;
            }
            for (const strategy_class_ptr& c : classes) {
                auto copy = std::make_shared<strategy::strategy_class>(*c);
                copy->file.clear();
                offers.push_back({{copy->name, copy->kind, {}, strategy_origin::linked}, {}, false, {}, copy});
            }
        }
    }

    [[nodiscard]] const offer* first_of(strategy_kind kind, std::string_view name) const
    {
        const auto o = std::find_if(offers.begin(), offers.end(), [&](const offer& x) {
            return x.what.name == name && (x.what.kind == kind || x.of_any_kind);
        });
        return o == offers.end() ? nullptr : &*o;
    }

    [[nodiscard]] std::vector<std::string> names(strategy_kind kind) const
    {
        std::set<std::string> all;
        for (const offer& o : offers)
            if (o.what.kind == kind && !o.of_any_kind)
                all.insert(o.what.name);
        return {all.begin(), all.end()};
    }

    [[nodiscard]] load_error unknown(strategy_kind kind, std::string_view name) const
    {
        const std::vector<std::string> there = names(kind);
        const std::string list = there.empty() ? "there is none" : fmt::format("known ones are {}", fmt::join(there, ", "));
        const strategy_kind other = kind == strategy_kind::selector ? strategy_kind::fault : strategy_kind::selector;
        if (const offer* const o = first_of(other, name))
            return {refusal::wrong_kind,
                    fmt::format("{} {}: it is a {}{}; {}", to_string(kind), in_quotes(name),
                                other == strategy_kind::fault ? "fault strategy" : "selector",
                                o->what.file.empty() ? "" : fmt::format(", in {}", in_quotes(o->what.file)), list)};
        for (const offer& o : offers)
            for (const known_strategy& s : o.instead)
                if (s.kind == kind && s.name == name)
                    return {refusal::wrong_name,
                            fmt::format("{} {}: {} offers it, and is named under [plugins.load.{}]; the table's name must be the strategy's: "
                                        "[plugins.load.{}]",
                                        to_string(kind), in_quotes(name), in_quotes(o.what.file), o.what.name, name)};
        std::string text = fmt::format("{} {}: no such strategy; {}", to_string(kind), in_quotes(name), list);
        if (const std::string near = strategy::closest(name, there); !near.empty())
            text += fmt::format("; did you mean '{}'?", near);
        for (const std::string& file : passed_over)
            text += fmt::format("; passed over: {}", file);
        if (there.empty()) {
            std::vector<std::string> looked = options.path;
            if (options.path.empty() && !default_folder.empty())
                looked.push_back(default_folder);
            text += looked.empty() ? "; no plugin folder was found beside the program or where shunt was installed: name one in [plugins] path"
                                   : fmt::format("; looked in {}", fmt::join(looked, ", "));
            if (!options.path.empty())
                text += " ([plugins] path takes the place of the bundled plugins' folder)";
        }
        return {refusal::unknown_strategy, std::move(text)};
    }

    // ---- loading ----

    load_error load(const std::string& file, const std::string& pin, strategy_origin origin, std::vector<strategy_class_ptr>& out)
    {
        file_content content;
        if (load_error e = read_file(file, path_rules::strict, content))
            return e;
        if (load_error e = check_pin(content, pin))
            return e;
        const auto key = std::pair(file, content.sha256);
        {
            const std::lock_guard lock(mutex);
            if (const auto known = loaded.find(key); known != loaded.end()) {
                out = known->second;
                return {};
            }
        }
        elf_facts facts;
        if (load_error e = inspect_bytes(file, content.bytes, facts))
            return e;
        std::shared_ptr<const image> code;
        if (load_error e = load_image(content, options.max_images, code))
            return e;
        shunt_entry_fn entry = nullptr;
        if (load_error e = entry_of(*code, file, entry))
            return e;
        if (load_error e = describe_plugin(entry, {file, content.sha256, origin, code, &facts}, out))
            return e;
        const std::lock_guard lock(mutex);
        out = loaded.emplace(key, out).first->second;  // another thread may have been first: all see its classes
        return {};
    }
};

registry::registry(plugin_options options, std::string default_folder) : state_(std::make_unique<state>())
{
    state& s = *state_;
    s.options = std::move(options);
    s.default_folder = std::move(default_folder);
    // What the file says comes before what is linked in, and that before what just lies there.
    for (const auto& [name, file] : s.options.load)
        s.look_at_named_file(name, file);
    for (const std::string& folder : s.options.path) {
        std::error_code ignored;
        const bool bundled = !s.default_folder.empty() && fs::equivalent(folder, s.default_folder, ignored);
        s.look_into_folder(folder, bundled ? strategy_origin::bundled : strategy_origin::file);
    }
    s.look_at_linked();
    if (s.options.path.empty() && !s.default_folder.empty())
        s.look_into_folder(s.default_folder, strategy_origin::bundled);
}

registry::~registry() = default;

strategy_class_ptr registry::find(strategy_kind kind, std::string_view name, load_error& error)
{
    error = {};
    const offer* const o = state_->first_of(kind, name);
    if (o == nullptr || o->broken) {
        error = o == nullptr ? state_->unknown(kind, name) : o->broken;
        return nullptr;
    }
    if (o->linked)
        return o->linked;
    std::vector<strategy_class_ptr> classes;
    error = state_->load(o->what.file, o->pin, o->what.origin, classes);
    if (error)
        return nullptr;
    for (const strategy_class_ptr& c : classes)
        if (c->kind == kind && c->name == name)
            return c;
    error = refuse(o->what.file, refusal::unknown_strategy, fmt::format("no longer offers {} {}", to_string(kind), in_quotes(name)),
                   "the file was replaced by another plugin; put the right one there");
    return nullptr;
}

std::vector<known_strategy> registry::known() const
{
    std::map<std::pair<std::string, strategy_kind>, known_strategy> first;
    for (const offer& o : state_->offers)
        if (state_->first_of(o.what.kind, o.what.name) == &o && !o.broken)
            first.emplace(std::pair(o.what.name, o.what.kind), o.what);
    std::vector<known_strategy> all;
    for (auto& [key, s] : first)
        all.push_back(std::move(s));
    return all;
}

const std::vector<std::string>& registry::warnings() const noexcept { return state_->warnings; }

std::vector<strategy_class_ptr> registry::load_file(const std::string& file, const std::string& sha256, load_error& error)
{
    std::vector<strategy_class_ptr> classes;
    error = state_->load(file, sha256, strategy_origin::file, classes);
    if (error)
        classes.clear();
    return classes;
}

}  // namespace shunt::plugin

/// Where the installation's plugins lie, as find_package(shunt) told the program: see shuntConfig.cmake.in.
extern "C" __attribute__((weak)) const char* shunt_installed_plugin_folder();

namespace shunt::plugin {

std::string bundled_folder()
{
    std::vector<fs::path> places;
    std::error_code ignored;
    Dl_info info{};
    link_map* map = nullptr;
    // A library lies in PREFIX/lib or PREFIX/lib/MACHINE, or somewhere in the build tree; the program's map has no name.
    if (::dladdr1(reinterpret_cast<const void*>(&bundled_folder), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0 &&
        map != nullptr && map->l_name != nullptr && *map->l_name != '\0')
        if (const fs::path library = fs::canonical(map->l_name, ignored); !ignored)
            places.push_back(library.parent_path());
    if (const fs::path program = fs::read_symlink("/proc/self/exe", ignored); !ignored)
        places.push_back(program.parent_path());
    for (const fs::path& place : places)
        for (const fs::path& folder : {place / "../lib/shunt/plugins", place / "shunt/plugins", place / "../shunt/plugins"})
            if (fs::is_directory(folder, ignored))
                return fs::canonical(folder, ignored).string();
    if (&shunt_installed_plugin_folder != nullptr && fs::is_directory(shunt_installed_plugin_folder(), ignored))
        return fs::canonical(shunt_installed_plugin_folder(), ignored).string();
    return fs::is_directory(SHUNT_INSTALL_PLUGIN_DIR, ignored) ? SHUNT_INSTALL_PLUGIN_DIR : std::string();
}

}  // namespace shunt::plugin
