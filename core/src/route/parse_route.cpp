#include <route/route.hpp>
#include <wire/frame.hpp>
#include <wire/text.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <tuple>

namespace shunt::route {
namespace {

namespace json = boost::json;

// A route of a thousand brokers has some thirty thousand values. The bound keeps a hostile answer from becoming a tree
// of a hundred times its size.
constexpr std::size_t max_values = 2'000'000;
constexpr std::size_t max_depth = 16;

// --- text --------------------------------------------------------------------------------------------------------------

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// One past the string that begins at `p`.
const char* skip_string(const char* p, const char* end) noexcept
{
    for (++p; (p = wire::find_string_stop(p, end)) != end; ++p) {
        if (*p == '"')
            return p + 1;
        if (++p == end)  // a backslash takes the next character with it
            break;
    }
    return end;
}

// Older name servers write integer keys bare: {0:"10.0.0.1:10911"}. A number with a colon behind it can be nothing else,
// so it gets its quotes here, and one strict parser does for both forms. False: more values than any route has.
bool quote_bare_keys(std::string_view text, std::string& out)
{
    out.reserve(text.size() + text.size() / 64);
    const char* p = text.data();
    const char* const end = p + text.size();
    const char* copied = p;
    std::size_t values = 0;
    while (p != end) {
        const char c = *p;
        if (c == '"') {
            p = skip_string(p, end);
            continue;
        }
        if (c == ',' || c == '[' || c == '{') {
            if (++values > max_values)
                return false;
        }
        if (!is_digit(c) && c != '-') {
            ++p;
            continue;
        }
        const char* const from = p;
        while (++p != end && is_digit(*p)) {
        }
        if (c == '-' && p - from == 1)
            continue;
        const char* const after = p;
        while (p != end && is_blank(*p))
            ++p;
        if (p == end || *p != ':')
            continue;
        out.append(copied, from).append(1, '"').append(from, after).append(1, '"');
        copied = after;
    }
    out.append(copied, end);
    return true;
}

// --- values ------------------------------------------------------------------------------------------------------------

// A member that is null counts as one that is not there.
const json::value* member(const json::object& o, std::string_view name)
{
    const json::value* v = o.if_contains(name);
    return v == nullptr || v->is_null() ? nullptr : v;
}

std::string_view text_of(const json::object& o, std::string_view name)
{
    const json::value* v = member(o, name);
    return v != nullptr && v->is_string() ? std::string_view{v->get_string()} : std::string_view{};
}

// Numbers, and numbers in quotes: strict answers write large ones so.
std::optional<std::int64_t> number_of(const json::value& v)
{
    if (v.is_int64())
        return v.get_int64();
    std::int64_t n;
    if (v.is_string() && wire::read_decimal(v.get_string(), n))
        return n;
    return std::nullopt;
}

std::optional<std::int64_t> number_of(const json::object& o, std::string_view name, std::int64_t missing)
{
    const json::value* v = member(o, name);
    return v == nullptr ? missing : number_of(*v);
}

std::string quoted(std::string_view text) { return std::string{"\""}.append(text.substr(0, 128)).append("\""); }

// --- the answer --------------------------------------------------------------------------------------------------------

class reader {
public:
    reader(std::string_view topic, const json::object& answer) : answer_(answer) { route_.topic = topic; }

    parse_result read()
    {
        if (!read_brokers() || !read_queues())
            return {std::nullopt, error_};
        if (const json::value* conf = member(answer_, "orderTopicConf"); conf != nullptr) {
            if (!conf->is_string())
                return {std::nullopt, "orderTopicConf must be text"};
            route_.order_conf = std::string_view{conf->get_string()};
        }
        if (route_.order_conf.empty() && !read_mappings())
            return {std::nullopt, error_};
        finish(route_);
        if (!route_.order_conf.empty() && route_.publish.empty())
            return {std::nullopt, "its order configuration " + quoted(route_.order_conf) + " names no queue"};
        return {std::move(route_), {}};
    }

private:
    bool fail(std::string text)
    {
        error_ = std::move(text);
        return false;
    }
    void warn(std::string text) { add_warning(route_, std::move(text)); }

    // Null when the member is missing; failed when it is no list.
    const json::array* list(std::string_view name, bool& good)
    {
        const json::value* v = member(answer_, name);
        good = v == nullptr || v->is_array() || fail(std::string{name} + " must be a list");
        return good && v != nullptr ? &v->get_array() : nullptr;
    }

    // An entry of a list; a reference to another place, which some serializers write, cannot be followed.
    const json::object* entry(const json::value& v, std::string_view list, std::string_view& broker_name, bool& good)
    {
        const json::object* o = v.if_object();
        good = o == nullptr || !o->contains("$ref") || fail(std::string{list} + " holds a reference ($ref); it must hold the entry itself");
        if (!good)
            return nullptr;
        if (o != nullptr)
            broker_name = text_of(*o, "brokerName");
        if (o != nullptr && !broker_name.empty())
            return o;
        warn(std::string{list} + ": skipped an entry without a brokerName");
        return nullptr;
    }

    bool read_brokers()
    {
        bool good;
        const json::array* all = list("brokerDatas", good);
        if (all == nullptr)
            return good;
        route_.brokers.reserve(all->size());
        for (const json::value& v : *all) {
            std::string_view name;
            const json::object* o = entry(v, "brokerDatas", name, good);
            if (!good)
                return false;
            if (o == nullptr)
                continue;
            broker& b = route_.brokers.emplace_back();
            b.name = name;
            b.cluster = text_of(*o, "cluster");
            read_addresses(*o, b);
        }
        return true;
    }

    void read_addresses(const json::object& o, broker& b)
    {
        const json::value* v = member(o, "brokerAddrs");
        if (v == nullptr)
            return;
        if (!v->is_object())
            return warn("broker " + quoted(b.name) + ": brokerAddrs must be an object; skipped");
        for (const auto& [id_text, address] : v->get_object()) {
            std::int64_t id;
            if (wire::read_decimal(id_text, id) && address.is_string() && !address.get_string().empty())
                b.addresses.insert_or_assign(id, std::string{address.get_string()});
            else if (!address.is_null())
                warn("broker " + quoted(b.name) + ": skipped the address with id " + quoted(id_text));
        }
    }

    // Queue counts, cut to what a route may have.
    std::optional<std::int32_t> count_of(const json::object& o, std::string_view name, std::string_view broker_name)
    {
        const auto n = number_of(o, name, 0);
        if (!n)
            return std::nullopt;
        if (*n < 0 || *n > max_queues_per_broker)
            warn("broker " + quoted(broker_name) + ": " + std::string{name} + " is " + std::to_string(*n) +
                 "; taken as " + (*n < 0 ? "0" : std::to_string(max_queues_per_broker)));
        return static_cast<std::int32_t>(std::clamp<std::int64_t>(*n, 0, max_queues_per_broker));
    }

    bool read_queues()
    {
        finish(route_);  // sorts the brokers, so that each entry finds its own at once
        bool good;
        const json::array* all = list("queueDatas", good);
        if (all == nullptr)
            return good;
        for (const json::value& v : *all) {
            std::string_view name;
            const json::object* o = entry(v, "queueDatas", name, good);
            if (!good)
                return false;
            if (o == nullptr)
                continue;
            const auto perm = number_of(*o, "perm", 0);
            const auto read = count_of(*o, "readQueueNums", name), write = count_of(*o, "writeQueueNums", name);
            if (!perm || *perm < 0 || *perm > INT32_MAX || !read || !write) {
                warn("queueDatas: skipped the entry of broker " + quoted(name) + "; its perm and counts must be numbers");
                continue;
            }
            const broker* known = route_.find(name);
            if (known == nullptr) {
                warn("queueDatas: skipped broker " + quoted(name) + ", which is not in brokerDatas");
                continue;
            }
            broker& b = route_.brokers[static_cast<std::size_t>(known - route_.brokers.data())];
            take_queues(b, static_cast<std::int32_t>(*perm), *read, *write);
        }
        return true;
    }

    // Of two entries for one broker, what both agree on: those queues exist either way.
    void take_queues(broker& b, std::int32_t perm, std::int32_t read, std::int32_t write)
    {
        if (!b.has_queue_data) {
            b.has_queue_data = true;
            b.perm = perm;
            b.read_queues = read;
            b.write_queues = write;
            return;
        }
        if (b.perm == perm && b.read_queues == read && b.write_queues == write)
            return;
        warn("queueDatas: broker " + quoted(b.name) + " has two entries that differ; what both allow is taken");
        b.perm &= perm;
        b.read_queues = std::min(b.read_queues, read);
        b.write_queues = std::min(b.write_queues, write);
    }

    // A static topic: each broker says which logical queues it owns; of two that claim one, the higher epoch is right.
    bool read_mappings()
    {
        const json::value* all = member(answer_, "topicQueueMappingByBroker");
        if (all == nullptr)
            return true;
        if (!all->is_object())
            return fail("topicQueueMappingByBroker must be an object");
        struct mapping {
            std::string_view scope;
            std::string_view broker;
            std::int64_t epoch;
            const json::object* queues;
        };
        std::vector<mapping> mappings;
        std::int64_t total = 0;
        for (const auto& [key, v] : all->get_object()) {
            const json::object* o = v.if_object();
            if (o == nullptr)
                continue;
            const auto queues = number_of(*o, "totalQueues", 0), epoch = number_of(*o, "epoch", 0);
            const json::value* ids = member(*o, "currIdMap");
            if (!queues || *queues < 0 || !epoch || (ids != nullptr && !ids->is_object())) {
                warn("topicQueueMappingByBroker: skipped the entry of broker " + quoted(key));
                continue;
            }
            const auto name = text_of(*o, "bname");
            mappings.push_back({text_of(*o, "scope"), name.empty() ? std::string_view{key} : name, *epoch,
                                ids == nullptr ? nullptr : &ids->get_object()});
            total = std::max(total, std::min<std::int64_t>(*queues, max_queues_per_broker));
        }
        if (total == 0)
            return true;
        std::sort(mappings.begin(), mappings.end(), [](const mapping& a, const mapping& b) {
            return std::tuple{a.scope, b.epoch, a.broker} < std::tuple{b.scope, a.epoch, b.broker};
        });
        route_.logical_owners.resize(static_cast<std::size_t>(total));
        for (const mapping& m : mappings) {
            if (m.scope != mappings.front().scope) {
                warn("topicQueueMappingByBroker: skipped scope " + quoted(m.scope) + "; only " +
                     quoted(mappings.front().scope) + " is used");
                continue;
            }
            if (m.queues == nullptr)
                continue;
            for (const auto& [id_text, local] : *m.queues) {
                std::int64_t id;
                if (!wire::read_decimal(id_text, id) || id < 0 || id >= total) {
                    warn("topicQueueMappingByBroker: skipped logical queue " + quoted(id_text) + " of broker " + quoted(m.broker));
                    continue;
                }
                std::string& owner = route_.logical_owners[static_cast<std::size_t>(id)];
                if (owner.empty())
                    owner = m.broker;
            }
        }
        return true;
    }

    const json::object& answer_;
    topic_route route_;
    std::string error_;
};

}  // namespace

namespace {

// The text as one object; false: `error` says what it is instead. `memory` outlives the value.
bool read_object(std::string_view text, json::monotonic_resource& memory, json::value& out, std::string& error)
{
    if (text.size() > wire::max_frame) {
        error = "it has " + std::to_string(text.size()) + " bytes; at most " + std::to_string(wire::max_frame) + " are read";
        return false;
    }
    std::string strict;
    if (!quote_bare_keys(text, strict)) {
        error = "it has more than " + std::to_string(max_values) + " values";
        return false;
    }
    json::parse_options options;
    options.max_depth = max_depth;
    options.allow_invalid_utf8 = true;  // an odd name must not hide the whole cluster
    json::parser parser{&memory, options};
    json::error_code ec;
    const std::size_t read = parser.write_some(strict.data(), strict.size(), ec);
    if (!ec && read < strict.size() && strict.find_first_not_of(" \t\r\n", read) != std::string::npos) {
        error = "byte " + std::to_string(read) + ": something follows the answer; it must be one JSON object";
        return false;
    }
    if (ec) {
        error = "near byte " + std::to_string(read) + ": " + ec.message() + "; it must be JSON";
        return false;
    }
    out = parser.release();
    if (!out.is_object())
        error = "it must be a JSON object";
    return error.empty();
}

}  // namespace

std::vector<broker> parse_cluster(std::string_view text, std::string& error)
{
    json::monotonic_resource memory;
    json::value answer((json::storage_ptr(&memory)));
    if (!read_object(text, memory, answer, error)) {
        error = "list of brokers: " + error;
        return {};
    }
    const json::value* table = member(answer.get_object(), "brokerAddrTable");
    if (table == nullptr || !table->is_object()) {
        error = "list of brokers: brokerAddrTable must be an object";
        return {};
    }
    std::vector<broker> all;
    for (const auto& [name, v] : table->get_object()) {
        if (!v.is_object())
            continue;
        broker& b = all.emplace_back();
        b.name = name;
        b.cluster = text_of(v.get_object(), "cluster");
        const json::value* addresses = member(v.get_object(), "brokerAddrs");
        if (addresses == nullptr || !addresses->is_object())
            continue;
        for (const auto& [id_text, address] : addresses->get_object()) {
            std::int64_t id;
            if (wire::read_decimal(id_text, id) && address.is_string() && !address.get_string().empty())
                b.addresses.insert_or_assign(id, std::string{address.get_string()});
        }
    }
    std::sort(all.begin(), all.end(), [](const broker& x, const broker& y) { return x.name < y.name; });
    return all;
}

parse_result parse_route(std::string_view topic, std::string_view text)
{
    const auto wrong = [topic](const std::string& what) {
        return parse_result{std::nullopt, "route of " + quoted(topic) + ": " + what};
    };
    json::monotonic_resource memory;
    json::value answer((json::storage_ptr(&memory)));
    std::string error;
    if (!read_object(text, memory, answer, error))
        return wrong(error);
    parse_result result = reader{topic, answer.get_object()}.read();
    if (!result.route)
        return wrong(result.error);
    return result;
}

}  // namespace shunt::route
