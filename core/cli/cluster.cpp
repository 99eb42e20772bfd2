// shunt cluster: a name server and brokers in this process, for trying out and for tests.

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"
#include "interrupts.hpp"
#include "json.hpp"
#include "line_reader.hpp"

#include <cluster/embedded_cluster.hpp>
#include <cluster/fault.hpp>
#include <cluster/script.hpp>
#include <config/credentials.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>

namespace shunt::cli {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view self = "cluster";

struct cluster_arguments {
    cluster::options wanted;
    std::string faults, acl;
    cluster::tls_settings tls;
    bool plain_too = false;
    bool json = false;
};

/// Carries out commands, from stdin and from a script, one at a time.
class operation_desk {
public:
    explicit operation_desk(cluster::embedded_cluster& c) : cluster_(c) {}

    /// False: it said `quit`. `where`: in front of what is wrong with it.
    bool carry_out(std::string_view command, std::string_view where)
    {
        const std::lock_guard lock(lock_);
        std::string_view rest = command;
        const std::string_view word = cluster::next_word(rest);
        if (word.empty() || word.front() == '#')
            return true;
        if (word == "quit" || word == "ledger") {
            const std::string file(word == "ledger" ? cluster::next_word(rest) : std::string_view{});
            if (const std::string_view more = cluster::next_word(rest); !more.empty())
                complain(self, fmt::format("{}{} after '{}'; nothing may follow it", where, config::in_marks(more), word));
            else if (word == "quit")
                return false;
            else
                ledger(file, where);
        } else if (const auto problem = cluster_.command(command)) {
            complain(self, fmt::format("{}{}", where, *problem));
        } else {
            complain(self, fmt::format("ok: {}", command));
        }
        return true;
    }

private:
    void ledger(const std::string& file, std::string_view where)
    {
        const std::uint64_t stored = cluster_.stored();
        if (file.empty()) {
            std::ostringstream text;
            cluster_.write_ledger(text);
            out_.write(text.str());
            out_.flush();
        } else {
            errno = 0;
            std::ofstream out(file, std::ios::trunc);
            cluster_.write_ledger(out);
            if (!out.flush()) {
                complain(self, fmt::format("{}the ledger cannot be written to {}: {}", where, config::in_marks(file),
                                           std::generic_category().message(errno)));
                return;
            }
        }
        complain(self, fmt::format("ok: ledger, {}", counted(stored, "message")));
    }

    cluster::embedded_cluster& cluster_;
    std::mutex lock_;
    output out_;
};

std::string ready_line(const cluster::embedded_cluster& c, bool as_json)
{
    if (!as_json)
        return "name server " + c.name_server();
    json out;
    out.object().member("name_server", c.name_server()).key("brokers").object();
    for (const std::string& name : c.broker_names())
        out.member(name, c.broker_address(name));
    return out.end_object().end_object().take();
}

/// Nothing, with a complaint: the file cannot be read or is wrong.
std::optional<cluster::script> read_script(const std::string& file)
{
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in.is_open() || in.bad()) {
        complain(self, fmt::format("--faults is {}; it must be a file that can be read: {}", config::in_marks(file),
                                   std::generic_category().message(errno)));
        return std::nullopt;
    }
    cluster::script script = cluster::parse_script(text, file);
    for (const std::string& error : script.errors)
        complain(self, error);
    if (!script.errors.empty())
        return std::nullopt;
    return script;
}

/// Somebody else has the terminal: the shell, with `&` behind the command. Reading from it would stop this process.
bool in_background()
{
    const pid_t front = ::tcgetpgrp(STDIN_FILENO);
    return front >= 0 && front != ::getpgrp();
}

int run_cluster(const cluster_arguments& a)
{
    cluster::script script;
    if (!a.faults.empty()) {
        auto read = read_script(a.faults);
        if (!read)
            return misused;
        script = std::move(*read);
    }
    cluster::options wanted = a.wanted;
    if (!a.acl.empty()) {
        std::vector<config::problem> problems;
        acl_options from;
        from.file = a.acl;
        if (const auto who = config::read_credentials(from, problems))
            wanted.accounts = {{.access_key = who->access_key, .secret_key = who->secret_key}};
        for (const config::problem& p : problems)
            complain(self, config::to_string(p));
        if (!problems.empty())
            return misused;
    }
    if (!a.tls.certificate.empty()) {
        wanted.tls = a.tls;
        wanted.tls->enforced = !a.plain_too;
    }
    interrupts stop;
    std::unique_ptr<cluster::embedded_cluster> c;
    try {
        wanted.recall = true;
        c = std::make_unique<cluster::embedded_cluster>(wanted);
    } catch (const std::exception& e) {
        complain(self, e.what());
        return failed;
    }
    {
        output out;
        out.line(ready_line(*c, a.json));
        if (!out.finish(self))
            return failed;
    }
    operation_desk desk(*c);
    const cluster::script_runner runner(std::move(script.steps), [&](const cluster::script_step& step) {
        if (!desk.carry_out(step.command, fmt::format("{}:{}: ", a.faults, step.line)))
            stop.request();
    });

    // A read that comes as the terminal goes to somebody else fails, instead of stopping the cluster.
    std::signal(SIGTTIN, SIG_IGN);
    line_reader commands(STDIN_FILENO, stop);
    std::string_view line;
    for (;;) {
        if (in_background()) {
            if (stop.wait_until(std::chrono::steady_clock::now() + 250ms))
                return done;
            continue;
        }
        const auto status = commands.next(line);
        if (status == line_reader::status::line) {
            if (!desk.carry_out(line, ""))
                return done;
        } else if (status == line_reader::status::failed && in_background()) {
            continue;
        } else if (status == line_reader::status::interrupted || ::isatty(STDIN_FILENO) != 0) {
            return done;
        } else {
            // Nobody is there to say quit: run until a signal comes.
            stop.wait();
            return done;
        }
    }
}

}  // namespace

void add_cluster(CLI::App& program, chosen_command& chosen)
{
    auto a = std::make_shared<cluster_arguments>();
    CLI::App& app = *program.add_subcommand(
        "cluster", "Runs a name server and brokers in this process, keeping messages in memory, for trying out.");
    app.footer("Prints the name server's address once it is ready, then takes a command a line on stdin:\n"
               "  BROKER latency D | code N [TEXT] | refuse | hang [stored] | drop [stored] | half | close | garbage | twice | stall\n"
               "  BROKER perm N [TOPIC] | queues N TOPIC | gone | move PORT | ok\n"
               "  name-server hang | refuse | forget | stale | ok\n"
               "  ledger [FILE]     what was stored, a line of JSON a message\n"
               "  quit\n");
    add_option(app, "--brokers", config::whole_number{1, 26}, a->wanted.brokers,
               "how many, called broker-a, broker-b, ...; 3 unless said")->type_name("N");
    add_option(app, "--queues", config::whole_number{1, 65535}, a->wanted.queues,
               "of a new topic on each of them; 4 unless said")->type_name("N");
    add_option(app, "--port", config::whole_number{0, 65535}, a->wanted.port,
               "of the name server; any free one unless said")->type_name("P");
    add_text(app, "--acl", a->acl, "requests must be signed with the credentials in this file: access_key and secret_key, as [acl] file")
        ->type_name("FILE");
    add_option(app, "--acl-form", config::enumerated<cluster::acl_form>{{{"1.0", "2.0"}}}, a->wanted.acl,
               "how those that are not are refused: 1.0 with code 1, 2.0 with 16; 2.0 unless said")->needs("--acl");
    CLI::Option* const certificate =
        add_text(app, "--tls-certificate", a->tls.certificate, "serves under TLS, with the certificate in this PEM file")->type_name("FILE");
    CLI::Option* const key = add_text(app, "--tls-key", a->tls.key, "its private key")->type_name("FILE")->needs(certificate);
    certificate->needs(key);
    add_text(app, "--tls-client-ca", a->tls.ca, "clients must have a certificate of these authorities")->type_name("FILE")->needs(certificate);
    app.add_flag("--tls-optional", a->plain_too, "those who speak plainly are served as well")->needs(certificate);
    add_text(app, "--faults", a->faults, "commands carried out in time, a line each: +2s broker-b hang")->type_name("FILE");
    app.add_flag("--json", a->json, "the first line as an object, with the brokers' addresses");
    app.callback([a, &chosen] { chosen = [a] { return run_cluster(*a); }; });
}

}  // namespace shunt::cli
