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

batch_receipt producer::deliver_batch(std::vector<message> messages, send_options options)
{
    return std::move(core_->deliver_batches(std::move(messages), false, options).front());
}

result<batch_receipt> producer::send_batch(std::vector<message> messages, send_options options)
{
    batch_receipt r = deliver_batch(std::move(messages), std::move(options));
    if (r.send.error.failed())
        return r.send.error;
    return r;
}

std::vector<batch_receipt> producer::deliver_batches(std::vector<message> messages, send_options options)
{
    return core_->deliver_batches(std::move(messages), true, options);
}

std::shared_ptr<client::held_room> producer::make_room(const std::shared_ptr<client::core>& core)
{
    return std::make_shared<client::held_room>(core);
}

void producer::start_room(const std::shared_ptr<client::core>& core, std::string&& topic, std::size_t body, std::chrono::milliseconds timeout,
                          const std::shared_ptr<client::held_room>& held, detail::completion&& done)
{
    core->start_room(std::move(topic), body, timeout, held, std::move(done));
}

void producer::cancel_room(const std::shared_ptr<client::held_room>& held) { client::core::cancel_room(held); }

void producer::start_in_room(const std::shared_ptr<client::core>& core, std::shared_ptr<client::held_room>&& held, message&& m,
                             send_options&& options, detail::completion&& done)
{
    core->start_in_room(std::move(held), std::move(m), std::move(options), std::move(done));
}

void producer::start_batch(const std::shared_ptr<client::core>& core, std::vector<message>&& messages, send_options&& options,
                           const std::shared_ptr<detail::batch_parts>& parts, detail::completion&& done)
{
    core->start_batch(std::move(messages), std::move(options), parts, std::move(done));
}

transaction_receipt producer::send_transaction(message m, const transaction_branch& branch, send_options options)
{
    return core_->deliver_transaction(std::move(m), branch, options);
}

void producer::answer_checks(const std::vector<std::string>& topics, transaction_checker checker)
{
    core_->answer_checks(topics, std::move(checker));
}

reply_receipt producer::request(message m, send_options options) { return core_->deliver_request(std::move(m), std::move(options)); }

receipt producer::reply(const stored_message& request, message m, send_options options)
{
    return core_->reply(request, std::move(m), std::move(options));
}

void producer::answer_requests(const std::string& topic, request_answerer answer) { core_->answer_requests(topic, std::move(answer)); }

void producer::start_request(const std::shared_ptr<client::core>& core, message&& m, send_options&& options, bool on_callback_thread,
                             std::function<void(reply_receipt&&)> done)
{
    core->start_request(std::move(m), std::move(options), on_callback_thread, std::move(done));
}

void producer::start(const std::shared_ptr<client::core>& core, bool oneway, message&& m, send_options&& options, detail::completion&& done)
{
    core->start(oneway, std::move(m), std::move(options), std::move(done));
}

result<route_info> producer::route(const std::string& topic, std::chrono::milliseconds timeout) { return core_->route(topic, timeout); }

asked<std::string> producer::recall(const std::string& topic, const std::string& handle, std::chrono::milliseconds timeout)
{
    return core_->recall(topic, handle, timeout);
}

asked<std::vector<std::string>> producer::create_topic(const std::string& topic, const topic_settings& settings, std::chrono::milliseconds timeout)
{
    return core_->create_topic(topic, settings, timeout);
}

asked<std::int64_t> producer::min_offset(const std::string& topic, const std::string& broker, int queue, std::chrono::milliseconds timeout)
{
    return core_->offset(topic, broker, queue, client::core::offset_kind::min, 0, timeout);
}

asked<std::int64_t> producer::max_offset(const std::string& topic, const std::string& broker, int queue, std::chrono::milliseconds timeout)
{
    return core_->offset(topic, broker, queue, client::core::offset_kind::max, 0, timeout);
}

asked<std::int64_t> producer::offset_at(const std::string& topic, const std::string& broker, int queue,
                                        std::chrono::system_clock::time_point time, std::chrono::milliseconds timeout)
{
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
    return core_->offset(topic, broker, queue, client::core::offset_kind::at_time, ms, timeout);
}

asked<stored_message> producer::view(const std::string& topic, const std::string& id, std::chrono::milliseconds timeout)
{
    return core_->view(topic, id, timeout);
}

asked<std::vector<stored_message>> producer::query(const std::string& topic, const std::string& key, int most, std::chrono::milliseconds timeout)
{
    return core_->query(topic, key, most, 0, INT64_MAX, false, timeout);
}

bool producer::close(std::chrono::milliseconds deadline) { return core_->close(deadline); }

swap_handle producer::stage(producer_options wanted, stage_options how) { return core_->stage(std::move(wanted), std::move(how)); }

swap_handle producer::stage_file(const std::string& file, stage_options how) { return core_->stage_file(file, std::move(how)); }

swap_handle producer::reload(std::string who)
{
    stage_options how;
    how.who = std::move(who);
    return core_->stage_file(core_->file(), std::move(how));
}

std::vector<swap_status> producer::swaps() const { return core_->swaps(); }

swap_handle producer::find_swap(std::uint64_t id) const { return core_->find_swap(id); }

std::string producer::rollback(std::string reason)
{
    return core_->swap_command(client::core::swap_verb::rollback_last, 0, 0, std::move(reason));
}

std::string producer::barrier() { return core_->swap_command(client::core::swap_verb::barrier, 0, 0, {}); }

shunt::counters producer::counters() const { return core_->counters(); }

producer::executor_type producer::get_executor() const { return core_->executor(); }

std::uint64_t producer::generation() const noexcept { return core_->generation(); }

std::string producer::admin_address() const { return core_->admin_address(); }

std::string producer::name_server() const { return core_->name_server(); }

}  // namespace shunt
