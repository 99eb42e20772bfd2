// Tells when files may have changed: written in place, replaced by renaming, or switched by a link on the way to them.
//
// It is the folders that are watched, for a watch on a file ends with the file. A name that is renamed or linked into its
// place, or a link on the way that is switched (as Kubernetes switches `..data`), counts at once; a file that is written
// in place when its writer has closed it and 250 ms were quiet; one that is deleted after that time too, for editors put
// it back. What events cannot tell (network file systems, lost watches) a look every 30 s finds. Whether the content
// differs is for the caller to find out. No clock: the time comes in.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::config {

class file_watch {
public:
    static constexpr std::int64_t quiet_ns = 250'000'000;
    static constexpr std::int64_t look_ns = 30'000'000'000;
    static constexpr std::int64_t look_again_ns = 1'000'000'000;  ///< while a folder on the way is not there

    file_watch();
    ~file_watch();
    file_watch(const file_watch&) = delete;
    file_watch& operator=(const file_watch&) = delete;

    /// What is readable when something happened; -1: the system has no more watches to give, only looks are left.
    [[nodiscard]] int descriptor() const noexcept { return fd_; }

    /// These files, and no others, from now on. Those watched already go on undisturbed.
    void watch(const std::vector<std::string>& files, std::int64_t now_ns);
    /// Reads what happened. Call it when the descriptor is readable.
    void readable(std::int64_t now_ns);
    /// When to call due(); INT64_MAX: nothing is watched.
    [[nodiscard]] std::int64_t next_ns() const noexcept;
    /// Files that may have changed, each once. They are to be read now.
    [[nodiscard]] std::vector<std::string> due(std::int64_t now_ns);

private:
    /// What of a file tells that it is another one, or was written.
    struct stamp {
        std::uint64_t device = 0, inode = 0, size = 0;
        std::int64_t changed_ns = 0;
        friend bool operator==(const stamp&, const stamp&) = default;
    };
    using name_in_folder = std::pair<std::string, std::string>;
    struct watched {
        std::vector<name_in_folder> way;  ///< links on the way, then the file itself, last
        bool broken = false;              ///< the way does not lead to a folder that is there
        bool writing = false;             ///< written to, and not closed yet
        std::int64_t due_ns = INT64_MAX, look_ns = 0;
        stamp seen, at_look;
    };

    [[nodiscard]] static stamp stamp_of(const std::string& file) noexcept;
    void find_way(const std::string& file, watched& w);
    void arm(std::int64_t now_ns);
    void happened(const std::string& folder, std::string_view name, std::uint32_t mask, std::int64_t now_ns);
    void all_due(std::int64_t now_ns);

    int fd_ = -1;
    std::map<std::string, watched> files_;
    std::map<int, std::string> folders_;          // by watch descriptor
    std::map<std::string, int, std::less<>> watches_;
};

}  // namespace shunt::config
