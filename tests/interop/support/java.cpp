#include <interop/support/real_cluster.hpp>

#include <support/paths.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <unistd.h>

namespace shunt::interop {
namespace {

using std::filesystem::path;

const path source_dir = path(shunt::test::in_source("")) / "tests/interop";

void must_run(const std::vector<std::string>& argv, const path& log, const std::string& what, std::chrono::milliseconds limit)
{
    child process(argv, log, log);
    if (const auto status = process.wait(limit); status != 0)
        throw std::runtime_error(what + (status ? " failed" : " takes too long") + tail_of(log));
}

std::string content_hash(const std::string& text)
{
    std::uint64_t h = 14695981039346656037u;  // FNV-1a
    for (const char c : text)
        h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    char hex[17];
    std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(h));
    return hex;
}

std::vector<std::string> lines_of(const path& file)
{
    std::istringstream in(text_of(file));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

// The folder of compiled classes. Renamed into place when whole, so that two tests may compile at once.
path compiled(const std::string& name, const path& scratch)
{
    const path source = source_dir / "java" / (name + ".java");
    const std::string text = text_of(source);
    if (text.empty())
        throw std::runtime_error("there is no \"" + source.string() + "\"");
    const path jar_folder = jars("broker-5.3.2");
    const path target = jar_folder.parent_path() / ("classes-" + content_hash(text + jar_folder.filename().string()));
    if (exists(target))
        return target;
    const path part = target.parent_path() / (".part-" + content_hash(scratch.string() + std::to_string(::getpid())));
    must_run({"javac", "-nowarn", "-d", part.string(), "-cp", (jar_folder / "*").string(), source.string()}, scratch / "javac.log",
             "javac " + name + ".java", std::chrono::minutes(2));
    std::error_code taken;
    rename(part, target, taken);
    if (taken)
        remove_all(part);  // another test was faster
    return target;
}

}  // namespace

path make_scratch(const std::string& prefix)
{
    std::string pattern = (path(shunt::test::in_build("")) / (prefix + "-XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("cannot make a folder like \"" + pattern + "\"");
    return pattern;
}

path jars(const std::string& set)
{
    const path scratch = make_scratch("jars");
    const path out = scratch / "out";
    const path log = scratch / "log";
    child process({"sh", (source_dir / "fetch_jars.sh").string(), set}, out, log);
    const auto status = process.wait(std::chrono::minutes(20));
    const std::vector<std::string> lines = lines_of(out);
    const std::string words = tail_of(log);
    remove_all(scratch);
    if (status != 0 || lines.empty())
        throw std::runtime_error("cannot fetch the jars \"" + set + "\"" + words);
    return lines.back();
}

java_run run_java(const std::string& name, const std::vector<std::string>& arguments, const path& scratch,
                  std::chrono::milliseconds limit)
{
    const path classes = compiled(name, scratch);
    const path home = scratch / ("java-" + name);
    create_directories(home);
    std::ofstream(home / "rmq.logback.xml") << "<configuration><root level=\"OFF\"/></configuration>\n";
    std::vector<std::string> argv{"java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
                                  "-Duser.home=" + home.string(), "-cp",
                                  home.string() + ":" + classes.string() + ":" + (jars("broker-5.3.2") / "*").string(), name};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const path out = home / "out";
    const path err = home / "err";
    std::filesystem::remove(out);
    std::filesystem::remove(err);
    child process(argv, out, err);
    const auto status = process.wait(limit);
    if (!status)
        throw std::runtime_error("java " + name + ": not done in " + std::to_string(limit.count()) + " ms" + tail_of(err));
    return {.status = *status, .out = lines_of(out), .err = text_of(err)};
}

}  // namespace shunt::interop
