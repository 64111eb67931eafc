// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/own_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/error.h"
#include "probes/inside/exchange/descriptors.h"

namespace memflame::inside {
namespace {

// A byte that is not a part of what is said comes with it.
void give_descriptor(int to, int fd) {
  const std::byte byte{};
  while (!send_with_descriptors(to, {&byte, 1}, {&fd, 1}, MSG_NOSIGNAL) && errno == EINTR) {
  }
}

[[noreturn]] void do_and_say(const std::function<std::string(const OwnProcess::Give&)>& work,
                             int to) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, attacher_name);
  // Nothing else stays open: whoever waits for memflame must see that it ends.
  constexpr int own = 3;
  if (to != own) ::dup3(to, own, O_CLOEXEC);
  ::close_range(own + 1, ~0U, 0);
  const std::string said = work([](int fd) { give_descriptor(own, fd); });
  ::send(own, said.data(), said.size(), MSG_NOSIGNAL);
  ::_exit(0);
}

}  // namespace

OwnProcess::OwnProcess(const std::function<std::string(const Give&)>& work) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Error(std::string("no socket: ") + std::strerror(errno));
  from_.reset(ends[0]);
  const UniqueFd to(ends[1]);
  pid_ = ::fork();
  if (pid_ < 0) throw Error(std::string("no process to attach with: ") + std::strerror(errno));
  if (pid_ == 0) do_and_say(work, to.get());
}

OwnProcess::~OwnProcess() {
  if (pid_ > 0)
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

bool OwnProcess::has_ended() {
  std::array<char, 8192> part{};
  while (!has_ended_) {
    iovec text{part.data(), part.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    const ssize_t got = ::recvmsg(from_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    has_ended_ = got <= 0;
    const cmsghdr* with = CMSG_FIRSTHDR(&message);
    if (with != nullptr && with->cmsg_type == SCM_RIGHTS) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(with), sizeof(fd));
      given_.reset(fd);
    } else if (got > 0) {
      said_.append(part.data(), static_cast<size_t>(got));
    }
  }
  return has_ended_;
}

}  // namespace memflame::inside
