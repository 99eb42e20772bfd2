// The configuration file and plugin files are watched: what changed is staged, what is wrong is said once.

#include <client/core.hpp>

#include <client/file_events.hpp>
#include <config/load.hpp>
#include <plugin/image.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace shunt::client {

struct core::watcher {
    std::shared_ptr<file_events> events;
    std::map<std::string, std::string> plugins;  // files in use that are not pinned: the sha256 last taken
    producer_options taken;                      // what the file said when it was last read without trouble
    std::string trouble;                         // said last; empty: all is well
};

namespace {

/// Why it cannot be read as a file; empty: it can be tried. What is no file, as a pipe, may never answer.
std::string why_no_file(const std::string& file)
{
    struct stat st {};
    if (::stat(file.c_str(), &st) != 0)
        return file + (errno == ENOENT ? ": it is not there any more" : ": it cannot be read any more: " + std::generic_category().message(errno));
    if (S_ISREG(st.st_mode))
        return {};
    return file + (S_ISDIR(st.st_mode) ? ": it is a folder now" : ": it is no regular file now");
}

}  // namespace

void core::start_watch()
{
    if (!options_.watch || options_.file.empty())
        return;
    watcher_ = std::make_shared<watcher>();
    watcher_->taken = options_;
    watcher_->events = std::make_shared<file_events>(*links_, [this](const std::vector<std::string>& files) {
        look_at_files(files);
        run_inbox();
    });
    watch_files();
}

void core::stop_watch()
{
    if (watcher_ == nullptr)
        return;
    watcher_->events->stop();
    watcher_ = nullptr;
}

/// What is to be watched depends on what is in force.
void core::watch_files()
{
    if (watcher_ == nullptr)
        return;
    std::map<std::string, std::string> plugins;
    current_->each_class([&](const strategy::strategy_class& cls) {
        const auto named = current_->options.plugins.load.find(cls.name);
        const bool pinned = named != current_->options.plugins.load.end() && named->second.file == cls.file && !named->second.sha256.empty();
        if (!cls.file.empty() && !pinned) {
            const auto before = watcher_->plugins.find(cls.file);
            plugins[cls.file] = before != watcher_->plugins.end() ? before->second : cls.sha256;
        }
    });
    watcher_->plugins = std::move(plugins);
    std::vector<std::string> files{options_.file};
    for (const auto& [file, sha256] : watcher_->plugins)
        files.push_back(file);
    watcher_->events->watch(files);
}

void core::look_at_files(const std::vector<std::string>& files)
{
    bool changed = false, config_changed = false;
    for (const std::string& file : files) {
        if (file == options_.file) {
            config_changed = true;
        } else if (plugin::file_content now; !plugin::read_file(file, plugin::path_rules::readable, now)) {
            std::string& seen = watcher_->plugins[file];
            changed = changed || seen != now.sha256;
            seen = now.sha256;
        } else {
            say_trouble("plugin file " + file + " cannot be read any more; what is loaded stays");
        }
    }
    if (config_changed || changed)
        take_file(changed);
}

/// Stages what the file says, unless it says what it said before and no plugin file changed.
void core::take_file(bool plugins_changed)
{
    std::string trouble = why_no_file(options_.file);
    config::loaded l;
    if (trouble.empty()) {
        std::vector<config::problem> problems;
        l = config::load_file(options_.file, problems);
        for (const config::problem& p : problems)
            trouble += (trouble.empty() ? "" : "\n") + config::to_string(p);
    }
    stage_options how;
    how.who = "watch";
    how.what = options_.file;
    if (!trouble.empty()) {
        if (trouble == watcher_->trouble)
            return;
        watcher_->trouble = trouble;
        step(*new_swap(std::move(how)).record_, swap_state::refused, trouble + "; what is in force stays");
        return;
    }
    watcher_->trouble.clear();
    apply_overrides(l.options);
    change_security(l.options.acl, l.options.tls);
    // Not what is in force: what was rolled back does not come again because somebody touches the file.
    if (!plugins_changed && config::differences(watcher_->taken, l.options).empty())
        return;
    watcher_->taken = l.options;
    (void)stage(std::move(l.options), std::move(how));
}

void core::say_trouble(std::string text)
{
    if (text == watcher_->trouble)
        return;
    note(observe::level::warn, text);
    watcher_->trouble = std::move(text);
}

}  // namespace shunt::client
