// Records what is sent, topic by topic, and writes it as scenarios when the producer closes. The I/O side's.

#pragma once

#include <record/recording.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::client {

class recorder {
public:
    static constexpr std::size_t max_topics = 16;  ///< where the file's name has {topic}; else 1

    /// What is in the way of writing to `path` (of producer_options::record); nothing: it can be written.
    [[nodiscard]] static std::optional<std::string> obstacle(const std::string& path);

    recorder(const std::string& path, plugin_options plugins);

    /// The recording of a topic, begun with a send that was called at `start_ns`; null: no more topics are recorded.
    [[nodiscard]] record::recording* of(const std::string& topic, std::int64_t start_ns);
    /// The recording that has begun; null: none.
    [[nodiscard]] record::recording* begun(std::string_view topic);

    /// Writes the files. Empty: all of them, else what went wrong.
    [[nodiscard]] std::string write();

private:
    const std::string path_;
    const plugin_options plugins_;
    const std::size_t most_;
    std::map<std::string, std::unique_ptr<record::recording>, std::less<>> all_;
};

}  // namespace shunt::client
