// SPDX-License-Identifier: BSD-2-Clause
// Who is at the other end of a TCP connection.
#pragma once

#include <string>

#include "core/unique_fd.h"

namespace memflame {

class Peers {
 public:
  Peers();
  // The user who owns the other end, where it is on this machine and the kernel tells; the address
  // otherwise, and the network (/64) of one of IPv6. Equal texts are one peer.
  std::string peer_of(int connection) const;
  // The socket with which the kernel is asked; -1 if it cannot be asked.
  int socket() const { return kernel_.get(); }

 private:
  UniqueFd kernel_;
};

}  // namespace memflame
