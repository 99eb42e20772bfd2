#include <config/watch.hpp>

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace shunt::config {

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t wanted = IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB |
                                 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

}  // namespace

file_watch::file_watch() : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

file_watch::~file_watch()
{
    if (fd_ >= 0)
        ::close(fd_);
}

file_watch::stamp file_watch::stamp_of(const std::string& file) noexcept
{
    struct stat st {};
    if (::stat(file.c_str(), &st) != 0)
        return {};
    return {st.st_dev, st.st_ino, static_cast<std::uint64_t>(st.st_size), st.st_mtim.tv_sec * 1'000'000'000LL + st.st_mtim.tv_nsec};
}

/// The names whose change makes `file` another one: each link on the way to it, and its own.
void file_watch::find_way(const std::string& file, watched& w)
{
    w.way.clear();
    w.broken = false;
    std::error_code failure;
    const fs::path whole = fs::absolute(file, failure);
    fs::path at = "/";
    std::vector<fs::path> parts(whole.begin(), whole.end());
    std::reverse(parts.begin(), parts.end());  // the next one last
    constexpr int most_links = 40;
    int links = 0;
    while (!parts.empty()) {
        const fs::path part = parts.back();
        parts.pop_back();
        if (part == "/") {
            at = "/";
            continue;
        }
        if (part.empty() || part == ".")
            continue;
        if (part == "..") {
            at = at.parent_path();
            continue;
        }
        const fs::path here = at / part;
        const fs::file_status st = fs::symlink_status(here, failure);
        if (fs::is_symlink(st) && ++links <= most_links) {
            w.way.emplace_back(at.string(), part.string());
            const fs::path to = fs::read_symlink(here, failure);
            const std::vector<fs::path> more(to.begin(), to.end());
            parts.insert(parts.end(), more.rbegin(), more.rend());
            continue;
        }
        if (parts.empty()) {
            w.way.emplace_back(at.string(), part.string());
        } else if (!fs::is_directory(st)) {
            w.way.emplace_back(at.string(), part.string());  // it may come
            w.broken = true;
            return;
        }
        at = here;
    }
}

void file_watch::arm(std::int64_t now_ns)
{
    std::set<std::string> folders;
    for (auto& [file, w] : files_) {
        find_way(file, w);
        for (const auto& [folder, name] : w.way)
            folders.insert(folder);
        if (w.broken || fd_ < 0)
            w.look_ns = std::min(w.look_ns, now_ns + look_again_ns);
    }
    if (fd_ < 0)
        return;
    for (auto it = watches_.begin(); it != watches_.end();) {
        if (folders.contains(it->first)) {
            ++it;
            continue;
        }
        ::inotify_rm_watch(fd_, it->second);
        folders_.erase(it->second);
        it = watches_.erase(it);
    }
    for (const std::string& folder : folders) {
        if (watches_.contains(folder))
            continue;
        const int id = ::inotify_add_watch(fd_, folder.c_str(), wanted);
        if (id < 0) {
            for (auto& [file, w] : files_)
                w.look_ns = std::min(w.look_ns, now_ns + look_again_ns);
            continue;
        }
        // Two names of one folder have one watch.
        if (const auto same = folders_.find(id); same == folders_.end())
            folders_.emplace(id, folder);
        watches_.emplace(folder, id);
    }
}

void file_watch::watch(const std::vector<std::string>& files, std::int64_t now_ns)
{
    std::erase_if(files_, [&](const auto& f) { return std::find(files.begin(), files.end(), f.first) == files.end(); });
    for (const std::string& file : files) {
        const auto [it, fresh] = files_.try_emplace(file);
        if (!fresh)
            continue;
        it->second.seen = stamp_of(file);
        it->second.look_ns = now_ns + look_ns;
    }
    arm(now_ns);
}

void file_watch::all_due(std::int64_t now_ns)
{
    for (auto& [file, w] : files_) {
        w.writing = false;
        w.due_ns = std::min(w.due_ns, now_ns);
    }
}

void file_watch::happened(const std::string& folder, std::string_view name, std::uint32_t mask, std::int64_t now_ns)
{
    for (auto& [file, w] : files_) {
        for (const auto& part : w.way) {
            std::error_code ignored;
            if (part.second != name || (part.first != folder && !fs::equivalent(part.first, folder, ignored)))
                continue;
            const bool itself = &part == &w.way.back();
            if ((mask & IN_MOVED_TO) != 0) {
                w.writing = false;
                w.due_ns = now_ns;
            } else if ((mask & IN_CREATE) != 0) {
                // A link is whole as soon as it is there; a file is still to be written.
                const fs::path there = fs::path(folder) / name;
                const bool whole = !itself || fs::is_symlink(fs::symlink_status(there, ignored)) || !fs::is_regular_file(there, ignored) ||
                                   fs::hard_link_count(there, ignored) > 1;
                w.writing = !whole;
                w.due_ns = whole ? now_ns : INT64_MAX;
            } else if ((mask & IN_MODIFY) != 0) {
                w.writing = true;
                w.due_ns = INT64_MAX;
            } else if ((mask & IN_CLOSE_WRITE) != 0) {
                w.writing = false;
                w.due_ns = now_ns + quiet_ns;
            } else if (!w.writing) {  // it went, or its rights changed
                w.due_ns = now_ns + quiet_ns;
            }
        }
    }
}

void file_watch::readable(std::int64_t now_ns)
{
    if (fd_ < 0)
        return;
    alignas(inotify_event) std::array<char, 16384> bytes;
    bool lost = false;
    for (;;) {
        const ssize_t n = ::read(fd_, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        for (ssize_t at = 0; at < n;) {
            inotify_event e;
            std::memcpy(&e, bytes.data() + at, sizeof e);
            const char* const name = bytes.data() + at + sizeof e;
            at += static_cast<ssize_t>(sizeof e + e.len);
            const auto folder = folders_.find(e.wd);
            if ((e.mask & IN_Q_OVERFLOW) != 0) {
                lost = true;
            } else if ((e.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) != 0) {
                lost = lost || folder != folders_.end();
            } else if ((e.mask & IN_IGNORED) != 0) {
                lost = lost || folder != folders_.end();  // else we gave it up ourselves
            } else if (folder != folders_.end() && e.len != 0) {
                happened(folder->second, name, e.mask, now_ns);
            }
        }
    }
    if (lost) {
        for (const auto& [folder, id] : watches_)
            ::inotify_rm_watch(fd_, id);
        watches_.clear();
        folders_.clear();
        arm(now_ns);
        all_due(now_ns);
    }
}

std::int64_t file_watch::next_ns() const noexcept
{
    std::int64_t next = INT64_MAX;
    for (const auto& [file, w] : files_)
        next = std::min({next, w.due_ns, w.look_ns});
    return next;
}

std::vector<std::string> file_watch::due(std::int64_t now_ns)
{
    std::vector<std::string> out;
    bool again = false;
    for (auto& [file, w] : files_) {
        if (w.look_ns <= now_ns) {
            again = true;
            w.look_ns = now_ns + look_ns;
            // One that is cut off by its name is never closed: it counts when it stands still from look to look.
            const stamp now = stamp_of(file);
            if (now != w.seen && (!w.writing || now == w.at_look)) {
                w.writing = false;
                w.due_ns = std::min(w.due_ns, now_ns);
            }
            w.at_look = now;
        }
        if (w.due_ns > now_ns)
            continue;
        w.due_ns = INT64_MAX;
        w.seen = stamp_of(file);
        out.push_back(file);
    }
    if (again || !out.empty())
        arm(now_ns);
    return out;
}

}  // namespace shunt::config
