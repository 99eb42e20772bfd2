#include <config/credentials.hpp>

#include <config/keys.hpp>
#include <config/load.hpp>
#include <config/toml_text.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <string>

namespace shunt::config {

namespace {

void read_file(const std::string& file, credentials& out, std::vector<problem>& problems)
{
    const auto text = read_text_file(file, problems);
    if (!text)
        return;
    const setting root = parse_toml(*text, file, problems);
    if (!problems.empty())
        return;
    table_reader reader(root, "", problems);
    each_credential_key([&](std::string_view key, const auto& rule, auto member, std::string_view) { (void)reader.read(key, rule, out.*member); });
    (void)reader.finish();
    if (problems.empty())
        check_credentials(out, root.where, "", problems);
}

void read_environment(const std::string& prefix, credentials& out, std::vector<problem>& problems)
{
    const auto variable = [&](std::string_view name) {
        const char* value = std::getenv(fmt::format("{}_{}", prefix, name).c_str());
        return std::string(value != nullptr ? value : "");
    };
    out = {variable("ACCESS_KEY"), variable("SECRET_KEY"), variable("SECURITY_TOKEN")};
    if (!out.access_key.empty() && !out.secret_key.empty())
        return check_credentials(out, {}, fmt::format("credentials in {}_*: ", prefix), problems);
    const std::string missing = fmt::format("{}_{}", prefix, out.access_key.empty() ? "ACCESS_KEY" : "SECRET_KEY");
    add_problem(problems, {}, "acl.environment", in_marks(prefix), fmt::format("such that the variable {} is set", missing));
}

void ask(const std::function<credentials()>& provider, credentials& out, std::vector<problem>& problems)
{
    try {
        out = provider();
    } catch (const std::exception& e) {
        add_problem(problems, {}, "acl.provider", fmt::format("a function that threw '{}'", printable(e.what(), 200)), "one that answers");
        return;
    } catch (...) {
        add_problem(problems, {}, "acl.provider", "a function that threw something", "one that answers");
        return;
    }
    check_credentials(out, {}, "acl.provider: ", problems);
}

}  // namespace

void check_credentials(const credentials& c, const source_position& where, std::string_view prefix, std::vector<problem>& problems)
{
    const std::size_t before = problems.size();
    each_credential_key([&](std::string_view key, const auto& rule, auto member, std::string_view) {
        check_value(c.*member, rule, fmt::format("{}{}", prefix, key), where, problems);
    });
    if (problems.size() != before)
        return;
    if (c.access_key.empty())
        add_problem(problems, where, fmt::format("{}access_key", prefix), "not set", "the access key that goes with the secret");
    if (c.secret_key.empty())
        add_problem(problems, where, fmt::format("{}secret_key", prefix), "not set", "the secret that goes with the access key");
}

std::optional<credentials> read_credentials(const acl_options& from, std::vector<problem>& problems)
{
    credentials out = from.keys;
    std::vector<problem> found;
    if (!from.file.empty())
        read_file(from.file, out, found);
    else if (!from.environment.empty())
        read_environment(from.environment, out, found);
    else if (from.provider != nullptr)
        ask(from.provider, out, found);
    problems.insert(problems.end(), found.begin(), found.end());
    if (!found.empty() || out.access_key.empty())
        return std::nullopt;
    return out;
}

}  // namespace shunt::config
