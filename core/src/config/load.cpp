#include <config/load.hpp>

#include <config/credentials.hpp>
#include <config/keys.hpp>
#include <config/names.hpp>
#include <config/tables.hpp>
#include <config/text_scan.hpp>
#include <config/toml_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

namespace shunt::config {

namespace {

using std::chrono::milliseconds;

constexpr std::string_view servers_expected = "an array of name servers: [\"HOST:PORT\", ...]";

// What is known of keys while the whole is judged: where they stand, and which were refused already and say nothing.
struct key_book {
    std::map<std::string, source_position, std::less<>> places;
    std::set<std::string, std::less<>> wrong;

    [[nodiscard]] bool all_right(std::initializer_list<std::string_view> keys) const
    {
        return std::none_of(keys.begin(), keys.end(), [&](std::string_view k) { return wrong.count(k) != 0; });
    }
    [[nodiscard]] bool has(std::string_view key) const { return places.count(key) != 0; }
    [[nodiscard]] source_position place(std::string_view key, const source_position& otherwise = {}) const
    {
        const auto found = places.find(key);
        return found != places.end() ? found->second : otherwise;
    }
};

// ---- what must fit together, in files and in options made in code ----

void check_backoff(const producer_options& o, const key_book& book, std::vector<problem>& problems)
{
    if (!book.all_right({"producer.retry_backoff", "producer.retry_backoff_max"}) || o.retry_backoff <= o.retry_backoff_max)
        return;
    const duration rule{milliseconds(0), o.retry_backoff_max};
    add_problem(problems, book.place("producer.retry_backoff", book.place("producer.retry_backoff_max")),
                "producer.retry_backoff", shown_toml(rule.show(o.retry_backoff)),
                fmt::format("at most retry_backoff_max, which is {}", shown_toml(rule.show(o.retry_backoff_max))));
}

void check_where_to_send(const producer_options& o, const key_book& book, std::vector<problem>& problems)
{
    if (!book.all_right({"producer.name_servers", "producer.name_server_url", "producer.embedded", "producer"}))
        return;
    if (o.name_servers.empty() && o.name_server_url.empty() && !o.embedded)
        add_problem(problems, book.place("producer"), "producer.name_servers", "not set", std::string(servers_expected),
                    "or embedded = true, for a cluster inside this process");
    if (!o.name_server_url.empty() && o.embedded)
        add_problem(problems, book.place("producer.embedded"), "producer.embedded", "true", "false, or name_server_url left out");
    if (!o.name_servers.empty() && o.embedded) {
        const source_position servers = book.place("producer.name_servers");
        add_problem(problems, book.place("producer.embedded"), "producer.embedded", "true",
                    "false, or name_servers left out",
                    servers.line != 0 ? fmt::format("name_servers stands in line {}", servers.line) : "");
    }
}

std::vector<std::string> policy_names(const producer_options& o)
{
    std::vector<std::string> names;
    for (const auto& [name, policy] : o.policies)
        names.push_back(name);
    if (o.policies.find("default") == o.policies.end())
        names.emplace_back("default");
    return names;
}

void check_bindings(const producer_options& o, const key_book& book, std::vector<problem>& problems)
{
    const std::vector<std::string> names = policy_names(o);
    std::map<std::string, std::size_t, std::less<>> seen;
    for (std::size_t i = 0; i < o.bindings.size(); ++i) {
        const binding_options& binding = o.bindings[i];
        const std::string key = fmt::format("bindings[{}]", i);
        if (book.all_right({key + ".topic"})) {
            const auto [first, is_new] = seen.emplace(binding.topic, i);
            if (!is_new) {
                const source_position there = o.bindings[first->second].where;
                add_problem(problems, book.place(key + ".topic", binding.where), key + ".topic", in_marks(binding.topic),
                            "a pattern that no binding before it has",
                            there.line != 0 ? fmt::format("line {} has it", there.line)
                                            : fmt::format("bindings[{}] has it", first->second));
            }
        }
        if (book.all_right({"policies", key + ".policy"}) && !book.wrong.count("policies." + binding.policy) &&
            std::find(names.begin(), names.end(), binding.policy) == names.end())
            add_problem(problems, book.place(key + ".policy", binding.where), key + ".policy", in_marks(binding.policy),
                        "the name of a policy", suggestion(binding.policy, names));
    }
}

void check_limits(const producer_options& o, const key_book& book, std::vector<problem>& problems)
{
    std::map<std::string, std::size_t, std::less<>> seen;
    for (std::size_t i = 0; i < o.limits.size(); ++i) {
        const limit_options& limit = o.limits[i];
        const std::string key = fmt::format("limits[{}]", i), messages = key + ".max_in_flight_messages";
        if (book.all_right({messages, key + ".max_in_flight_bytes"}) && limit.max_in_flight_messages == 0 && limit.max_in_flight_bytes == 0)
            add_problem(problems, limit.where, messages, "not set", "set, or max_in_flight_bytes");
        if (!book.all_right({key + ".topic"}))
            continue;
        const auto [first, is_new] = seen.emplace(limit.topic, i);
        if (!is_new) {
            const source_position there = o.limits[first->second].where;
            add_problem(problems, book.place(key + ".topic", limit.where), key + ".topic", in_marks(limit.topic),
                        "a pattern that no limit before it has",
                        there.line != 0 ? fmt::format("line {} has it", there.line) : fmt::format("limits[{}] has it", first->second));
        }
    }
}

void check_compression(const producer_options& o, const key_book& book, std::vector<problem>& problems)
{
    const int most = o.compress == compression::zlib ? 9 : o.compress == compression::lz4 ? 12 : 22;
    if (book.all_right({"producer.compress", "producer.compress_level"}) && o.compress_level > most)
        add_problem(problems, book.place("producer.compress_level"), "producer.compress_level", std::to_string(o.compress_level),
                    fmt::format("a whole number from 0 to {} for {}", most, o.compress == compression::zlib ? "zlib" : "lz4"));
}

void check_batching(const producer_options& o, const key_book& book, std::vector<problem>& problems)
{
    if (o.auto_batch && book.all_right({"producer.batch_bytes", "producer.max_body"}) && o.batch_bytes > o.max_body)
        add_problem(problems, book.place("producer.batch_bytes", book.place("producer.max_body")), "producer.batch_bytes",
                    shown_toml(byte_size{64, 15 * MiB}.show(o.batch_bytes)),
                    fmt::format("at most max_body, which is {}", shown_toml(byte_size{1, 15 * MiB}.show(o.max_body))));
}

void check_admin(const producer_options& o, const key_book& book, std::vector<problem>& problems)
{
    const admin_options& a = o.admin;
    if (!book.all_right({"admin.listen", "admin.token", "admin.verbs"}) || a.listen.empty() || a.listen.starts_with(unix_prefix) || !a.verbs || !a.token.empty())
        return;
    add_problem(problems, book.place("admin.listen"), "admin.token", "empty", "set where policies may be changed by a port, which every user of this machine reaches",
                "or listen = \"unix:PATH\", or verbs = false");
}

/// What a key says is left out, since another one says it already.
void add_one_too_many(const key_book& book, std::string_view key, std::string found, std::string_view other, std::vector<problem>& problems)
{
    add_problem(problems, book.place(key), std::string(key), std::move(found), fmt::format("left out: {} is set", other));
}

void check_acl(const acl_options& o, const key_book& book, std::vector<problem>& problems)
{
    if (!book.all_right({"acl", "acl.access_key", "acl.secret_key", "acl.security_token", "acl.file", "acl.environment"}))
        return;
    const bool any = !o.keys.access_key.empty() || !o.keys.secret_key.empty() || !o.keys.security_token.empty();
    if (any)
        check_credentials(o.keys, book.place("acl"), "acl.", problems);
    std::string_view source = any ? "acl.access_key" : "";
    const std::array<std::pair<std::string_view, const std::string&>, 2> others{{{"acl.file", o.file}, {"acl.environment", o.environment}}};
    for (const auto& [key, text] : others) {
        if (text.empty())
            continue;
        if (!source.empty())
            add_one_too_many(book, key, in_marks(text), source, problems);
        else
            source = key;
    }
    if (o.provider == nullptr)
        return;
    if (!source.empty())
        add_one_too_many(book, "acl.provider", "a function", source, problems);
    check_value(o.refresh, duration{milliseconds(10), std::chrono::hours(24)}, "acl.refresh", {}, problems);
}

void check_tls(const producer_options& o, const key_book& book, std::vector<problem>& problems)
{
    if (!book.all_right({"tls", "tls.enabled", "tls.certificate", "tls.key"}))
        return;
    const tls_options& t = o.tls;
    if (t.certificate.empty() != t.key.empty()) {
        const std::string_view missing = t.key.empty() ? "tls.key" : "tls.certificate", there = t.key.empty() ? "tls.certificate" : "tls.key";
        add_problem(problems, book.place(there), std::string(missing), "not set", fmt::format("set, for {} is", there));
    }
    if (t.enabled && o.embedded)
        add_problem(problems, book.place("tls.enabled"), "tls.enabled", "true", "false, for the cluster inside this process speaks no TLS",
                    "shunt cluster --tls-certificate does");
}

void check_together(const producer_options& o, const key_book& book, std::vector<problem>& problems)
{
    check_admin(o, book, problems);
    check_batching(o, book, problems);
    check_compression(o, book, problems);
    check_where_to_send(o, book, problems);
    check_backoff(o, book, problems);
    check_bindings(o, book, problems);
    check_limits(o, book, problems);
    check_acl(o.acl, book, problems);
    check_tls(o, book, problems);
}

// ---- reading a file ----

class loader {
public:
    loader(const setting& root, std::string folder, loaded& out, std::vector<problem>& problems)
        : root_(root, "", problems, &out.origins), where_(root.where), folder_(std::move(folder)), out_(out),
          problems_(problems)
    {
        none_.where.file = where_.file;
    }

    void run()
    {
        read_producer();
        read_acl();
        read_tls();
        read_log();
        read_swap();
        read_admin();
        read_plugins();
        read_policies();
        read_bindings();
        read_limits();
        read_brokers();
        finish(root_);
        check_together(out_.options, book_, problems_);
    }

private:
    // A key that is there under another spelling is not missed as well.
    void finish(table_reader& reader)
    {
        for (std::string& key : reader.finish())
            book_.wrong.insert(std::move(key));
    }

    // A table of the root that may be missing: then an empty one, so that its defaults are noted.
    table_reader table(std::string_view key)
    {
        const setting* found = root_.find(key);
        if (found == nullptr) {
            book_.places[std::string(key)] = where_;
            return {none_, std::string(key), problems_, &out_.origins};
        }
        book_.places[std::string(key)] = found->where;
        table_reader reader(*found, std::string(key), problems_, &out_.origins);
        if (!reader.present())
            book_.wrong.emplace(key);
        return reader;
    }

    void read_producer()
    {
        table_reader producer = table("producer");
        each_producer_key([&](std::string_view key, const auto& rule, auto member, std::string_view) {
            if (key == "name_server_url")
                read_name_servers(producer);  // in the order of config/shunt.toml
            read_key(producer, key, rule, out_.options.*member);
        });
        from_folder(out_.options.record);
        finish(producer);
    }

    template <typename Rule, typename T>
    void read_key(table_reader& reader, std::string_view key, const Rule& rule, T& out)
    {
        const std::string path = reader.path_of(key);
        if (const setting* found = reader.find(key))
            book_.places[path] = found->where;
        if (reader.read(key, rule, out) == presence::wrong)
            book_.wrong.insert(path);
    }

    // A path in the file starts at the file's folder.
    void from_folder(std::string& file) const
    {
        if (!file.empty())
            file = (std::filesystem::path(folder_) / file).lexically_normal().string();
    }

    void read_acl()
    {
        table_reader acl = table("acl");
        acl_options& o = out_.options.acl;
        each_credential_key([&](std::string_view key, const auto& rule, auto member, std::string_view) { read_key(acl, key, rule, o.keys.*member); });
        each_acl_key([&](std::string_view key, const auto& rule, auto member, std::string_view) { read_key(acl, key, rule, o.*member); });
        from_folder(o.file);
        finish(acl);
    }

    void read_name_servers(table_reader& producer)
    {
        const setting* value = producer.find("name_servers");
        if (value == nullptr)
            return producer.note("name_servers", "[]", nullptr);
        const std::string path = producer.path_of("name_servers");
        book_.places[path] = value->where;
        const std::size_t before = problems_.size();
        if (const setting_array* list = value->as<setting_array>()) {
            for (std::size_t i = 0; i < list->size(); ++i)
                read_server((*list)[i], fmt::format("{}[{}]", path, i));
            if (list->empty())
                add_problem(problems_, value->where, path, "an empty array", std::string(servers_expected));
        } else if (const std::string* text = value->as<std::string>()) {
            read_server_string(*text, value->where, path);
        } else {
            add_problem(problems_, value->where, path, shown(*value), std::string(servers_expected));
        }
        if (problems_.size() != before) {
            book_.wrong.insert(path);
            return;
        }
        setting_array shown_list(out_.options.name_servers.begin(), out_.options.name_servers.end());
        producer.note("name_servers", to_toml(setting(std::move(shown_list))), value);
    }

    // "h1:9876;h2:9876", as other clients of RocketMQ take it.
    void read_server_string(std::string_view text, const source_position& where, const std::string& path)
    {
        for (;;) {
            const std::size_t end = text.find(';');
            setting one{std::string(text.substr(0, end))};
            one.where = where;
            read_server(one, path);
            if (end == text.npos)
                return;
            text.remove_prefix(end + 1);
        }
    }

    void read_server(const setting& value, const std::string& path)
    {
        const auto address = read(value, path, address_rule(), problems_);
        if (!address)
            return;
        auto& servers = out_.options.name_servers;
        if (std::find(servers.begin(), servers.end(), *address) != servers.end())
            add_problem(problems_, value.where, path, shown(value), "a name server not named before");
        servers.push_back(*address);
    }

    void read_tls()
    {
        table_reader tls = table("tls");
        tls_options& o = out_.options.tls;
        each_tls_key([&](std::string_view key, const auto& rule, auto member, std::string_view) { read_key(tls, key, rule, o.*member); });
        for (std::string* file : {&o.ca, &o.certificate, &o.key})
            from_folder(*file);
        finish(tls);
    }

    void read_log()
    {
        table_reader log = table("log");
        (void)log.read("level", log_level_rule(), out_.options.log_level);
        (void)log.finish();
    }

    void read_swap()
    {
        table_reader swap = table("swap");
        each_swap_key([&](std::string_view key, const auto& rule, auto member, std::string_view) {
            (void)swap.read(key, rule, out_.options.swap.*member);
        });
        (void)swap.finish();
    }

    void read_admin()
    {
        table_reader admin = table("admin");
        each_admin_key([&](std::string_view key, const auto& rule, auto member, std::string_view) {
            const std::string path = admin.path_of(key);
            if (const setting* found = admin.find(key))
                book_.places[path] = found->where;
            if (admin.read(key, rule, out_.options.admin.*member) == presence::wrong)
                book_.wrong.insert(path);
        });
        std::string& listen = out_.options.admin.listen;
        if (listen.starts_with(unix_prefix)) {
            const std::string path = (std::filesystem::path(folder_) / listen.substr(unix_prefix.size())).lexically_normal().string();
            if (path.size() > max_socket_path && book_.all_right({"admin.listen"}))
                add_problem(problems_, book_.place("admin.listen"), "admin.listen", fmt::format("unix:{}", printable(path)),
                            fmt::format("a path of at most {} bytes, this file's folder included", max_socket_path));
            listen = std::string(unix_prefix) + path;
        }
        (void)admin.finish();
    }

    void read_plugins()
    {
        const setting* found = root_.find("plugins");
        out_.options.plugins = plugins_from(found != nullptr ? *found : none_, folder_, problems_, &out_.origins);
    }

    void read_policies()
    {
        table_reader policies = table("policies");
        const policy_rules rules;
        if (policies.entries().find("default") == policies.entries().end())
            out_.options.policies["default"] = policy_from(none_, "policies.default", rules, problems_, &out_.origins);
        for (const auto& [name, value] : policies.entries()) {
            const std::string path = policies.path_of(name);
            if (!is_policy_name(name)) {
                add_problem(problems_, value.key_where, path, in_marks(name), policy_name_rule().expected());
                continue;
            }
            if (value.as<setting_table>() == nullptr)
                book_.wrong.insert(path);
            out_.options.policies[name] = policy_from(value, path, rules, problems_, &out_.origins);
        }
    }

    void read_bindings()
    {
        const setting_array* list = root_.find_array("bindings", "an array of tables: [[bindings]]");
        if (list == nullptr)
            return;
        for (std::size_t i = 0; i < list->size(); ++i) {
            const setting& entry = (*list)[i];
            table_reader reader(entry, fmt::format("bindings[{}]", i), problems_, &out_.origins);
            binding_options binding;
            binding.where = entry.where;
            read_required(reader, "topic", topic_pattern_rule(), binding.topic);
            read_required(reader, "policy", policy_name_rule(), binding.policy);
            (void)reader.finish();
            out_.options.bindings.push_back(std::move(binding));
        }
    }

    void read_limits()
    {
        const setting_array* list = root_.find_array("limits", "an array of tables: [[limits]]");
        if (list == nullptr)
            return;
        for (std::size_t i = 0; i < list->size(); ++i) {
            const setting& entry = (*list)[i];
            table_reader reader(entry, fmt::format("limits[{}]", i), problems_, &out_.origins);
            limit_options limit;
            limit.where = entry.where;
            read_required(reader, "topic", topic_pattern_rule(), limit.topic);
            read_optional(reader, "max_in_flight_messages", messages_rule, limit.max_in_flight_messages);
            read_optional(reader, "max_in_flight_bytes", bytes_rule, limit.max_in_flight_bytes);
            finish(reader);
            out_.options.limits.push_back(std::move(limit));
        }
    }

    // No default is noted: without the key there is none.
    template <typename Rule, typename T>
    void read_optional(table_reader& reader, std::string_view key, const Rule& rule, T& out)
    {
        if (reader.entries().contains(std::string(key)))
            read_key(reader, key, rule, out);
        else
            (void)reader.find(key);
    }

    void read_brokers()
    {
        const setting_array* list = root_.find_array("brokers", "an array of tables: [[brokers]]");
        if (list == nullptr)
            return;
        std::map<std::string, std::uint32_t, std::less<>> lines;
        for (std::size_t i = 0; i < list->size(); ++i) {
            const setting& entry = (*list)[i];
            table_reader reader(entry, fmt::format("brokers[{}]", i), problems_, &out_.origins);
            std::string name;
            broker_options broker;
            const bool named = read_required(reader, "name", broker_name_rule(), name);
            (void)reader.read("room", room_rule(), broker.room);
            (void)reader.read("weight", weight_rule, broker.weight);
            (void)reader.finish();
            if (!named)
                continue;
            const auto [first, is_new] = lines.emplace(name, entry.where.line);
            if (is_new)
                out_.options.brokers.emplace(name, std::move(broker));
            else
                add_problem(problems_, book_.place(reader.path_of("name")), reader.path_of("name"), in_marks(name),
                            "a broker not named before", fmt::format("line {} has it", first->second));
        }
    }

    bool read_required(table_reader& reader, std::string_view key, const plain_text& rule, std::string& out)
    {
        const std::string path = reader.path_of(key);
        const setting* found = reader.require(key, rule.expected());
        if (found != nullptr) {
            book_.places[path] = found->where;
            if (auto value = read(*found, path, rule, problems_)) {
                out = *std::move(value);
                reader.note(key, rule.show(out), found);
                return true;
            }
        }
        book_.wrong.insert(path);
        return false;
    }

    table_reader root_;
    source_position where_;
    std::string folder_;
    loaded& out_;
    std::vector<problem>& problems_;
    key_book book_;
    setting none_;  // an empty table
};

loaded load(std::string_view text, const std::string& file, const std::string& folder, std::vector<problem>& problems)
{
    loaded out;
    out.options.file = file;
    std::vector<problem> found;
    const setting root = parse_toml(text, file, found);
    if (found.empty() && root.as<setting_table>()->empty()) {
        const bool blank = without_byte_order_mark(text).find_first_not_of(" \t\r\n") == text.npos;
        add_problem(found, root.where, "", blank ? "an empty file" : "nothing but comments",
                    "a [producer] table with name_servers, or with embedded = true");
    } else if (found.empty()) {
        loader(root, folder, out, found).run();
        sort_by_place(found);
    }
    problems.insert(problems.end(), found.begin(), found.end());
    return out;
}

std::string system_words(int error)
{
    return std::error_code(error, std::generic_category()).message();
}

}  // namespace

int read_whole(const std::string& path, std::size_t most, std::string& out)
{
    constexpr std::size_t step = 64 * 1024;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
    if (file == nullptr)
        return errno;
    out.clear();
    std::size_t wanted = 0, got = 0;
    do {
        wanted = std::min(step, most + 1 - out.size());
        out.resize(out.size() + wanted);
        errno = 0;
        got = std::fread(out.data() + (out.size() - wanted), 1, wanted, file.get());
        if (std::ferror(file.get()) != 0)
            return errno;
        out.resize(out.size() - (wanted - got));
    } while (got == wanted && out.size() <= most);
    return 0;
}

loaded load_text(std::string_view text, const std::string& file, std::vector<problem>& problems)
{
    return load(text, file, std::filesystem::path(file).parent_path().string(), problems);
}

std::optional<std::string> read_text_file(const std::string& path, std::vector<problem>& problems)
{
    const source_position where{printable(path), 0, 0};
    if (!is_path(path)) {
        add_problem(problems, where, "", path.empty() ? "an empty path" : fmt::format("a path of {} bytes", path.size()),
                    path_rule().expected());
        return std::nullopt;
    }
    std::string text;
    if (const int error = read_whole(path, max_file_bytes, text); error != 0) {
        add_problem(problems, where, "", error == EISDIR ? "a folder" : fmt::format("cannot be read: {}", system_words(error)),
                    "a file that can be read");
        return std::nullopt;
    }
    if (text.size() > max_file_bytes) {
        add_problem(problems, where, "", fmt::format("more than {} bytes", max_file_bytes),
                    fmt::format("a file of at most {} bytes", max_file_bytes));
        return std::nullopt;
    }
    return text;
}

loaded load_file(const std::string& path, std::vector<problem>& problems)
{
    loaded none;
    none.options.file = path;
    const auto text = read_text_file(path, problems);
    if (!text)
        return none;
    std::error_code ignored;
    return load(*text, path, std::filesystem::absolute(path, ignored).parent_path().string(), problems);
}

chosen_policy policy_of(const producer_options& options, std::string_view topic) noexcept
{
    for (const binding_options& b : options.bindings)
        if (matches_pattern(topic, b.topic))
            return {b.policy, &b};
    return {};
}

std::vector<problem> check_options(const producer_options& o)
{
    std::vector<problem> problems;
    const plain_text address = address_rule();
    for (std::size_t i = 0; i < o.name_servers.size(); ++i) {
        const std::string key = fmt::format("producer.name_servers[{}]", i);
        const auto here = o.name_servers.begin() + static_cast<std::ptrdiff_t>(i);
        check_value(*here, address, key, {}, problems);
        if (std::find(o.name_servers.begin(), here, *here) != here)
            add_problem(problems, {}, key, in_marks(*here), "a name server not named before");
    }
    each_producer_key([&](std::string_view key, const auto& rule, auto member, std::string_view) {
        check_value(o.*member, rule, fmt::format("producer.{}", key), {}, problems);
    });
    check_value(o.log_level, log_level_rule(), "log.level", {}, problems);
    each_acl_key([&](std::string_view key, const auto& rule, auto member, std::string_view) {
        check_value(o.acl.*member, rule, fmt::format("acl.{}", key), {}, problems);
    });
    each_tls_key([&](std::string_view key, const auto& rule, auto member, std::string_view) {
        check_value(o.tls.*member, rule, fmt::format("tls.{}", key), {}, problems);
    });
    each_swap_key([&](std::string_view key, const auto& rule, auto member, std::string_view) {
        check_value(o.swap.*member, rule, fmt::format("swap.{}", key), {}, problems);
    });
    each_admin_key([&](std::string_view key, const auto& rule, auto member, std::string_view) {
        check_value(o.admin.*member, rule, fmt::format("admin.{}", key), {}, problems);
    });
    check_plugins(o.plugins, problems);
    for (const auto& [name, policy] : o.policies) {
        const std::string path = fmt::format("policies.{}", printable(name, 60));
        check_value(name, policy_name_rule(), path, policy.where, problems);
        check_policy(policy, path, problems);
    }
    for (std::size_t i = 0; i < o.bindings.size(); ++i)
        check_value(o.bindings[i].topic, topic_pattern_rule(), fmt::format("bindings[{}].topic", i), o.bindings[i].where,
                    problems);
    for (std::size_t i = 0; i < o.limits.size(); ++i) {
        const limit_options& limit = o.limits[i];
        const std::string path = fmt::format("limits[{}]", i);
        check_value(limit.topic, topic_pattern_rule(), path + ".topic", limit.where, problems);
        if (limit.max_in_flight_messages != 0)
            check_value(limit.max_in_flight_messages, messages_rule, path + ".max_in_flight_messages", limit.where, problems);
        if (limit.max_in_flight_bytes != 0)
            check_value(limit.max_in_flight_bytes, bytes_rule, path + ".max_in_flight_bytes", limit.where, problems);
    }
    for (const auto& [name, broker] : o.brokers) {
        const std::string path = fmt::format("brokers.{}", printable(name, 60));
        check_value(name, broker_name_rule(), path, {}, problems);
        check_value(broker.room, room_rule(), path + ".room", {}, problems);
        check_value(broker.weight, weight_rule, path + ".weight", {}, problems);
    }
    check_together(o, {}, problems);
    return problems;
}

// ---- what differs ----

namespace {

using values = std::map<std::string, std::string>;  // as TOML, by key

void note_strategy(const strategy_options& s, const std::string& path, values& out)
{
    out[path + ".use"] = to_toml(setting(s.use));
    for (const auto& [key, value] : s.settings)
        out[fmt::format("{}.{}", path, key)] = to_toml(value);
}

std::string unquoted(const std::string& toml) { return toml.substr(1, toml.size() - 2); }

values values_of(const producer_options& o)
{
    values out;
    out["producer.name_servers"] = to_toml(setting(setting_array(o.name_servers.begin(), o.name_servers.end())));
    each_producer_key([&](std::string_view key, const auto& rule, auto member, std::string_view) {
        out[fmt::format("producer.{}", key)] = rule.show(o.*member);
    });
    out["log.level"] = to_toml(setting(o.log_level));
    each_swap_key([&](std::string_view key, const auto& rule, auto member, std::string_view) {
        out[fmt::format("swap.{}", key)] = rule.show(o.swap.*member);
    });
    each_admin_key([&](std::string_view key, const auto& rule, auto member, std::string_view) {
        out[fmt::format("admin.{}", key)] = rule.show(o.admin.*member);
    });
    out["plugins.path"] = to_toml(setting(setting_array(o.plugins.path.begin(), o.plugins.path.end())));
    out["plugins.max_images"] = std::to_string(o.plugins.max_images);
    for (const auto& [name, file] : o.plugins.load) {
        out[fmt::format("plugins.load.{}.file", name)] = to_toml(setting(file.file));
        if (!file.sha256.empty())
            out[fmt::format("plugins.load.{}.sha256", name)] = to_toml(setting(file.sha256));
    }
    const std::map<std::string, policy_options, std::less<>> only_default{{"default", {}}};
    for (const auto* policies : {&only_default, &o.policies})
        for (const auto& [name, policy] : *policies) {
            const std::string path = fmt::format("policies.{}", name);
            if (policies == &only_default && o.policies.contains(name))
                continue;
            note_strategy(policy.selector, path + ".selector", out);
            note_strategy(policy.fault, path + ".fault", out);
            for (std::size_t i = 0; i < policy.filters.size(); ++i)
                note_strategy(policy.filters[i], fmt::format("{}.filters[{}]", path, i), out);
            out[path + ".ordered"] = flag{}.show(policy.ordered);
            out[path + ".key_from"] = to_toml(setting(to_string(policy.key_from)));
            out[path + ".when_no_queue"] = no_queue_rule().show(policy.when_no_queue);
        }
    setting_array bindings;
    for (const binding_options& b : o.bindings)
        bindings.emplace_back(setting_table{{"policy", b.policy}, {"topic", b.topic}});
    out["bindings"] = to_toml(setting(std::move(bindings)));
    setting_array limits;
    for (const limit_options& l : o.limits) {
        setting_table one{{"topic", l.topic}};
        if (l.max_in_flight_messages != 0)
            one.emplace("max_in_flight_messages", static_cast<std::int64_t>(l.max_in_flight_messages));
        if (l.max_in_flight_bytes != 0)
            one.emplace("max_in_flight_bytes", unquoted(bytes_rule.show(l.max_in_flight_bytes)));
        limits.emplace_back(std::move(one));
    }
    out["limits"] = to_toml(setting(std::move(limits)));
    for (const auto& [name, broker] : o.brokers) {
        out[fmt::format("brokers.{}.room", name)] = to_toml(setting(broker.room));
        out[fmt::format("brokers.{}.weight", name)] = std::to_string(broker.weight);
    }
    return out;
}

}  // namespace

std::vector<difference> differences(const producer_options& from, const producer_options& to)
{
    const values before = values_of(from), after = values_of(to);
    std::vector<difference> found;
    for (const auto& [key, value] : before) {
        const auto there = after.find(key);
        if (there == after.end())
            found.push_back({key, value, {}});
        else if (there->second != value)
            found.push_back({key, value, there->second});
    }
    for (const auto& [key, value] : after)
        if (!before.contains(key))
            found.push_back({key, {}, value});
    // Another token looks like this one.
    if (const std::string& shown = before.at("admin.token"); from.admin.token != to.admin.token && shown == after.at("admin.token"))
        found.push_back({"admin.token", shown, shown});
    std::sort(found.begin(), found.end(), [](const difference& a, const difference& b) { return a.key < b.key; });
    return found;
}

std::vector<std::pair<std::string, std::string>> effective_values(const producer_options& options)
{
    const values all = values_of(options);
    return {all.begin(), all.end()};
}

}  // namespace shunt::config
