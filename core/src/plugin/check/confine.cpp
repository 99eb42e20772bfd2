#include <plugin/check/confine.hpp>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace shunt::plugin::check {

namespace {

// Little-endian machines only: the number in a call's argument is read from its first four bytes.
constexpr std::uint32_t this_machine =
#if defined(__x86_64__)
    AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
    AUDIT_ARCH_AARCH64;
#elif defined(__riscv) && __riscv_xlen == 64
    AUDIT_ARCH_RISCV64;
#else
    0;
#endif

// Signals to a thread by its number alone, by a handle of a process, and what leaves the group.
constexpr std::array never{SYS_tkill, SYS_pidfd_send_signal, SYS_setsid, SYS_setpgid};
// The first argument is a process; which one is the signal.
struct signal_call {
    long number;
    std::uint8_t signal;
};
constexpr std::array to_itself{signal_call{SYS_kill, 1}, signal_call{SYS_tgkill, 2}, signal_call{SYS_rt_sigqueueinfo, 1},
                               signal_call{SYS_rt_tgsigqueueinfo, 2}};

// Newer machines have clone and clone3 only.
constexpr std::array starts_process{
    SYS_execve, SYS_execveat,
#ifdef SYS_fork
    SYS_fork, SYS_vfork,
#endif
};

constexpr std::uint16_t load = BPF_LD | BPF_W | BPF_ABS, if_equal = BPF_JMP | BPF_JEQ | BPF_K, answer = BPF_RET | BPF_K;

/// A program for the kernel's filter of system calls; jumps count the instructions that are left out.
class filter {
public:
    void add(std::uint16_t code, std::uint32_t k, std::uint8_t skip_if_true = 0, std::uint8_t skip_if_false = 0) noexcept
    {
        steps_.at(size_++) = {code, skip_if_true, skip_if_false, k};
    }
    [[nodiscard]] sock_fprog program() noexcept { return {static_cast<unsigned short>(size_), steps_.data()}; }

private:
    std::array<sock_filter, 128> steps_{};
    std::size_t size_ = 0;
};

}  // namespace

bool confine_this_process(misuse on_misuse) noexcept
{
    if (const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
        (void)!::write(fd, "1000", 4);
        ::close(fd);
    }
    if (this_machine == 0)
        return false;
    const auto self = static_cast<std::uint32_t>(::getpid());
    const std::uint32_t refuse = on_misuse == misuse::fails ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS;
    filter f;
    f.add(load, offsetof(seccomp_data, arch));
    f.add(if_equal, this_machine, 1, 0);
    f.add(answer, SECCOMP_RET_ALLOW);
    f.add(load, offsetof(seccomp_data, nr));
    for (const auto number : never) {
        f.add(if_equal, static_cast<std::uint32_t>(number), 0, 1);
        f.add(answer, refuse);
    }
    for (const signal_call& c : to_itself) {
        f.add(if_equal, static_cast<std::uint32_t>(c.number), 0, 9);
        f.add(load, offsetof(seccomp_data, args));
        f.add(if_equal, self, 2, 0);
        f.add(if_equal, ~self + 1, 1, 0);  // its group
        f.add(if_equal, 0, 0, 1);          // its group, too
        f.add(answer, SECCOMP_RET_ALLOW);
        f.add(load, static_cast<std::uint32_t>(offsetof(seccomp_data, args) + sizeof(std::uint64_t) * c.signal));
        f.add(if_equal, 0, 0, 1);  // none: who lives is only asked
        f.add(answer, SECCOMP_RET_ALLOW);
        f.add(answer, refuse);
    }
    if (on_misuse == misuse::kills) {
        f.add(if_equal, SYS_clone3, 0, 1);  // its flags cannot be seen: it does not exist, and clone is taken instead
        f.add(answer, SECCOMP_RET_ERRNO | ENOSYS);
        for (const auto number : starts_process) {
            f.add(if_equal, static_cast<std::uint32_t>(number), 0, 1);
            f.add(answer, SECCOMP_RET_KILL_PROCESS);
        }
        f.add(if_equal, SYS_clone, 0, 3);
        f.add(load, offsetof(seccomp_data, args));  // the flags, in the lower half
        f.add(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
        f.add(answer, SECCOMP_RET_KILL_PROCESS);
    }
    f.add(answer, SECCOMP_RET_ALLOW);
    const sock_fprog program = f.program();
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace shunt::plugin::check
