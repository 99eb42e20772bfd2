// Helpers of the tests of configuration: rows of bad text, and files in a folder of their own.

#pragma once

#include <config/load.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::config {

inline void PrintTo(const problem& p, std::ostream* out)
{
    *out << "{" << p.line << ", " << p.column << ", \"" << p.key << "\", \"" << p.found << "\", \"" << p.expected << "\", \""
         << p.hint << "\"}";
}

inline void PrintTo(const origin& o, std::ostream* out)
{
    *out << o.key << " = " << o.value << "  # " << o.from;
}

/// A problem in the file "f.toml".
inline problem at(std::uint32_t line, std::uint32_t column, std::string key, std::string found, std::string expected,
                  std::string hint = {})
{
    return {"f.toml", line, column, std::move(key), std::move(found), std::move(expected), std::move(hint)};
}

/// A text and all that must be said of it. `claim` names the row in the test's name.
struct bad_row {
    const char* claim;
    std::string text;
    std::vector<problem> problems;
};

inline void PrintTo(const bad_row& row, std::ostream* out)
{
    *out << row.claim;
}

inline std::string claim_of(const testing::TestParamInfo<bad_row>& row)
{
    return row.param.claim;
}

/// A file that is right but for `line`, which is its third.
inline std::string producer(std::string_view line)
{
    return "[producer]\nembedded = true\n" + std::string(line) + "\n";
}

/// A file that is right but for what follows, which begins in its third line.
inline std::string after_producer(std::string_view rest)
{
    return producer(rest);
}

inline std::vector<problem> problems_of(std::string_view text, const std::string& file = "f.toml")
{
    std::vector<problem> problems;
    (void)load_text(text, file, problems);
    return problems;
}

/// Options of a text that must be right.
inline loaded good(std::string_view text, const std::string& file = "f.toml")
{
    std::vector<problem> problems;
    loaded out = load_text(text, file, problems);
    EXPECT_EQ(problems, std::vector<problem>());
    return out;
}

inline std::string value_of(const loaded& l, std::string_view key)
{
    for (const origin& o : l.origins)
        if (o.key == key)
            return o.value + " from " + o.from;
    return "no such key";
}

/// A folder that is there while the test runs.
class temporary_folder {
public:
    temporary_folder()
    {
        std::string name = (std::filesystem::temp_directory_path() / "shunt-config-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr)
            ADD_FAILURE() << "no temporary folder";
        path_ = name;
    }
    ~temporary_folder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    std::string write(const std::string& name, std::string_view text) const
    {
        const std::filesystem::path file = path_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << text;
        return file.string();
    }

private:
    std::filesystem::path path_;
};

}  // namespace shunt::config
