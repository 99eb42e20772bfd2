#include <shunt/producer.hpp>

#include <client/core.hpp>
#include <config/load.hpp>

#include <optional>
#include <utility>

namespace shunt {

namespace {

boost::system::result<producer_options, setup_error> read(const std::string& file)
{
    std::vector<config::problem> problems;
    config::loaded l = config::load_file(file, problems);
    if (problems.empty())
        return std::move(l.options);
    std::string text;
    for (const config::problem& p : problems)
        text += (text.empty() ? "" : "\n") + config::to_string(p);
    return setup_error{text};
}

}  // namespace

producer::producer(std::shared_ptr<client::core> core) : core_(std::move(core)) {}

boost::system::result<producer, setup_error> producer::create(producer_options options)
{
    auto made = client::core::make(std::move(options), std::nullopt);
    if (!made)
        return made.error();
    return producer(std::move(*made));
}

boost::system::result<producer, setup_error> producer::create(producer_options options, executor_type executor)
{
    auto made = client::core::make(std::move(options), std::move(executor));
    if (!made)
        return made.error();
    return producer(std::move(*made));
}

boost::system::result<producer, setup_error> producer::open(const std::string& file)
{
    auto options = read(file);
    if (!options)
        return options.error();
    return create(std::move(*options));
}

boost::system::result<producer, setup_error> producer::open(const std::string& file, executor_type executor)
{
    auto options = read(file);
    if (!options)
        return options.error();
    return create(std::move(*options), std::move(executor));
}

producer::producer(producer&&) noexcept = default;

producer& producer::operator=(producer&& other) noexcept
{
    if (this != &other) {
        if (core_ != nullptr)
            core_->close(std::chrono::seconds(3));
        core_ = std::move(other.core_);
    }
    return *this;
}

producer::~producer()
{
    if (core_ != nullptr)
        core_->close(std::chrono::seconds(3));
}

receipt producer::deliver(message m, send_options options) { return core_->deliver(false, std::move(m), std::move(options)); }

receipt producer::deliver_oneway(message m, send_options options) { return core_->deliver(true, std::move(m), std::move(options)); }

result<receipt> producer::send(message m, send_options options)
{
    receipt r = deliver(std::move(m), std::move(options));
    if (r.error.failed())
        return r.error;
    return r;
}

result<receipt> producer::send_oneway(message m, send_options options)
{
    receipt r = deliver_oneway(std::move(m), std::move(options));
    if (r.error.failed())
        return r.error;
    return r;
}

void producer::start(const std::shared_ptr<client::core>& core, bool oneway, message&& m, send_options&& options, detail::completion&& done)
{
    core->start(oneway, std::move(m), std::move(options), std::move(done));
}

result<route_info> producer::route(const std::string& topic, std::chrono::milliseconds timeout) { return core_->route(topic, timeout); }

bool producer::close(std::chrono::milliseconds deadline) { return core_->close(deadline); }

shunt::counters producer::counters() const { return core_->counters(); }

producer::executor_type producer::get_executor() const { return core_->executor(); }

std::uint64_t producer::generation() const noexcept { return core_->generation(); }

std::string producer::name_server() const { return core_->name_server(); }

}  // namespace shunt
