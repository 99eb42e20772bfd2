// The campaign: rounds of random load under random faults, each checked against the ledger of the brokers.

#include <campaign/plan.hpp>
#include <campaign/round.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::campaign {
namespace {

using clock = std::chrono::steady_clock;

constexpr const char* usage =
    "usage: campaign [--minutes N | --seconds N | --rounds N] [--seed S] [--fresh N] [--senders I,J,..] [--faults I,J,..]\n"
    "                [--messages N] [--no-shrink] [--show]\n"
    "  --seed S      rounds S, S+1, ...; without a length one round. Without --seed: one that nobody has seen\n"
    "  --fresh N     after them so many rounds of seeds that nobody has seen\n"
    "  --senders, --faults, --messages    only these of the round, and at most so many messages of each sender\n"
    "  --show        what the rounds would do; runs nothing\n";
constexpr std::size_t most_failures = 10;
constexpr int tries = 3;                           // threads race: a failure need not come each time
constexpr std::chrono::seconds shrink_time{90};

struct arguments {
    std::chrono::seconds length{0};
    std::uint64_t rounds = 0, fresh = 0;
    std::optional<std::uint64_t> seed;
    std::optional<std::vector<int>> senders, faults;
    int messages = 1'000'000;
    bool shrink = true, show = false;
};

std::optional<std::uint64_t> number(std::string_view text)
{
    std::uint64_t n = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    return ec == std::errc{} && end == text.data() + text.size() && !text.empty() ? std::optional(n) : std::nullopt;
}

std::optional<std::vector<int>> list(std::string_view text)
{
    std::vector<int> all;
    while (!text.empty()) {
        const auto end = std::min(text.find(','), text.size());
        const auto n = number(text.substr(0, end));
        if (!n)
            return std::nullopt;
        all.push_back(static_cast<int>(*n));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return all;
}

std::optional<arguments> parse(std::span<char*> words)
{
    arguments a;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view name = words[i];
        if (name == "--no-shrink" || name == "--show") {
            (name == "--show" ? a.show : a.shrink) = name == "--show";
            continue;
        }
        if (++i == words.size())
            return std::nullopt;
        const std::string_view value = words[i];
        if (name == "--senders" || name == "--faults") {
            auto& wanted = name == "--senders" ? a.senders : a.faults;
            wanted = list(value);
            if (!wanted)
                return std::nullopt;
            continue;
        }
        const auto n = number(value);
        if (!n)
            return std::nullopt;
        if (name == "--minutes" || name == "--seconds")
            a.length = std::chrono::seconds(*n * (name == "--minutes" ? 60 : 1));
        else if (name == "--rounds")
            a.rounds = *n;
        else if (name == "--fresh")
            a.fresh = *n;
        else if (name == "--seed")
            a.seed = *n;
        else if (name == "--messages")
            a.messages = static_cast<int>(*n);
        else
            return std::nullopt;
    }
    return a;
}

template <typename T>
std::vector<int> ids(const std::vector<T>& all)
{
    std::vector<int> found;
    for (const T& one : all)
        found.push_back(one.id);
    return found;
}

std::string joined(const std::vector<int>& all)
{
    std::string text;
    for (const int one : all)
        text += (text.empty() ? "" : ",") + std::to_string(one);
    return text;
}

/// What is left of a round's plan.
struct part {
    std::vector<int> senders, faults;
    int messages;
};

class campaign {
public:
    explicit campaign(arguments a) : arguments_(std::move(a)) {}

    /// One round, and all that is to be said about it.
    void round(std::uint64_t seed)
    {
        const plan whole = make_plan(seed);
        const part p{arguments_.senders.value_or(ids(whole.senders)), arguments_.faults.value_or(ids(whole.faults)), arguments_.messages};
        const plan now = part_of(whole, p.senders, p.faults, p.messages);
        if (arguments_.show) {
            std::fputs(fmt::format("seed {}\n{}", seed, to_text(now)).c_str(), stdout);
            return;
        }
        ++rounds_;
        const auto problems = look(now);
        if (problems.empty())
            return;
        ++failures_;
        std::fputs(fmt::format("\nFAILED: seed {}\n{}{}again: sh tests/campaign.sh --seed {}{}\n", seed, said(problems), to_text(now), seed,
                               arguments_.senders || arguments_.faults ? " " + of_part(p) : "").c_str(), stdout);
        for (const problem& one : problems)
            ++kinds_[one.kind];
        std::fflush(stdout);
        if (arguments_.shrink)
            shrink(whole, p, problems);
    }

    int run()
    {
        std::random_device random;
        const auto unseen = [&] { return (static_cast<std::uint64_t>(random()) << 20 ^ random()) & 0xffffffffffffULL; };
        if (!arguments_.show)
            warm_up();
        std::uint64_t seed = arguments_.seed ? *arguments_.seed : unseen();
        const bool single = arguments_.length.count() == 0 && arguments_.rounds == 0;
        const auto begin = clock::now();
        const auto over = [&](std::uint64_t done) {
            if (failures_ >= most_failures)
                return true;
            return single ? done >= 1 : (arguments_.rounds != 0 && done >= arguments_.rounds) ||
                                            (arguments_.length.count() != 0 && clock::now() - begin >= arguments_.length);
        };
        for (std::uint64_t done = 0; !over(done); ++done)
            round(seed++);
        for (std::uint64_t i = 0; i < arguments_.fresh && failures_ < most_failures; ++i)
            round(unseen());
        if (arguments_.show)
            return 0;
        std::fputs(fmt::format("{} rounds in {} s, seeds to {}: {} messages ({} stored, {} not_sent, {} unknown, {} rejected), {} copies; {} failed\n",
                               rounds_, std::chrono::duration_cast<std::chrono::seconds>(clock::now() - begin).count(), seed - 1, messages_,
                               by_outcome_[outcome::stored], by_outcome_[outcome::not_sent], by_outcome_[outcome::unknown],
                               by_outcome_[outcome::rejected], copies_, failures_).c_str(), stdout);
        for (const auto& [kind, n] : kinds_)
            std::fputs(fmt::format("  {} x {}\n", n, kind).c_str(), stdout);
        return failures_ == 0 ? 0 : 1;
    }

private:
    /// Libraries and plugins that are loaded once stay open: they count for no round.
    void warm_up()
    {
        plan p = make_plan(1);
        p.faults.clear();
        p.senders.resize(1);
        p.senders[0].messages = 1;
        at_rest_ = campaign_run(p, {}).after;
    }

    static history campaign_run(const plan& p, const resources& at_rest) { return shunt::campaign::run(p, at_rest); }

    std::vector<problem> look(const plan& p)
    {
        try {
            const history h = campaign_run(p, at_rest_);
            messages_ += h.sent.size();
            copies_ += h.ledger.size();
            for (const sent_message& m : h.sent)
                ++by_outcome_[m.outcome];
            auto problems = check(h);
            if (!problems.empty())
                at_rest_ = h.after;  // what was left behind once is told once
            return problems;
        } catch (const std::exception& e) {
            return {{"the round could not be carried out", e.what()}};
        }
    }

    static std::string said(const std::vector<problem>& problems)
    {
        std::string text;
        for (const problem& p : problems)
            text += "  " + p.kind + ": " + p.text + "\n";
        return text;
    }
    static std::string of_part(const part& p)
    {
        return fmt::format("--senders {} --faults '{}' --messages {}", joined(p.senders), joined(p.faults), p.messages);
    }

    /// Does the part fail in the same way?
    bool fails(const plan& whole, const part& p, const std::string& kind)
    {
        for (int i = 0; i < tries && clock::now() < until_; ++i) {
            const auto problems = look(part_of(whole, p.senders, p.faults, p.messages));
            if (std::any_of(problems.begin(), problems.end(), [&](const problem& one) { return one.kind == kind; }))
                return true;
        }
        return false;
    }

    /// Leaves out halves, quarters, ... and single ones of `list`, as long as it fails without them.
    void thin(const plan& whole, part& p, std::vector<int> part::*list, std::size_t least, const std::string& kind)
    {
        for (std::size_t size = std::max<std::size_t>(1, (p.*list).size() / 2);; size /= 2) {
            for (std::size_t at = 0; at < (p.*list).size() && (p.*list).size() > least;) {
                part smaller = p;
                auto& all = smaller.*list;
                const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
                all.erase(first, first + static_cast<std::ptrdiff_t>(std::min(size, all.size() - at)));
                if (all.size() >= least && fails(whole, smaller, kind))
                    p = smaller;
                else
                    at += size;
            }
            if (size <= 1 || clock::now() >= until_)
                return;
        }
    }

    void shrink(const plan& whole, part p, const std::vector<problem>& problems)
    {
        until_ = clock::now() + shrink_time;
        const std::string kind = problems.front().kind;
        thin(whole, p, &part::senders, 1, kind);
        thin(whole, p, &part::faults, 0, kind);
        int most = 0;
        for (const sender_plan& s : part_of(whole, p.senders, p.faults, p.messages).senders)
            most = std::max(most, s.messages);
        p.messages = most;
        for (int fewer = most / 2; fewer >= 1 && clock::now() < until_; fewer /= 2) {
            part smaller = p;
            smaller.messages = fewer;
            if (!fails(whole, smaller, kind))
                break;
            p = smaller;
        }
        std::fputs(fmt::format("shrunk to:\n{}again: sh tests/campaign.sh --seed {} {}\n", to_text(part_of(whole, p.senders, p.faults, p.messages)),
                               whole.seed, of_part(p)).c_str(), stdout);
        std::fflush(stdout);
    }

    const arguments arguments_;
    resources at_rest_;
    clock::time_point until_;
    std::uint64_t rounds_ = 0, messages_ = 0, copies_ = 0;
    std::size_t failures_ = 0;
    std::map<outcome, std::uint64_t> by_outcome_;
    std::map<std::string, std::uint64_t> kinds_;
};

}  // namespace
}  // namespace shunt::campaign

int main(int argc, char** argv)
{
    const auto a = shunt::campaign::parse({argv, static_cast<std::size_t>(argc)});
    if (!a) {
        std::fputs(shunt::campaign::usage, stderr);
        return 2;
    }
    return shunt::campaign::campaign(*a).run();
}
