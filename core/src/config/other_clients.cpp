#include <config/other_clients.hpp>

#include <config/toml_text.hpp>
#include <config/value.hpp>

#include <strategy/settings_check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

namespace shunt::config {

namespace {

using enum other_client;
using form = value_form;

constexpr std::string_view producer = "producer", acl = "acl", tls_table = "tls", default_policy = "policies.default";

// Why there is no such setting. Said by several rows.
constexpr std::string_view handlers = "handlers run on the executor they are bound to, others on one callback thread";
constexpr std::string_view first_limit = "a send waits, is refused or suspended by `when_full`";
constexpr std::string_view one_thread = "one I/O thread; a producer made with an executor has none";
constexpr std::string_view system_buffers = "the system's sizes";
constexpr std::string_view own_id = "every producer has connections of its own; `client_id` is what brokers see";
constexpr std::string_view whole_url = "the whole address: http://HOST:PORT/PATH";
constexpr std::string_view is_signed = "every request is signed then";
constexpr std::string_view own_file = "or in a file of its own, see `file`";
constexpr std::string_view is_verified = "certificates are verified, see `verify`";
constexpr std::string_view traced = "a pattern of topics; where to: `trace_topic`";
constexpr std::string_view old_namespace = "the kind that is part of the names";
constexpr std::string_view one_attempts = "sync and async alike; the first try is counted";
constexpr std::string_view threshold = "with `compress`, which is off by default";

constexpr other_setting all[] = {
    // The Java client: DefaultMQProducer, ClientConfig, TransactionMQProducer, and its system properties.
    {java, "producerGroup", "DEFAULT_PRODUCER", producer, "group", form::same},
    {java, "namesrvAddr", "looked up", producer, "name_servers", form::servers},
    {java, "rocketmq.namesrv.addr", "", producer, "name_servers", form::servers, "a file says it, not the environment"},
    {java, "rocketmq.namesrv.domain", "", producer, "name_server_url", form::none, whole_url},
    {java, "clientIP", "first local address", producer, "client_id", form::none, "the whole id, not a part of it"},
    {java, "instanceName", "DEFAULT", producer, "client_id", form::none, own_id},
    {java, "unitName", "", producer, "unit_name", form::same},
    {java, "unitMode", "false", producer, "unit_mode", form::same},
    {java, "namespace", "", producer, "namespace_v1", form::same, old_namespace},
    {java, "namespaceV2", "", producer, "namespace_v2", form::same},
    {java, "accessChannel", "LOCAL", producer, "trace_topic", form::none, "another topic for trace records"},
    {java, "clientCallbackExecutorThreads", "CPUs", "", "", form::none, handlers},
    {java, "callbackExecutor", "", "", "", form::none, handlers},
    {java, "asyncSenderExecutor", "CPUs", "", "", form::none, "an async send is decided by its caller, and takes no thread"},
    {java, "pollNameServerInterval", "30000 ms", producer, "route_refresh", form::milliseconds},
    {java, "heartbeatBrokerInterval", "30000 ms", producer, "heartbeat", form::milliseconds},
    {java, "mqClientApiTimeout", "3000 ms", "", "", form::none, "routes are asked for within the time of the send that needs them"},
    {java, "vipChannelEnabled", "false", producer, "vip_channel", form::same},
    {java, "com.rocketmq.sendMessageWithVIPChannel", "false", producer, "vip_channel", form::same},
    {java, "useHeartbeatV2", "false", "", "", form::none, "a producer's heartbeat is small"},
    {java, "language", "JAVA", "", "", form::none, "brokers are told CPP"},
    {java, "socksProxyConfig", "", "", "", form::none, "no proxies"},
    {java, "enableStreamRequestType", "false", "", "", form::none, "for consumers of streams"},
    {java, "sendLatencyEnable", "false", default_policy, "fault", form::latency_fault, "on by default"},
    {java, "sendLatencyFaultEnable", "false", default_policy, "fault", form::latency_fault, "on by default"},
    {java, "latencyMax", "50, 100, 550, 1800, 3000, 5000, 15000", default_policy, "fault", form::none,
     "{ use = \"latency-fault\", latency_max = [...], not_available = [...] }, or profile = \"classic\""},
    {java, "notAvailableDuration", "0, 0, 2000, 5000, 6000, 10000, 30000", default_policy, "fault", form::none,
     "{ use = \"latency-fault\", latency_max = [...], not_available = [...] }, or profile = \"classic\""},
    {java, "startDetectorEnable", "false", default_policy, "fault", form::none, "{ use = \"latency-fault\", probe = \"2s\" }"},
    {java, "detectInterval", "2000 ms", default_policy, "fault", form::none, "{ use = \"latency-fault\", probe = \"2s\" }"},
    {java, "detectTimeout", "200 ms", "", "", form::none, "a probe has the time until the next one"},
    {java, "enableHeartbeatChannelEventListener", "true", "", "", form::none, "always: a new connection begins with a heartbeat"},
    {java, "enableTrace", "false", producer, "trace", form::all_topics, traced},
    {java, "enableMsgTrace", "false", producer, "trace", form::all_topics, traced},
    {java, "traceTopic", "RMQ_SYS_TRACE_TOPIC", producer, "trace_topic", form::same, "with `trace`"},
    {java, "traceMsgBatchNum", "10", "", "", form::none, "nothing to set: `trace` and `trace_topic` are all there is"},
    {java, "topics", "", "", "", form::none, "`route()` asks for a topic's route before its first send"},
    {java, "createTopicKey", "TBW102", producer, "default_topic", form::same, "with `auto_create_topics`, which is on by default"},
    {java, "defaultTopicQueueNums", "4", producer, "default_topic_queues", form::same},
    {java, "sendMsgTimeout", "3000 ms", producer, "send_timeout", form::milliseconds, "the whole send, retries included"},
    {java, "sendMsgMaxTimeoutPerRequest", "-1", producer, "attempt_timeout", form::milliseconds,
     "without it each attempt has its share of what is left of `send_timeout`"},
    {java, "compressMsgBodyOverHowmuch", "4096 B", producer, "compress_from", form::bytes, threshold},
    {java, "compressLevel", "5", producer, "compress_level", form::same},
    {java, "rocketmq.message.compressLevel", "5", producer, "compress_level", form::same},
    {java, "compressType", "ZLIB", producer, "compress", form::lower_case, "none by default"},
    {java, "rocketmq.message.compressType", "ZLIB", producer, "compress", form::lower_case, "none by default"},
    {java, "retryTimesWhenSendFailed", "2", producer, "attempts", form::retries, one_attempts},
    {java, "retryTimesWhenSendAsyncFailed", "2", producer, "attempts", form::retries, one_attempts},
    {java, "retryAnotherBrokerWhenNotStoreOK", "false", producer, "retry_flush_late", form::same},
    {java, "retryResponseCodes", "1, 2, 14, 16, 17, 204, 205, 1500", producer, "retry_codes", form::none, "a list"},
    {java, "maxMessageSize", "4194304 B", producer, "max_body", form::bytes},
    {java, "autoBatch", "false", producer, "auto_batch", form::same},
    {java, "batchMaxDelayMs", "10 ms", producer, "batch_linger", form::milliseconds, "no wait while nothing is under way to the queue"},
    {java, "batchMaxBytes", "32768 B", producer, "batch_bytes", form::bytes},
    {java, "totalBatchMaxBytes", "33554432 B", "", "", form::none, "within `max_in_flight_bytes`, as all messages are"},
    {java, "holdMs", "10 ms", producer, "batch_linger", form::milliseconds, "no wait while nothing is under way to the queue"},
    {java, "holdSize", "32768 B", producer, "batch_bytes", form::bytes},
    {java, "enableBackpressureForAsyncMode", "false", producer, "when_full", form::none, "always on, for sync and async sends"},
    {java, "backPressureForAsyncSendNum", "1024", producer, "max_in_flight_messages", form::same, first_limit},
    {java, "backPressureForAsyncSendSize", "104857600 B", producer, "max_in_flight_bytes", form::bytes, first_limit},
    {java, "checkThreadPoolMinSize", "1", "", "", form::none, "questions of brokers are answered on the callback thread"},
    {java, "checkThreadPoolMaxSize", "1", "", "", form::none, "questions of brokers are answered on the callback thread"},
    {java, "checkRequestHoldMax", "2000", "", "", form::none, "what is not answered, the broker asks again"},
    {java, "com.rocketmq.remoting.client.connect.timeout", "3000 ms", producer, "connect_timeout", form::milliseconds},
    {java, "connectTimeoutMillis", "3000 ms", producer, "connect_timeout", form::milliseconds},
    {java, "clientWorkerThreads", "4", "", "", form::none, one_thread},
    {java, "clientAsyncSemaphoreValue", "65535", producer, "max_in_flight_messages", form::same, first_limit},
    {java, "clientOnewaySemaphoreValue", "65535", producer, "max_in_flight_messages", form::same, first_limit},
    {java, "clientChannelMaxIdleTimeSeconds", "120 s", "", "", form::none, "a connection stays while a route names its broker"},
    {java, "clientSocketSndBufSize", "", "", "", form::none, system_buffers},
    {java, "clientSocketRcvBufSize", "", "", "", form::none, system_buffers},
    {java, "clientCloseSocketIfTimeout", "true", "", "", form::none, "a late answer closes no connection, and fails no other send"},
    {java, "rocketmq.serialize.type", "JSON", producer, "format", form::lower_case},
    {java, "accessKey", "", acl, "access_key", form::none, is_signed},
    {java, "secretKey", "", acl, "secret_key", form::none, own_file},
    {java, "securityToken", "", acl, "security_token", form::none, "of temporary credentials"},
    {java, "useTLS", "false", tls_table, "enabled", form::same, is_verified},
    {java, "tls.enable", "false", tls_table, "enabled", form::same, is_verified},
    {java, "tls.test.mode.enable", "true", tls_table, "verify", form::none, "theirs trusts any certificate: `verify = \"none\"`"},
    {java, "tls.client.authServer", "false", tls_table, "verify", form::none, "on by default"},
    {java, "tls.client.certPath", "", tls_table, "certificate", form::same, "PEM"},
    {java, "tls.client.keyPath", "", tls_table, "key", form::same, "PEM"},
    {java, "tls.client.trustCertPath", "", tls_table, "ca", form::same, "PEM"},

    // The Spring starter: rocketmq.* of application.yml.
    {spring, "rocketmq.name-server", "", producer, "name_servers", form::servers},
    {spring, "rocketmq.producer.group", "", producer, "group", form::same},
    {spring, "rocketmq.producer.namespace", "", producer, "namespace_v1", form::same, old_namespace},
    {spring, "rocketmq.producer.namespace-v2", "", producer, "namespace_v2", form::same},
    {spring, "rocketmq.producer.instance-name", "DEFAULT", producer, "client_id", form::none, own_id},
    {spring, "rocketmq.producer.send-message-timeout", "3000 ms", producer, "send_timeout", form::milliseconds, "the whole send, retries included"},
    {spring, "rocketmq.producer.compress-message-body-threshold", "4096 B", producer, "compress_from", form::bytes, threshold},
    {spring, "rocketmq.producer.retry-times-when-send-failed", "2", producer, "attempts", form::retries, one_attempts},
    {spring, "rocketmq.producer.retry-times-when-send-async-failed", "2", producer, "attempts", form::retries, one_attempts},
    {spring, "rocketmq.producer.retry-next-server", "false", producer, "retry_flush_late", form::same},
    {spring, "rocketmq.producer.max-message-size", "4194304 B", producer, "max_body", form::bytes},
    {spring, "rocketmq.producer.access-key", "", acl, "access_key", form::none, is_signed},
    {spring, "rocketmq.producer.secret-key", "", acl, "secret_key", form::none, own_file},
    {spring, "rocketmq.producer.enable-msg-trace", "false", producer, "trace", form::all_topics, traced},
    {spring, "rocketmq.producer.customized-trace-topic", "RMQ_SYS_TRACE_TOPIC", producer, "trace_topic", form::same, "with `trace`"},
    {spring, "rocketmq.producer.tls-enable", "false", tls_table, "enabled", form::same, is_verified},

    // The classic C++ client: DefaultMQProducer of rocketmq-client-cpp.
    {cpp, "setGroupName", "", producer, "group", form::same},
    {cpp, "setNamesrvAddr", "", producer, "name_servers", form::servers},
    {cpp, "setNamesrvDomain", "", producer, "name_server_url", form::none, whole_url},
    {cpp, "setInstanceName", "DEFAULT", producer, "client_id", form::none, own_id},
    {cpp, "setUnitName", "", producer, "unit_name", form::same},
    {cpp, "setNameSpace", "", producer, "namespace_v1", form::same, old_namespace},
    {cpp, "setSendMsgTimeout", "3000 ms", producer, "send_timeout", form::milliseconds, "the whole send; theirs is for each try"},
    {cpp, "setCompressMsgBodyOverHowmuch", "4096 B", producer, "compress_from", form::bytes, threshold},
    {cpp, "setCompressLevel", "5", producer, "compress_level", form::same, "with `compress = \"zlib\"`"},
    {cpp, "setMaxMessageSize", "131072 B", producer, "max_body", form::bytes},
    {cpp, "setRetryTimes", "5", producer, "attempts", form::same, "sync and async alike"},
    {cpp, "setRetryTimes4Async", "1", producer, "attempts", form::same, "sync and async alike"},
    {cpp, "setTcpTransportPullThreadNum", "CPUs", "", "", form::none, one_thread},
    {cpp, "setTcpTransportConnectTimeout", "3000 ms", producer, "connect_timeout", form::milliseconds},
    {cpp, "setTcpTransportTryLockTimeout", "3000 ms", "", "", form::none, "there is no such lock"},
    {cpp, "setLogLevel", "info", "log", "level", form::none, "off by default; to standard error"},
    {cpp, "setLogPath", "", "", "", form::none, "the log goes to standard error"},
    {cpp, "setLogFileSizeAndNum", "100 MB, 3", "", "", form::none, "the log goes to standard error"},
    {cpp, "setMessageTrace", "false", producer, "trace", form::all_topics, traced},
    {cpp, "setSessionCredentials", "", acl, "access_key", form::none, "and `secret_key`"},
    {cpp, "setEnableSsl", "false", tls_table, "enabled", form::same, is_verified},
    {cpp, "setSslPropertyFile", "", tls_table, "certificate", form::none, "and `key`, `ca`"},

    // The Go client: options of rocketmq-client-go v2's producer.
    {go, "WithGroupName", "DEFAULT_PRODUCER", producer, "group", form::same},
    {go, "WithNameServer", "", producer, "name_servers", form::servers},
    {go, "WithNameServerDomain", "", producer, "name_server_url", form::same, whole_url},
    {go, "WithNsResolver", "HTTP", producer, "name_server_url", form::none, "or names in `name_servers`, all whose addresses are asked"},
    {go, "WithInstanceName", "DEFAULT", producer, "client_id", form::none, own_id},
    {go, "WithUnitName", "", producer, "unit_name", form::same},
    {go, "WithNamespace", "", producer, "namespace_v1", form::same, old_namespace},
    {go, "WithVIPChannel", "false", producer, "vip_channel", form::same},
    {go, "WithSendMsgTimeout", "3 s", producer, "send_timeout", form::milliseconds, "the whole send; theirs is for each try"},
    {go, "WithRetry", "3", producer, "attempts", form::retries, "sync and async alike; theirs tries async sends once"},
    {go, "WithQueueSelector", "round robin", default_policy, "selector", form::none,
     "`round-robin`, `random`, `hash` with `function = \"fnv1a\"`; a send that names its queue needs none"},
    {go, "WithDefaultTopicQueueNums", "4", producer, "default_topic_queues", form::same},
    {go, "WithCreateTopicKey", "TBW102", producer, "default_topic", form::same, "with `auto_create_topics`, which is on by default"},
    {go, "WithCompressMsgBodyOverHowmuch", "4096 B", producer, "compress_from", form::bytes, threshold},
    {go, "WithCompressLevel", "5", producer, "compress_level", form::same, "with `compress = \"zlib\"`"},
    {go, "WithRemotingTimeout", "15 s, 120 s, 120 s", producer, "connect_timeout", form::none,
     "the first of the three; answers have the time of their send"},
    {go, "WithInterceptor", "", "", "", form::none, "`send_observer`; a receipt tells every attempt"},
    {go, "WithCredentials", "", acl, "access_key", form::none, "and `secret_key`, `security_token`"},
    {go, "WithTls", "false", tls_table, "enabled", form::same, is_verified},
    {go, "WithTrace", "", producer, "trace", form::none, traced},
};

// sendMsgTimeout, send_msg_timeout, setSendMsgTimeout, WithSendMsgTimeout and SetProducerSendMsgTimeout are one word.
std::string plain(std::string_view name)
{
    std::string out;
    for (const char c : name) {
        if (c != '_' && c != '-' && c != '.')
            out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    for (const std::string_view before : {"setproducer", "set", "with"})
        if (out.size() > before.size() && out.starts_with(before))
            return out.substr(before.size());
    return out;
}

std::optional<std::int64_t> number_of(const setting& v)
{
    if (const std::int64_t* i = v.as<std::int64_t>())
        return *i;
    const std::string* s = v.as<std::string>();
    std::int64_t n = 0;
    if (s == nullptr)
        return std::nullopt;
    const auto [end, error] = std::from_chars(s->data(), s->data() + s->size(), n);
    return error == std::errc() && end == s->data() + s->size() ? std::optional(n) : std::nullopt;
}

std::string in_quotes(std::string text)
{
    return to_toml(setting(std::move(text)));
}

std::string milliseconds_from(const setting& v)
{
    constexpr std::int64_t ns_per_ms = 1'000'000, most = 24 * 3600 * std::int64_t{1000};
    std::int64_t ns = 0;
    if (const auto n = number_of(v))
        return *n > 0 && *n <= most ? in_quotes(strategy::format_duration(*n * ns_per_ms)) : "";
    const std::string* s = v.as<std::string>();
    return s != nullptr && strategy::parse_duration(*s, ns) && ns > 0 ? in_quotes(strategy::format_duration(ns)) : "";
}

std::string bytes_from(const setting& v)
{
    const auto n = number_of(v);
    return n && *n > 0 ? in_quotes(strategy::format_size(*n)) : "";
}

std::string retries_from(const setting& v)
{
    const auto n = number_of(v);
    return n && *n >= 0 && *n < 16 ? std::to_string(*n + 1) : "";
}

std::string servers_from(const setting& v)
{
    setting_array list;
    if (const setting_array* given = v.as<setting_array>()) {
        for (const setting& one : *given)
            if (one.as<std::string>() != nullptr)
                list.emplace_back(*one.as<std::string>());
    } else if (const std::string* text = v.as<std::string>()) {
        std::string_view rest = *text;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find_first_of(";,"), rest.size());
            if (end != 0)
                list.emplace_back(std::string(rest.substr(0, end)));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return list.empty() || list.size() > 8 ? "" : to_toml(setting(std::move(list)));
}

std::string lower_case_from(const setting& v)
{
    const std::string* s = v.as<std::string>();
    if (s == nullptr)
        return "";
    std::string out = *s;
    for (char& c : out)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return in_quotes(std::move(out));
}

// Their value as TOML of ours; empty: it cannot be said.
std::string as_ours(value_form how, const setting& v)
{
    switch (how) {
    case form::same: {
        const bool plain_value = v.as<bool>() != nullptr || v.as<std::int64_t>() != nullptr || v.as<std::string>() != nullptr;
        return plain_value ? to_toml(v) : "";
    }
    case form::milliseconds: return milliseconds_from(v);
    case form::bytes: return bytes_from(v);
    case form::retries: return retries_from(v);
    case form::servers: return servers_from(v);
    case form::lower_case: return lower_case_from(v);
    case form::latency_fault:
        if (const bool* on = v.as<bool>())
            return *on ? "{ use = \"latency-fault\" }" : "{ use = \"none\" }";
        return "";
    case form::all_topics:
        if (const bool* on = v.as<bool>())
            return *on ? in_quotes("*") : in_quotes("");
        return "";
    case form::none: break;
    }
    return "";
}

// "the Java, C++ and Go clients".
std::string owners(const std::vector<other_client>& of)
{
    std::vector<std::string> names;
    for (const other_client c : of) {
        std::string_view name = to_string(c);
        if (of.size() > 1 && name.ends_with(" client"))
            name.remove_suffix(7);
        names.emplace_back(name);
    }
    return fmt::format("the {}{}", listed(names), of.size() > 1 ? " clients" : "");
}

std::string without_marks(std::string_view note)
{
    std::string out(note);
    std::replace(out.begin(), out.end(), '`', '\'');
    return out;
}

other_meaning meaning_of(const other_setting& first, const std::vector<other_client>& of, const setting& value, std::string_view table)
{
    const std::string whose = fmt::format("{} of {}", first.name, owners(of));
    if (first.key.empty())
        return {fmt::format("{}: {}", whose, without_marks(first.note)), ""};
    const std::string there = first.table == table ? "here" : fmt::format("in [{}]", first.table);
    const std::string ours = fmt::format("{}.{}", first.table, first.key);
    if (const std::string toml = as_ours(first.form, value); !toml.empty() && toml.size() <= 200)
        return {fmt::format("{} is {} = {} {}", whose, first.key, toml, there), ours};
    return {fmt::format("{} is {} {}{}{}", whose, first.key, there, first.note.empty() ? "" : ": ", without_marks(first.note)), ours};
}

std::optional<other_meaning> look_up(std::string_view key, const setting& value, std::string_view table)
{
    static const std::multimap<std::string, const other_setting*> by_word = [] {
        std::multimap<std::string, const other_setting*> words;
        for (const other_setting& s : all)
            words.emplace(plain(s.name), &s);
        return words;
    }();
    const auto [begin, end] = by_word.equal_range(plain(key));
    if (begin == end)
        return std::nullopt;
    const other_setting& first = *begin->second;
    if (first.table == table && first.key.starts_with(key) && first.key.size() <= key.size() + 1)
        return std::nullopt;  // "name_server": ours, misspelt
    std::vector<other_client> of;
    for (auto i = begin; i != end; ++i)
        if (i->second->key == first.key && i->second->form == first.form)
            of.push_back(i->second->whose);
    return meaning_of(first, of, value, table);
}

}  // namespace

std::string_view to_string(other_client c) noexcept
{
    switch (c) {
    case java: return "Java client";
    case spring: return "Spring starter";
    case cpp: return "C++ client";
    case go: return "Go client";
    }
    return "";
}

std::span<const other_setting> other_settings() noexcept
{
    return all;
}

std::optional<other_meaning> meaning_elsewhere(std::string_view key, const setting& value, std::string_view table)
{
    if (auto found = look_up(key, value, table))
        return found;
    if (table == producer)
        if (auto found = look_up(fmt::format("rocketmq.producer.{}", key), value, table))
            return found;
    // "rocketmq.producer.group" without quotes is a table of tables: the first of its keys that means something.
    if (const setting_table* inner = value.as<setting_table>())
        for (const auto& [name, one] : *inner)
            if (auto found = meaning_elsewhere(fmt::format("{}.{}", key, name), one, table))
                return found;
    return std::nullopt;
}

}  // namespace shunt::config
