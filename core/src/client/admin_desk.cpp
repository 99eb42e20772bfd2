#include <client/admin_desk.hpp>

#include <client/core.hpp>
#include <client/statistics.hpp>
#include <config/load.hpp>
#include <swap/plan.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace shunt::client {

namespace {

using observe::admin_answer;
using observe::admin_request;
using observe::json;
using std::chrono::milliseconds;

constexpr milliseconds health_limit{1000};    // for the I/O side to answer at all,
constexpr milliseconds verb_limit{4000};      // and to carry out a verb
constexpr milliseconds admission_limit{60'000}, admission_look{5};

std::int64_t wall_ms()
{
    return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

admin_answer with(unsigned status, std::string body, std::string type = "application/json")
{
    admin_answer a;
    a.status = status;
    a.type = std::move(type);
    a.body = std::move(body);
    if (!a.body.ends_with('\n'))
        a.body += '\n';
    return a;
}

admin_answer complaint(unsigned status, std::string_view text)
{
    return with(status, json().object().member("error", text).end_object().text());
}

template <typename T>
std::optional<T> number(std::string_view text)
{
    T value{};
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || ec != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

std::string wrong(std::string_view name, std::string_view found, std::string_view expected)
{
    return std::string(name) + " is " + config::in_marks(std::string(found)) + "; it must be " + std::string(expected);
}

constexpr std::string_view file_expected = "an absolute path";
constexpr std::string_view share_expected = "a share: above 0 and at most 1";
bool is_share(const std::optional<double>& share) noexcept { return share && *share > 0 && *share <= 1; }

/// Takes the query of `stage`. Not empty: what is wrong.
std::string read(const admin_request& request, stage_options& how, std::string& file)
{
    how.who = "admin";
    for (const auto& [name, value] : request.query) {
        if (name == "who") {
            how.who = value;
        } else if (name == "what") {
            how.what = value;
        } else if (name == "file") {
            if (!value.starts_with("/"))
                return wrong(name, value, file_expected);
            file = value;
        } else if (name == "shadow" || name == "canary") {
            const auto share = number<double>(value);
            if (!is_share(share))
                return wrong(name, value, share_expected);
            (name == "shadow" ? how.shadow : how.canary) = *share;
        } else if (name == "hold" || name == "auto_promote" || name == "now" || name == "force") {
            if (value != "true" && value != "false")
                return wrong(name, value, "true or false");
            (name == "hold" ? how.hold : name == "auto_promote" ? how.auto_promote : name == "now" ? how.now : how.force) = value == "true";
        } else {
            return "stage knows no " + config::in_marks(name) + "; it knows shadow, canary, auto_promote, hold, now, force, who, what and file";
        }
    }
    return {};
}

}  // namespace

admin_desk::admin_desk(core& owner) : core_(owner), started_ms_(wall_ms())
{
    std::error_code ignored;
    if (!owner.options_.file.empty())
        file_ = std::filesystem::absolute(owner.options_.file, ignored).string();
}

std::unique_ptr<admin_desk> admin_desk::open(core& owner, std::string& error)
{
    const admin_options& o = owner.options_.admin;
    std::unique_ptr<admin_desk> desk(new admin_desk(owner));
    observe::admin_settings settings;
    settings.listen = o.listen;
    settings.token = o.token;
    (void)std::from_chars(o.mode.data(), o.mode.data() + o.mode.size(), settings.mode, 8);
    desk->server_ = observe::admin_server::listen(std::move(settings), error);
    if (desk->server_ == nullptr)
        return nullptr;
    desk->address_ = desk->server_->address();
    return desk;
}

void admin_desk::start() { server_->start(*this); }

void admin_desk::tick() { history_.step(core_.statistics_->counts, core_.generation(), wall_ms()); }

void admin_desk::answer(admin_request request, thread_ptr thread, reply then)
{
    const std::string_view path = request.path;
    constexpr std::string_view policies_path = "/policies";
    if (!request.post) {
        if (path == "/metrics")
            return then(with(200, metrics(), "text/plain; version=0.0.4; charset=utf-8"));
        if (path == "/healthz" || path == "/readyz")
            return health(path == "/readyz", thread, then);
        if (path == "/about")
            return then(with(200, about()));
        if (path == policies_path)
            return then(with(200, policies()));
        if (path == "/routes")
            return then(with(200, routes()));
        if (path == "/plugins")
            return then(with(200, plugins()));
        if (path == "/config")
            return then(with(200, config()));
        if (path == "/history") {
            json out;
            history_.put(out, core_.statistics_->counts);
            return then(with(200, out.take()));
        }
        if (path == "/decisions") {
            const auto most = request.query.contains("limit") ? number<std::size_t>(request.get("limit")) : 100;
            if (!most || *most < 1 || *most > observe::decision_sample::max_kept)
                return then(complaint(400, wrong("limit", request.get("limit"), "a whole number from 1 to 1024")));
            return then(with(200, decisions(*most)));
        }
        if (path.starts_with("/policies/")) {
            if (const auto id = number<std::uint64_t>(path.substr(policies_path.size() + 1))) {
                std::string text = swap(*id);
                return then(text.empty() ? complaint(404, "there is no swap " + std::to_string(*id)) : with(200, std::move(text)));
            }
        }
        return then(complaint(404, "there is nothing at " + request.path +
                                       "; there are /about, /config, /decisions, /healthz, /history, /metrics, /plugins, /policies, /policies/ID, /readyz and /routes"));
    }
    if (!path.starts_with("/policies/"))
        return then(complaint(404, "nothing is changed at " + request.path + "; verbs are below /policies/"));
    std::string_view rest = path.substr(policies_path.size() + 1);
    if (rest == "diff")
        return diff(request, then);
    if (!core_.options_.admin.verbs)
        return then(complaint(403, "policies are not changed from here: verbs = false under [admin]"));
    if (rest == "stage")
        return stage(request, thread, then);
    std::uint64_t id = 0;
    const std::size_t slash = rest.find('/');
    if (slash != rest.npos) {
        const auto given = number<std::uint64_t>(rest.substr(0, slash));
        if (!given)
            return then(complaint(404, wrong("the swap", rest.substr(0, slash), "its number")));
        id = *given;
        rest.remove_prefix(slash + 1);
    }
    verb(rest, id, slash != rest.npos, request, thread, then);
}

// ---- health ----

void admin_desk::health(bool ready, const thread_ptr& thread, const reply& then)
{
    const auto say = [](std::string_view problem) {
        json out;
        out.object().member("ok", problem.empty()).key("problems").array();
        if (!problem.empty())
            out.value(problem);
        return with(problem.empty() ? 200 : 503, out.end_array().end_object().text());
    };
    if (ready && core_.closing_.load(std::memory_order_relaxed))
        return then(say("the producer is closed"));
    if (ready) {
        const std::string obstacle = core_.counters().route_error;
        if (!obstacle.empty())
            return then(say("sends wait for a route: " + obstacle));
    }
    boost::asio::post(core_.executor_, [then, say] { then(say({})); });
    thread->after(health_limit, [then, say] { then(say("the I/O side did not answer in 1 s")); });
}

// ---- verbs ----

void admin_desk::stage(const admin_request& request, const thread_ptr& thread, const reply& then)
{
    stage_options how;
    std::string file = file_;
    if (const std::string text = read(request, how, file); !text.empty())
        return then(complaint(400, text));
    if (how.what.empty())
        how.what = file.empty() ? "a configuration without a name" : file;
    if (request.body.empty() && file_.empty())
        return then(complaint(400, "the producer was made without a file; send the new configuration as the body"));
    const swap_handle h = request.body.empty() ? core_.stage_file(file_, std::move(how)) : core_.stage_text(request.body, file, std::move(how));
    await_admission(h, std::chrono::steady_clock::now() + admission_limit, thread, then);
}

void admin_desk::await_admission(const swap_handle& h, std::chrono::steady_clock::time_point until, const thread_ptr& thread, const reply& then)
{
    const swap_state now = h.status().state;
    const bool on_its_way = now == swap_state::staged || now == swap_state::admitting;
    if (!on_its_way || std::chrono::steady_clock::now() >= until) {
        then(with(now == swap_state::refused ? 422 : on_its_way ? 202 : 200, swap(h.id())));
        return;
    }
    thread->after(admission_look, [this, h, until, thread, then] { await_admission(h, until, thread, then); });
}

void admin_desk::diff(const admin_request& request, const reply& then)
{
    std::string file = file_;
    if (request.query.contains("file"))
        file = request.get("file");
    if (!file.empty() && file.front() != '/')
        return then(complaint(400, wrong("file", file, file_expected)));
    std::vector<config::problem> problems;
    if (request.body.empty() && file_.empty())
        return then(complaint(400, "the producer was made without a file; send the new configuration as the body"));
    config::loaded l = request.body.empty() ? config::load_file(file_, problems) : config::load_text(request.body, file, problems);
    swap::plan plan;
    if (problems.empty()) {
        core_.apply_overrides(l.options);
        thread_slot& slot = core_.slots_->mine();
        const epoch_domain::reading mark(core_.epochs_, slot.epoch);
        plan = swap::make_plan(core_.in_force_.load(std::memory_order_seq_cst)->table->options, l.options);
    }
    const std::string restart = plan.needs_restart();
    json out;
    out.object().member("ok", problems.empty() && restart.empty()).key("changes").array();
    for (const swap_change& c : plan.changes)
        out.object().member("key", c.key).member("from", c.from).member("to", c.to).member("live", c.live).end_object();
    out.end_array().key("problems").array();
    for (const config::problem& p : problems)
        out.value(config::to_string(p));
    if (!restart.empty())
        out.value(restart);
    then(with(200, out.end_array().end_object().text()));
}

void admin_desk::verb(std::string_view name, std::uint64_t id, bool has_id, const admin_request& request, const thread_ptr& thread,
                      const reply& then)
{
    using verbs = core::swap_verb;
    static constexpr std::array<std::pair<std::string_view, verbs>, 5> known{
        {{"shadow", verbs::shadow}, {"canary", verbs::canary}, {"promote", verbs::promote}, {"rollback", verbs::rollback}, {"barrier", verbs::barrier}}};
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == name; });
    if (found == known.end() || (has_id && found->second == verbs::barrier))
        return then(complaint(404, "there is no verb " + config::in_marks(std::string(name)) +
                                       "; there are stage, diff, shadow, canary, promote, rollback and barrier"));
    verbs what = found->second;
    double share = 0;
    if (what == verbs::shadow || what == verbs::canary) {
        const auto given = number<double>(request.get("share"));
        if (!is_share(given))
            return then(complaint(400, wrong("share", request.get("share"), share_expected)));
        share = *given;
    }
    if (what != verbs::barrier) {
        const std::vector<standing> all = swaps();
        const roles now(all);
        // What is taken back: the one that is named, else a candidate, else what is in force.
        const bool of_in_force = has_id ? now.in_force != nullptr && id == now.in_force->status.id : now.candidate == nullptr;
        if (!has_id && now.candidate == nullptr && what != verbs::rollback)
            return then(complaint(409, "there is no candidate; stage one, or say which swap is meant"));
        // By itself, perhaps, a moment ago: who asks for it then does not want it back.
        if (what == verbs::rollback && of_in_force && now.taken_back())
            return then(complaint(409, "swap " + std::to_string(now.previous->status.id) +
                                           " was taken back already; to put it in force again, promote it by its number"));
        if (!has_id && now.candidate != nullptr) {
            id = now.candidate->status.id;
        } else if (!has_id) {
            what = verbs::rollback_last;
            id = now.in_force != nullptr ? now.in_force->status.id : 0;
        }
    }
    std::string reason(request.get("reason"));
    if (reason.empty())
        reason = "asked for";
    const bool barrier = what == verbs::barrier;
    core_.swap_command(what, id, share, std::move(reason), [this, thread, then, id, barrier](std::string text) {
        thread->after(milliseconds(0), [this, then, id, barrier, text = std::move(text)] {
            if (!text.empty())
                then(complaint(409, text));
            else
                then(with(200, barrier ? json().object().member("ok", true).end_object().text() : swap(id)));
        });
    });
    thread->after(verb_limit, [then] { then(complaint(503, "the producer's executor did not get to it in 4 s; it may still be done")); });
}

}  // namespace shunt::client
