#include <client/recorder.hpp>

#include <config/problem.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace shunt::client {

namespace {

constexpr std::string_view topic_mark = "{topic}";

std::string file_for(std::string path, std::string_view topic)
{
    for (std::size_t at = path.find(topic_mark); at != path.npos; at = path.find(topic_mark, at + topic.size()))
        path.replace(at, topic_mark.size(), topic);
    return path;
}

std::string words_of(int error) { return std::generic_category().message(error); }

/// Where it is whatever folder the program goes to.
std::string absolute(const std::string& path)
{
    std::error_code failed;
    std::filesystem::path out = std::filesystem::absolute(path, failed);
    return failed ? path : out.lexically_normal().string();
}

plugin_options with_absolute_paths(plugin_options p)
{
    for (std::string& folder : p.path)
        folder = absolute(folder);
    for (auto& [name, file] : p.load)
        file.file = absolute(file.file);
    return p;
}

/// Beside the file, so that a rename puts it in its place.
std::string draft_of(const std::string& path) { return path + ".part-" + std::to_string(getpid()); }

/// 0, or errno.
int write_whole(const std::string& path, std::string_view text)
{
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    int error = 0;
    while (error == 0 && !text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n >= 0)
            text.remove_prefix(static_cast<std::size_t>(n));
        else if (errno != EINTR)
            error = errno;
    }
    if (::close(fd) != 0 && error == 0)
        error = errno;
    return error;
}

/// Where a link leads, so that it stays one.
std::string target_of(const std::string& path)
{
    std::error_code failed;
    const std::filesystem::path target = std::filesystem::weakly_canonical(path, failed);
    return failed ? path : target.string();
}

/// 0, or errno. Whoever reads `path` sees the file that was there, or the whole new one.
int replace_file(const std::string& path, std::string_view text)
{
    const std::string draft = draft_of(path);
    int error = write_whole(draft, text);
    if (error == 0 && std::rename(draft.c_str(), path.c_str()) != 0)
        error = errno;
    if (error != 0)
        (void)::unlink(draft.c_str());
    return error;
}

}  // namespace

std::optional<std::string> recorder::obstacle(const std::string& path)
{
    const auto wrong = [&](const std::string& why) {
        return "record is " + config::in_marks(path) + "; it must be a file that can be written: " + why;
    };
    const std::string file = target_of(file_for(path, "T"));
    std::error_code ignored;
    const std::filesystem::file_status there = std::filesystem::status(file, ignored);
    if (std::filesystem::is_directory(there))
        return wrong(words_of(EISDIR));
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
        return wrong("it is a device, a pipe or a socket, and would be replaced");
    const std::string draft = draft_of(file);
    const int error = write_whole(draft, {});
    (void)::unlink(draft.c_str());
    return error == 0 ? std::nullopt : std::optional(wrong(words_of(error)));
}

recorder::recorder(const std::string& path, plugin_options plugins)
    : path_(absolute(path)), plugins_(with_absolute_paths(std::move(plugins))), most_(path_.find(topic_mark) != path_.npos ? max_topics : 1)
{
}

record::recording* recorder::of(const std::string& topic, std::int64_t start_ns)
{
    if (record::recording* found = begun(topic))
        return found;
    if (all_.size() == most_)
        return nullptr;
    return all_.emplace(topic, std::make_unique<record::recording>(topic, start_ns)).first->second.get();
}

record::recording* recorder::begun(std::string_view topic)
{
    const auto found = all_.find(topic);
    return found == all_.end() ? nullptr : found->second.get();
}

std::string recorder::write()
{
    std::string wrong;
    std::size_t written = 0;
    for (const auto& [topic, r] : all_) {
        const std::string text = r->text(plugins_);
        if (text.empty())
            continue;
        const std::string file = file_for(path_, topic);
        if (const int error = replace_file(target_of(file), text); error != 0)
            wrong += (wrong.empty() ? "" : "\n") + std::string("the run cannot be written to ") + config::in_marks(file) + ": " + words_of(error);
        else
            ++written;
    }
    if (written == 0 && wrong.empty())
        wrong = "nothing was written to " + config::in_marks(path_) + ": no send got as far as a broker";
    return wrong;
}

}  // namespace shunt::client
