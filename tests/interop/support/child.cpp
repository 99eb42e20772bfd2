#include <interop/support/child.hpp>

#include <condition_variable>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shunt::interop {
namespace {

[[noreturn]] void throw_errno(const std::string& what)
{
    throw std::runtime_error(what + ": " + std::generic_category().message(errno));
}

std::string find_program(const std::string& name)
{
    if (name.find('/') != std::string::npos)
        return name;
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
    for (std::string folder; std::getline(folders, folder, ':');)
        if (const std::string file = folder + "/" + name; ::access(file.c_str(), X_OK) == 0)
            return file;
    throw std::runtime_error("\"" + name + "\" is not installed; run: sh tests/support/install.sh tests");
}

// The signal a child asks for at its parent's death comes when the *thread* that forked it ends. So one thread, which
// lives as long as the program, forks for all.
class forker {
public:
    static forker& instance()
    {
        static forker one;
        return one;
    }

    void run(const std::function<void()>& job)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return job_ == nullptr; });
        job_ = &job;
        changed_.notify_all();
        changed_.wait(lock, [&] { return job_ != &job; });
    }

    ~forker()
    {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

private:
    void work()
    {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return stop_ || job_ != nullptr; });
            if (stop_)
                return;
            (*job_)();
            job_ = nullptr;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void()>* job_ = nullptr;
    bool stop_ = false;
    std::thread thread_{[this] { work(); }};
};

int open_log(const std::filesystem::path& file)
{
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        throw_errno("cannot open \"" + file.string() + "\"");
    return fd;
}

}  // namespace

child::child(const std::vector<std::string>& argv, const std::filesystem::path& out, const std::filesystem::path& err)
{
    // Everything the child needs is made before the fork: after it only what is safe in a signal handler may be called.
    const std::string program = find_program(argv.at(0));
    std::vector<char*> words;
    for (const std::string& word : argv)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const int out_fd = open_log(out);
    const int err_fd = out == err ? out_fd : open_log(err);
    const int in_fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    int failure[2];
    if (::pipe2(failure, O_CLOEXEC) != 0)
        throw_errno("pipe");
    const pid_t parent = ::getpid();

    forker::instance().run([&] {
        pid_ = ::fork();
        if (pid_ != 0)
            return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() == parent) {
            ::setpgid(0, 0);  // ^C in a terminal ends the test, which ends this
            ::dup2(in_fd, 0);
            ::dup2(out_fd, 1);
            ::dup2(err_fd, 2);
            ::execv(program.c_str(), words.data());
        }
        const int reason = errno;
        [[maybe_unused]] const auto written = ::write(failure[1], &reason, sizeof reason);
        ::_exit(127);
    });

    const int fork_errno = errno;
    ::close(in_fd);
    ::close(out_fd);
    if (err_fd != out_fd)
        ::close(err_fd);
    ::close(failure[1]);
    int reason = 0;
    const bool failed = ::read(failure[0], &reason, sizeof reason) == sizeof reason;
    ::close(failure[0]);
    if (pid_ < 0) {
        errno = fork_errno;
        throw_errno("fork");
    }
    pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));  // its wrapper in glibc 2.36 cannot be called from C++
    if (failed) {
        kill();
        errno = reason;
        throw_errno("cannot run \"" + program + "\"");
    }
}

child::~child()
{
    kill();
    if (pidfd_ >= 0)
        ::close(pidfd_);
}

void child::signal(int number) const
{
    if (!status_)
        ::kill(pid_, number);
}

void child::kill()
{
    signal(SIGKILL);
    (void)wait(std::chrono::minutes(1));
}

std::optional<int> child::wait(std::chrono::milliseconds limit)
{
    if (status_)
        return status_;
    pollfd p{.fd = pidfd_, .events = POLLIN, .revents = 0};
    if (pidfd_ >= 0 && ::poll(&p, 1, static_cast<int>(limit.count())) == 0)
        return std::nullopt;
    int status = 0;
    if (::waitpid(pid_, &status, 0) != pid_)
        throw_errno("waitpid");
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return status_;
}

std::string text_of(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::string tail_of(const std::filesystem::path& file, std::size_t lines)
{
    std::istringstream in(text_of(file));
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);)
        all.push_back(line);
    std::string tail = "\n  the end of " + file.filename().string() + ":";
    for (std::size_t i = all.size() > lines ? all.size() - lines : 0; i < all.size(); ++i)
        tail += "\n    " + all[i];
    return tail;
}

}  // namespace shunt::interop
