// SPDX-License-Identifier: BSD-2-Clause
#include "core/http/peers.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <optional>
#include <string_view>

namespace memflame {
namespace {

struct End {
  sa_family_t family = AF_UNSPEC;
  in_port_t port = 0;  // in network order, as the address
  std::array<unsigned char, 16> address{};
};

using GetName = int (*)(int, sockaddr*, socklen_t*);

End end_of(int connection, GetName get_name) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  End end;
  if (get_name(connection, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return end;
  end.family = storage.ss_family;
  if (end.family == AF_INET) {
    sockaddr_in name{};
    std::memcpy(&name, &storage, sizeof name);
    end.port = name.sin_port;
    std::memcpy(end.address.data(), &name.sin_addr, sizeof name.sin_addr);
  } else if (end.family == AF_INET6) {
    sockaddr_in6 name{};
    std::memcpy(&name, &storage, sizeof name);
    end.port = name.sin6_port;
    std::memcpy(end.address.data(), &name.sin6_addr, sizeof name.sin6_addr);
  }
  return end;
}

struct Request {
  nlmsghdr head;
  inet_diag_req_v2 body;
};

// The owner of the socket whose own end is `there`, and whose other end is `here`.
std::optional<uint32_t> owner_of(int kernel, const End& there, const End& here) {
  Request request{};
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.head.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<uint8_t>(there.family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0U;
  inet_diag_sockid& id = request.body.id;
  id.idiag_sport = there.port;
  id.idiag_dport = here.port;
  std::memcpy(id.idiag_src, there.address.data(), sizeof id.idiag_src);
  std::memcpy(id.idiag_dst, here.address.data(), sizeof id.idiag_dst);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (::send(kernel, &request, sizeof request, MSG_DONTWAIT) != sizeof request) return {};
  std::array<char, 4096> bytes{};
  const ssize_t got = ::recv(kernel, bytes.data(), bytes.size(), MSG_DONTWAIT);
  nlmsghdr head{};
  inet_diag_msg body{};
  if (got < static_cast<ssize_t>(sizeof head + sizeof body)) return {};
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return {};
  std::memcpy(&body, bytes.data() + sizeof head, sizeof body);
  // If the socket is on another machine, a socket of this one that listens at its port is found.
  if (body.idiag_state == TCP_LISTEN || body.id.idiag_sport != there.port ||
      body.id.idiag_dport != here.port)
    return {};
  return body.idiag_uid;
}

}  // namespace

Peers::Peers() : kernel_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {}

std::string Peers::peer_of(int connection) const {
  const End there = end_of(connection, ::getpeername), here = end_of(connection, ::getsockname);
  if (kernel_.get() >= 0)
    if (const auto owner = owner_of(kernel_.get(), there, here)) return std::to_string(*owner);
  const std::string_view address(reinterpret_cast<const char*>(there.address.data()),
                                 there.address.size());
  constexpr size_t network = 8;
  in6_addr of_six{};
  std::memcpy(&of_six, there.address.data(), sizeof of_six);
  const bool is_six = there.family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&of_six);
  return '@' + std::string(address.substr(0, is_six ? network : address.size()));
}

}  // namespace memflame
