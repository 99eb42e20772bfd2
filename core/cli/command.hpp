// What main knows of a command: how to add it to the program's options, and what to run when it was chosen.

#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace shunt::cli {

/// How a command ended, as the program's exit status.
enum exit_status : int {
    done = 0,
    failed = 1,  ///< it ran, and not all of it went well
    misused = 2, ///< wrong usage or configuration: nothing was done
};

/// Set by the command that was named; run once all options are known to be right.
using chosen_command = std::function<int()>;

// Each adds a command to the program; one file each, named after it.
void add_send(CLI::App& program, chosen_command& chosen);
void add_tail(CLI::App& program, chosen_command& chosen);
void add_route(CLI::App& program, chosen_command& chosen);
void add_cluster(CLI::App& program, chosen_command& chosen);
void add_plugin(CLI::App& program, chosen_command& chosen);
void add_config(CLI::App& program, chosen_command& chosen);
void add_simulate(CLI::App& program, chosen_command& chosen);
void add_bench(CLI::App& program, chosen_command& chosen);
void add_answer(CLI::App& program, chosen_command& chosen);
void add_topic(CLI::App& program, chosen_command& chosen);
void add_policy(CLI::App& program, chosen_command& chosen);
void add_message(CLI::App& program, chosen_command& chosen);  // in topic.cpp
// Below `plugin`.
void add_plugin_new(CLI::App& plugin, chosen_command& chosen);
void add_plugin_check(CLI::App& plugin, chosen_command& chosen);

}  // namespace shunt::cli
