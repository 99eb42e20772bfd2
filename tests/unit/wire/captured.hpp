// Frames as real clients and servers wrote them, from tests/data/frames: the bytes, and what its .txt says is in them.

#pragma once

#include <support/paths.hpp>

#include <wire/command.hpp>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::wire::test {

/// Hex digits with blanks and line ends between them.
inline std::string from_hex(std::string_view hex)
{
    std::string digits;
    std::copy_if(hex.begin(), hex.end(), std::back_inserter(digits), [](char c) { return c > ' '; });
    std::string out;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    return out;
}

inline std::string to_hex(std::string_view bytes)
{
    std::string out;
    for (const char c : bytes) {
        out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
        out += "0123456789abcdef"[c & 0xf];
    }
    return out;
}

inline std::string read_text_file(const std::filesystem::path& path)
{
    std::ifstream in{path, std::ios::binary};
    EXPECT_TRUE(in) << path;
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
}

struct captured {
    std::string name;
    std::string bytes;
    // What the text beside it says.
    std::int64_t code = 0, opaque = 0, flag = 0, version = 0;
    std::string language;
    std::string remark;
    std::map<std::string, std::string> fields;
    std::size_t header_size = 0, body_size = 0;
    int serialize_type = 0;
};

inline std::int64_t number_after(std::string_view text, std::string_view word)
{
    const auto at = text.find(word);
    EXPECT_NE(at, std::string_view::npos) << word;
    return std::stoll(std::string{text.substr(at + word.size(), 24)});
}

inline void read_json_header(const std::string& text, captured& out)
{
    const auto from = text.find("on the wire:\n{\n") + 13;
    const auto header = boost::json::parse(text.substr(from, text.find("\n}\n", from) + 2 - from)).as_object();
    out.code = header.at("code").as_int64();
    out.opaque = header.at("opaque").as_int64();
    out.flag = header.at("flag").as_int64();
    out.version = header.at("version").as_int64();
    out.language = header.at("language").as_string();
    if (header.contains("remark"))
        out.remark = header.at("remark").as_string();
    if (!header.contains("extFields"))
        return;
    for (const auto& [name, value] : header.at("extFields").as_object())
        out.fields[name] = value.as_string();
}

inline void read_binary_header(const std::string& text, captured& out)
{
    std::istringstream lines{text.substr(text.find("\nheader: code") + 1)};
    std::string line;
    std::getline(lines, line);
    out.code = number_after(line, "code ");
    out.opaque = number_after(line, "opaque ");
    out.flag = number_after(line, "flag ");
    out.version = number_after(line, "version ");
    EXPECT_EQ(number_after(line, "language "), 0);
    out.language = "JAVA";
    while (std::getline(lines, line) && line.starts_with("  \"")) {
        const auto split = line.find("\" = \"");
        out.fields[line.substr(3, split - 3)] = boost::json::parse(line.substr(split + 4)).as_string();
    }
}

inline captured load_captured(const std::filesystem::path& hex)
{
    captured out;
    out.name = hex.stem().string();
    out.bytes = from_hex(read_text_file(hex));
    const std::string text = read_text_file(std::filesystem::path{hex}.replace_extension(".txt"));
    const auto line = std::string_view{text}.substr(text.find("\nframe: "));
    out.header_size = static_cast<std::size_t>(number_after(line, "header "));
    out.body_size = static_cast<std::size_t>(number_after(line, "body "));
    out.serialize_type = static_cast<int>(number_after(line, "serialize type "));
    EXPECT_EQ(static_cast<std::size_t>(number_after(line, "frame: ")), out.bytes.size()) << out.name;
    if (out.serialize_type == 0)
        read_json_header(text, out);
    else
        read_binary_header(text, out);
    return out;
}

inline std::filesystem::path frames_folder() { return std::filesystem::path{shunt::test::in_source("")} / "tests/data/frames"; }

/// One frame by its name: "send-plain.req".
inline captured captured_frame(const std::string& name) { return load_captured(frames_folder() / (name + ".hex")); }

inline const std::vector<captured>& all_captured()
{
    static const std::vector<captured> all = [] {
        std::vector<captured> out;
        for (const auto& file : std::filesystem::directory_iterator{frames_folder()}) {
            if (file.path().extension() == ".hex")
                out.push_back(load_captured(file.path()));
        }
        return out;
    }();
    return all;
}

inline std::map<std::string, std::string> as_map(std::span<const field> fields)
{
    std::map<std::string, std::string> out;
    for (const field& f : fields)
        out[std::string{f.name}] = f.value;
    return out;
}

/// The one frame in `bytes`; the test fails if it is not exactly one.
inline frame whole_frame(std::string_view bytes)
{
    const scan_result r = scan(bytes);
    EXPECT_EQ(r.status, scan_status::complete) << r.what;
    EXPECT_EQ(r.size, bytes.size());
    return r.parts;
}

}  // namespace shunt::wire::test
