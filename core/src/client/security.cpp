// Credentials and certificates: taken at the start, and anew when their files change, the function's time has come, or the
// configuration says otherwise.

#include <client/core.hpp>

#include <client/file_events.hpp>
#include <config/certificates.hpp>
#include <config/credentials.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace shunt::client {

namespace {

bool same(const tls_options& a, const tls_options& b)
{
    const auto all = [](const tls_options& o) {
        return std::tie(o.enabled, o.ca, o.certificate, o.key, o.key_password, o.server_name, o.min_version, o.verify);
    };
    return all(a) == all(b);
}

}  // namespace

struct core::security {
    acl_options acl;  // where they come from
    tls_options tls;
    std::optional<credentials> in_force;
    std::shared_ptr<file_events> files;
    core_hook provider_timer;
    std::string credentials_trouble, certificates_trouble;  // said last; empty: all is well
};

/// Before the start: what was read of the options.
void core::take_security(const std::optional<credentials>& who, std::shared_ptr<tls::context> certificates)
{
    links_->certificates = std::move(certificates);
    sign_as(who);
    security_ = std::make_shared<security>();
    security_->acl = options_.acl;
    security_->tls = options_.tls;
    security_->in_force = who;
    security_->provider_timer.owner = this;
    security_->provider_timer.expired = [](net::timer_hook& hook) {
        core& self = *static_cast<core_hook&>(hook).owner;
        self.renew_credentials();
        self.links_->set_timer(hook, self.links_->now_ns() + bounded_ns(self.options_.acl.refresh));
    };
}

void core::start_security()
{
    if (closed_io_)
        return;
    if (options_.acl.provider != nullptr)
        links_->set_timer(security_->provider_timer, links_->now_ns() + bounded_ns(options_.acl.refresh));
    watch_security();
}

void core::stop_security()
{
    links_->clear_timer(security_->provider_timer);
    if (security_->files != nullptr)
        security_->files->stop();
}

void core::watch_security()
{
    std::vector<std::string> wanted;
    if (!security_->acl.file.empty())
        wanted.push_back(security_->acl.file);
    for (const std::string* file : {&security_->tls.ca, &security_->tls.certificate, &security_->tls.key}) {
        if (security_->tls.enabled && !file->empty())
            wanted.push_back(*file);
    }
    if (security_->files == nullptr) {
        if (wanted.empty())
            return;
        security_->files = std::make_shared<file_events>(*links_, [this](const std::vector<std::string>& files) {
            const auto credentials = std::count(files.begin(), files.end(), security_->acl.file);
            if (credentials != 0)
                renew_credentials();
            if (static_cast<std::size_t>(credentials) != files.size())
                renew_certificates();
        });
    }
    security_->files->watch(wanted);
}

/// The configuration says this from now on.
void core::change_security(const acl_options& acl, const tls_options& tls)
{
    acl_options& mine = security_->acl;
    if (options_.acl.provider == nullptr && (mine.keys != acl.keys || mine.file != acl.file || mine.environment != acl.environment)) {
        mine = acl;
        renew_credentials();
    }
    if (!same(security_->tls, tls)) {
        security_->tls = tls;
        renew_certificates();
    }
    watch_security();
}

void core::sign_as(const std::optional<credentials>& who)
{
    links_->signer = who ? std::make_unique<wire::signer>(who->access_key, who->secret_key, who->security_token) : nullptr;
}

void core::renew_credentials()
{
    std::vector<config::problem> problems;
    const auto who = config::read_credentials(security_->acl, problems);
    say_once(security_->credentials_trouble, problems, "; the credentials in force stay");
    if (!problems.empty() || who == security_->in_force)
        return;
    sign_as(who);
    security_->in_force = who;
    note(observe::level::info, "the credentials have changed");
}

/// For connections made from now on; those that are up keep theirs.
void core::renew_certificates()
{
    std::vector<config::problem> problems;
    auto fresh = config::read_certificates(security_->tls, problems);
    say_once(security_->certificates_trouble, problems, "; the certificates in force stay");
    if (!problems.empty())
        return;
    links_->certificates = std::move(fresh);
    note(observe::level::info, "the certificates have changed");
}

/// What is in force stays where new things cannot be had; why is said once.
void core::say_once(std::string& said, const std::vector<config::problem>& problems, std::string_view what)
{
    std::string trouble = config::lines(problems);
    if (!trouble.empty() && trouble != said)
        note(observe::level::warn, trouble + std::string(what));
    said = std::move(trouble);
}

}  // namespace shunt::client
