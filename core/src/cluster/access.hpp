// Who may ask brokers, and what those who may not are told. Pure.

#pragma once

#include <cluster/embedded_cluster.hpp>
#include <wire/command.hpp>
#include <wire/sign.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::cluster {

class access_control {
public:
    /// None: anybody may do anything.
    void set(const std::vector<account>& accounts);

    /// Empty: the request is signed by somebody who may. Otherwise the words of a broker whose access control has this form.
    [[nodiscard]] std::string refusal(const wire::command& request, std::string_view body, std::string_view from, acl_form form) const;

private:
    struct entry {
        std::vector<std::string> topics;
        wire::signature_key key;
    };
    std::map<std::string, entry, std::less<>> accounts_;
};

}  // namespace shunt::cluster
