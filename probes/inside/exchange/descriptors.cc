// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/exchange/descriptors.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace memflame::inside {

void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

bool send_with_descriptors(int socket, std::span<const std::byte> bytes,
                           std::span<const int> descriptors, int flags) {
  iovec text{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* with = CMSG_FIRSTHDR(&message);
  with->cmsg_level = SOL_SOCKET;
  with->cmsg_type = SCM_RIGHTS;
  with->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(with), descriptors.data(), descriptors.size_bytes());
  return ::sendmsg(socket, &message, flags) == static_cast<ssize_t>(bytes.size());
}

}  // namespace memflame::inside
