// Routes by topic: asked for once, kept fresh, and kept when name servers forget.
//
// One question per topic at a time; a topic that cannot be found delays no other. On the executor of its links.

#pragma once

#include <client/name_servers.hpp>
#include <route/route.hpp>

#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::client {

struct route_settings {
    std::chrono::milliseconds refresh{30000};
    bool auto_create = true;
    std::string default_topic = "TBW102";
    std::int32_t default_topic_queues = 4;
};

class route_cache {
public:
    enum class answer : std::uint8_t { known, unknown_topic, failed };
    using waiter = std::function<void(answer, std::string_view text)>;

    /// `changed` is told each new route of a topic, with what changed in words.
    route_cache(net::links& l, name_servers& servers, route_settings settings, std::uint64_t seed,
                std::function<void(const std::shared_ptr<const route::topic_route>&, const std::vector<std::string>&)> changed);

    /// Calls `w` once: at once if the route is known (or known to be missing, for 1 s), else when it was asked for. What
    /// is not known by `deadline_ns` fails; the question goes on for others.
    void need(const std::string& topic, std::int64_t deadline_ns, waiter w);
    /// Asks again though a route is known: at most once a second and topic; `w` (may be empty) hears of the next answer.
    void refresh(const std::string& topic, std::int64_t deadline_ns, waiter w);
    /// The route in use; null: none is known.
    [[nodiscard]] std::shared_ptr<const route::topic_route> find(const std::string& topic) const;
    /// Why the last answer was `failed`: route_timeout, or a fault of TLS with every name server.
    [[nodiscard]] errc why_failed(const std::string& topic) const;
    /// How long ago the route was confirmed.
    [[nodiscard]] std::chrono::milliseconds age(const std::string& topic) const;
    /// The topic is in use: it is polled for 10 more minutes.
    void used(const std::string& topic);
    void stop();
    [[nodiscard]] std::uint64_t queries() const noexcept { return queries_; }
    /// One line for the log, when something changes.
    std::function<void(std::string_view)> on_note;

private:
    struct entry {
        std::string topic;
        std::shared_ptr<const route::topic_route> known;
        bool from_template = false;
        bool asking = false;
        bool noted = false;              // a note about the present trouble was given
        int unknown_answers = 0;         // in a row, while a route is known
        std::int64_t answered_ns = INT64_MIN, asked_ns = INT64_MIN, used_ns = 0, confirmed_ns = 0;
        std::int64_t due_ns = INT64_MAX;  // next poll
        answer last = answer::failed;
        std::string last_text;
        errc last_why = errc::route_timeout;
        std::vector<waiter> waiting;
    };

    void ask(entry& e, std::int64_t deadline_ns, std::int64_t wanted_ns);
    void ask_default(const std::string& topic, std::int64_t deadline_ns, std::int64_t wanted_ns);
    void found(const std::string& topic, const std::string& json, bool from_template);
    void done(const std::string& topic, answer a, std::string text, errc why = errc::route_timeout);
    void schedule(entry& e);
    void poll();
    void arm();
    std::uint64_t random() noexcept;

    net::links& links_;
    name_servers& servers_;
    route_settings settings_;
    std::uint64_t random_state_;
    std::function<void(const std::shared_ptr<const route::topic_route>&, const std::vector<std::string>&)> changed_;
    std::map<std::string, std::unique_ptr<entry>, std::less<>> entries_;
    boost::asio::steady_timer timer_;
    std::int64_t armed_for_ns_ = INT64_MAX;
    std::atomic<std::uint64_t> queries_{0};  // read by others
    bool stopped_ = false;
};

}  // namespace shunt::client
