#include <config/certificates.hpp>

namespace shunt::config {

std::shared_ptr<tls::context> read_certificates(const tls_options& from, std::vector<problem>& problems)
{
    if (!from.enabled)
        return nullptr;
    std::vector<tls::problem> found;
    auto made = tls::context::client(from, found);
    for (tls::problem& p : found)
        add_problem(problems, {}, "tls." + p.key, std::move(p.found), std::move(p.expected));
    return made;
}

}  // namespace shunt::config
