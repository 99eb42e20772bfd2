// The program `shunt`: finds out which command is meant, and runs it.

#include "command.hpp"
#include "console.hpp"
#include "generate.hpp"

#include <config/value.hpp>
#include <strategy/settings_check.hpp>

#include <CLI/CLI.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// What the caller left closed is taken, so that no file opened later is taken for input or output.
void keep_standard_streams()
{
    int fd = -1;
    do
        fd = ::open("/dev/null", O_RDONLY);  // writing to it is an error, as it was
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        ::close(fd);
}

/// The innermost command that was named: whose usage was wrong.
const CLI::App* named(const CLI::App& program)
{
    const CLI::App* at = &program;
    while (!at->get_subcommands().empty())
        at = at->get_subcommands().front();
    return at;
}

std::string full_name(const CLI::App* app)
{
    std::string name;
    for (; app->get_parent() != nullptr; app = app->get_parent())
        name = app->get_name() + (name.empty() ? "" : " ") + name;
    return name;
}

/// What is wrong, in our words where the library's say little.
std::string text_of(const CLI::ParseError& wrong, const CLI::App& command)
{
    const auto commands = command.get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); });
    if (commands.empty())
        return wrong.what();
    std::vector<std::string> names;
    for (const CLI::App* sub : commands)
        names.push_back(sub->get_name());
    const std::vector<std::string> left = command.remaining();
    if (left.empty())
        return "a command is missing; there are " + shunt::config::listed(names);
    if (left.front().starts_with("-"))
        return "there is no option " + shunt::config::in_marks(left.front()) + " before a command";
    const std::string close = shunt::strategy::closest(left.front(), names);
    return "there is no command " + shunt::config::in_marks(left.front()) + "; there are " + shunt::config::listed(names) +
           (close.empty() ? "" : " (did you mean '" + close + "'?)");
}

}  // namespace

int main(int argc, char** argv)
{
    using namespace shunt::cli;

    keep_standard_streams();
    CLI::App program("shunt sends messages to Apache RocketMQ; which queue each goes to is decided by plugins.\n"
                     "Exit status: 0 done, 1 ran and failed, 2 wrong usage or configuration.",
                     "shunt");
    program.set_version_flag("--version", "shunt " SHUNT_VERSION);
    program.require_subcommand(1);
    chosen_command chosen;
    for (const auto add : {add_send, add_tail, add_route, add_cluster, add_plugin, add_config, add_simulate, add_bench, add_topic, add_message, add_answer, add_policy})
        add(program, chosen);
    if (argc == 3 && std::string_view(argv[1]) == "--generate")  // for the build
        return generate(program, argv[2]);
    try {
        program.parse(argc, argv);
    } catch (const CLI::Success& help) {
        return program.exit(help);
    } catch (const CLI::ParseError& wrong) {
        const std::string name = full_name(named(program));
        complain(name, text_of(wrong, *named(program)));
        complain(name, "see shunt " + name + (name.empty() ? "" : " ") + "--help");
        return misused;
    }
    try {
        return chosen();
    } catch (const std::exception& e) {
        complain(full_name(named(program)), e.what());
        return failed;
    }
}
