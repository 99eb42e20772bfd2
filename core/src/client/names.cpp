#include <client/names.hpp>

#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace shunt::client {

std::string_view keep_name(std::string_view text)
{
    static std::mutex lock;
    static auto& names = *new std::set<std::string, std::less<>>;  // never destroyed: receipts point into it
    const std::lock_guard guard(lock);
    const auto it = names.find(text);
    return it != names.end() ? *it : *names.emplace(text).first;
}

}  // namespace shunt::client
