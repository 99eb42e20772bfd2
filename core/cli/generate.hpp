// What is told of the program elsewhere: manual pages and completions for shells, made from its own options.

#pragma once

#include <string>

namespace CLI {
class App;
}

namespace shunt::cli {

/// Writes man/man1/*.1, and completions for bash, zsh and fish, below `folder`, which is laid out like PREFIX/share.
[[nodiscard]] int generate(const CLI::App& program, const std::string& folder);

}  // namespace shunt::cli
