// The differences from the Java client that core/README.md lists: what the tests that compare both find must be these.

#pragma once

#include <support/paths.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace shunt::test {

/// By the difference, where it is found: names of frames, or kinds of messages.
using differences = std::map<std::string, std::set<std::string>>;

/// The table whose first column is called `column`: | `a`, `b` | `difference` | why |
inline differences listed_differences(const std::string& column)
{
    std::ifstream in(in_source("/core/README.md"));
    const auto code_spans = [](const std::string& cell) {
        std::vector<std::string> out;
        for (std::size_t at = cell.find('`'); at != cell.npos; at = cell.find('`', at + 1)) {
            const std::size_t end = cell.find('`', at + 1);
            out.push_back(cell.substr(at + 1, end - at - 1));
            at = end;
        }
        return out;
    };
    differences out;
    std::string line;
    while (std::getline(in, line) && !line.starts_with("| " + column + " |")) {
    }
    std::getline(in, line);  // |---|
    while (std::getline(in, line) && line.starts_with("| `")) {
        const std::size_t second = line.find(" | ", 2), third = line.find(" | ", second + 3);
        const auto where = code_spans(line.substr(2, second - 2));
        const auto what = code_spans(line.substr(second, third - second));
        if (what.size() != 1 || line.size() < third + 6)
            throw std::runtime_error("core/README.md: a difference needs one text and a reason: " + line);
        out[what[0]].insert(where.begin(), where.end());
    }
    return out;
}

/// In words, for failing tests.
inline std::string shown(const differences& all)
{
    std::string out;
    for (const auto& [what, where] : all) {
        out += "| ";
        for (const std::string& name : where)
            out += (name == *where.begin() ? "`" : ", `") + name + "`";
        out += " | `" + what + "` |\n";
    }
    return out;
}

}  // namespace shunt::test
