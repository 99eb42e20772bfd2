#include "options_file.hpp"

#include "console.hpp"

#include <config/certificates.hpp>
#include <config/credentials.hpp>

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace shunt::cli {

config::loaded read_with_strategies(const std::string& file, std::vector<config::problem>& problems,
                                    std::unique_ptr<plugin::registry>& strategies)
{
    config::loaded loaded = config::load_file(file, problems);
    strategies = std::make_unique<plugin::registry>(loaded.options.plugins, plugin::bundled_folder());
    // A file that cannot be read, or is no TOML, has one problem, of no key: it names no strategies.
    if (problems.size() == 1 && problems.front().key.empty())
        return loaded;
    config::check_strategies(loaded.options, *strategies, problems);
    if (problems.empty()) {
        (void)config::read_credentials(loaded.options.acl, problems);
        (void)config::read_certificates(loaded.options.tls, problems);
    }
    config::sort_by_place(problems);
    return loaded;
}

std::optional<config::loaded> load_options(std::string_view command, const std::string& file, strategies matter)
{
    std::vector<config::problem> problems;
    std::unique_ptr<plugin::registry> registry;
    config::loaded loaded =
        matter == strategies::checked ? read_with_strategies(file, problems, registry) : config::load_file(file, problems);
    for (const config::problem& p : problems)
        complain(command, config::to_string(p));
    if (!problems.empty())
        return std::nullopt;
    return loaded;
}

std::string in_words(std::string_view policy, std::string_view binding)
{
    return fmt::format("{} ({})", policy, binding.empty() ? "no binding names the topic" : fmt::format("binding \"{}\"", binding));
}

std::optional<producer> make_producer(std::string_view command, producer_options options, endpoint admin)
{
    if (admin == endpoint::none)
        options.admin.listen.clear();
    auto made = producer::create(std::move(options));
    if (made)
        return std::move(*made);
    complain(command, made.error().text);
    return std::nullopt;
}

counters close_and_count(producer& p, std::chrono::milliseconds deadline)
{
    p.close(deadline);
    return p.counters();
}

bool can_be_asked(std::string_view command, const producer_options& options)
{
    if (!options.embedded)
        return true;
    complain(command, fmt::format("{}: embedded = true means a cluster inside the sending process, which is gone when that ends; "
                                  "there is nothing to read from another process. Start `shunt cluster` and put its address into "
                                  "name_servers",
                                  options.file));
    return false;
}

}  // namespace shunt::cli
