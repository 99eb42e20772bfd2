// Keeps the process of a check to itself, so that what a plugin does by mistake or on purpose meets no other process.

#pragma once

namespace shunt::plugin::check {

enum class misuse {
    fails,  ///< a signal to another process fails with EPERM; processes may be started
    kills,  ///< who sends a signal to another process, or starts one, is killed by SIGSYS
};

/// From now on, in all threads: no signal reaches another process, and none leaves the process group, which ends as a whole.
/// Threads may be started. Where memory runs out, this process is the first to go. False: this machine has no such means.
bool confine_this_process(misuse on_misuse) noexcept;

}  // namespace shunt::plugin::check
