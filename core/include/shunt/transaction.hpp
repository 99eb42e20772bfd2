// Transactions: a half message that nobody can read, a local branch, then commit or rollback; and the broker's question
// later about those it never heard the end of.

#pragma once

#include <shunt/admin.hpp>
#include <shunt/detail/export.hpp>
#include <shunt/message.hpp>
#include <shunt/receipt.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace shunt {

/// What becomes of a half message.
enum class transaction_end : std::uint8_t {
    unknown,   ///< not decided: the broker asks later, and drops the message when it never hears
    commit,    ///< consumers get it
    rollback,  ///< nobody ever gets it
};
/// "unknown", "commit", "rollback".
[[nodiscard]] SHUNT_EXPORT std::string_view to_string(transaction_end e) noexcept;

/// The work that belongs to a message: runs on the caller's thread once the half message is stored. A throw counts as
/// unknown. It has no time limit of its own; a broker asks for the first time some 6 s after it stored the half message.
using transaction_branch = std::function<transaction_end(const message& m, const receipt& half)>;

/// Answers a broker that never heard the end of a half message: after a lost answer, a crash, a restart. Runs on the
/// producer's callback thread; a throw counts as unknown, and so the broker asks again.
using transaction_checker = std::function<transaction_end(const stored_message& half)>;

class transaction_receipt {
public:
    receipt half;                                    ///< of the half message; the branch ran only if it is stored, status ok
    transaction_end end = transaction_end::rollback; ///< what was decided; a half that was not stored counts as rolled back
    bool confirmed = false;                          ///< the broker has confirmed that end; else it will ask
    std::string reason;                              ///< why it is not confirmed, why the branch did not run, what it threw

    transaction_receipt() = default;
};

}  // namespace shunt
