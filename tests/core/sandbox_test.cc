// SPDX-License-Identifier: BSD-2-Clause
#include "core/sandbox.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "tests/support/skipped.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

#ifdef MEMFLAME_SANITIZED
constexpr bool has_filter = false;
#else
constexpr bool has_filter = true;
#endif

constexpr int fine = 42;

// A child in the sandbox; its end of the socket is descriptor 0.
class Child {
 public:
  explicit Child(const std::function<int()>& work, const SandboxLimits& limits = {}) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      if (!enter_sandbox(ends[1], limits)) ::_exit(1);
      ::_exit(work());
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }
  ~Child() { ::close(socket_); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  int socket() const { return socket_; }
  int wait() const {
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    return status;
  }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
};

bool is_killed(const std::function<int()>& work) {
  const int status = Child(work).wait();
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

bool is_fine(const std::function<int()>& work) {
  const int status = Child(work).wait();
  return WIFEXITED(status) && WEXITSTATUS(status) == fine;
}

std::string field(pid_t pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  return "";
}

// Waits until the child waits for a byte, or until it sends one.
void exchange(const Child& child) {
  char byte = 0;
  REQUIRE(::recv(child.socket(), &byte, 1, 0) == 1);
}

}  // namespace

TEST_CASE("reading and memory are what is left") {
  CHECK(is_fine([] {
    const std::vector<char> large(size_t{64} << 20, 'x');
    void* const mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped != MAP_FAILED && large.back() == 'x' ? fine : 1;
  }));
}

TEST_CASE("a file that is handed in can be read and mapped") {
  const int file = ::memfd_create("memflame-test", MFD_CLOEXEC);
  REQUIRE(::write(file, "text", 4) == 4);
  const Child child([] {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    char byte = 0;
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(0, &message, MSG_CMSG_CLOEXEC) != 1) return 1;
    const int fd = *reinterpret_cast<const int*>(CMSG_DATA(CMSG_FIRSTHDR(&message)));
    struct stat status {};
    std::array<char, 4> text{};
    if (::fstat(fd, &status) != 0 || status.st_size != 4) return 2;
    if (::pread(fd, text.data(), 4, 0) != 4 || text[0] != 't') return 3;
    if (::fcntl(fd, F_DUPFD_CLOEXEC, 0) < 0) return 4;
    return ::mmap(nullptr, 4, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED ? fine : 5;
  });
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  char byte = 0;
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  *reinterpret_cast<int*>(CMSG_DATA(rights)) = file;
  REQUIRE(::sendmsg(child.socket(), &message, 0) == 1);
  CHECK(WEXITSTATUS(child.wait()) == fine);
  ::close(file);
}

TEST_CASE("opening is refused, anything else ends the process") {
  if (!has_filter) return skip("builds with AddressSanitizer have no filter");
  CHECK(is_fine([] {
    const bool opened = ::open("/etc/hostname", O_RDONLY) >= 0 || errno != EACCES;
    struct stat status {};
    const bool seen = ::stat("/etc/hostname", &status) == 0 || errno != EACCES;
    return opened || seen ? 1 : fine;
  }));
  CHECK(is_killed([] { return ::socket(AF_INET, SOCK_STREAM, 0); }));
  CHECK(is_killed([] { return ::execl("/bin/true", "true", nullptr); }));
  CHECK(is_killed([] { return static_cast<int>(::fork()); }));
  CHECK(is_killed([] { return ::kill(::getppid(), 0); }));
  CHECK(is_killed([] { return ::kill(::getpid(), 0); }));
  CHECK(is_killed([] { return static_cast<int>(::ptrace(PTRACE_TRACEME, 0, 0, 0)); }));
  CHECK(is_killed([] { return ::unlink("/nothing"); }));
  CHECK(is_killed([] { return ::setuid(0); }));
  // Signals through a descriptor, and code.
  CHECK(is_killed([] { return ::fcntl(0, F_SETOWN, ::getpid()); }));
  CHECK(is_killed([] {
    return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                   MAP_FAILED
               ? 1
               : fine;
  }));
}

TEST_CASE("nothing but the socket, no capabilities") {
  const Child child([] {
    char byte = 0;
    if (::send(0, &byte, 1, 0) != 1) return 1;
    return ::recv(0, &byte, 1, 0) == 0 ? fine : 1;
  });
  exchange(child);
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
    CHECK(field(child.pid(), set) == "0000000000000000");
  if (::geteuid() == 0) CHECK(field(child.pid(), "CapBnd") == "0000000000000000");
  CHECK(field(child.pid(), "NoNewPrivs") == "1");
  CHECK(field(child.pid(), "Seccomp") == (has_filter ? "2" : "0"));
  if (has_filter && ::geteuid() == 0) {
    std::vector<std::string> open;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(child.pid()) + "/fd"))
      open.push_back(entry.path().filename());
    CHECK(open == std::vector<std::string>{"0"});
  }
  ::shutdown(child.socket(), SHUT_WR);
  CHECK(WEXITSTATUS(child.wait()) == fine);
}

TEST_CASE("memory that is shared is gone") {
  if (!has_filter) return skip("builds with AddressSanitizer keep it");
  void* const shared =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  const int status = Child([shared] {
                       *static_cast<volatile char*>(shared) = 1;
                       return fine;
                     }).wait();
  CHECK(WIFSIGNALED(status));
  CHECK(*static_cast<char*>(shared) == 0);
  ::munmap(shared, 4096);
}

TEST_CASE("memory is bounded") {
  if (!has_filter) return skip("builds with AddressSanitizer are not bounded");
  const auto take = [] {
    void* const mapped = ::mmap(nullptr, size_t{256} << 20, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? 1 : fine;
  };
  CHECK(WEXITSTATUS(Child(take, {.data_bytes = 64 << 20}).wait()) == 1);
  CHECK(WEXITSTATUS(Child(take, {.data_bytes = size_t{512} << 20}).wait()) == fine);
}
