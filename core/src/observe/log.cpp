#include <observe/log.hpp>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace shunt::observe {

struct log::sink {
    spdlog::logger logger{"shunt", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
};

namespace {

level parse(std::string_view text) noexcept
{
    if (text == "debug")
        return level::debug;
    if (text == "info")
        return level::info;
    if (text == "warn")
        return level::warn;
    if (text == "error")
        return level::error;
    return level::off;
}

}  // namespace

log::log(std::string_view threshold) : threshold_(parse(threshold))
{
    if (threshold_ == level::off)
        return;
    sink_ = std::make_unique<sink>();
    sink_->logger.set_level(spdlog::level::debug);
    sink_->logger.set_pattern("%Y-%m-%dT%H:%M:%S.%e%z shunt %l: %v");
}

log::~log() = default;

void log::write(level l, std::string_view text)
{
    if (!on(l) || sink_ == nullptr)
        return;
    const auto as = l == level::debug ? spdlog::level::debug : l == level::info ? spdlog::level::info
                  : l == level::warn  ? spdlog::level::warn
                                      : spdlog::level::err;
    sink_->logger.log(as, spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace shunt::observe
