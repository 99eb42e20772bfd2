// Keeps the process of a check to itself, so that what a plugin does by mistake or on purpose meets no other process.

#pragma once

namespace shunt::plugin::check {

/// From now on, in all threads: no signal reaches another process, and none leaves the process group, which ends as a whole;
/// such calls fail with EPERM. Whoever starts a process is killed by SIGSYS, unless `may_start_processes`; threads may be
/// started. Where memory runs out, this process is the first to go. False: this machine has no such means.
bool confine_this_process(bool may_start_processes) noexcept;

}  // namespace shunt::plugin::check
