// SPDX-License-Identifier: BSD-2-Clause
// Descriptors: how many there may be, and those that go to another process with a message (unix(7),
// SCM_RIGHTS).
#pragma once

#include <cstddef>
#include <span>

namespace memflame::inside {

// Lets this process have as many as the kernel allows it: each watched process takes one, and most
// shells and services start with room for 1,024. For after the command's start, which inherits it.
void allow_many_descriptors();

inline constexpr size_t most_descriptors = 4;

// Sends the bytes, which may not be none, and at most that many descriptors. False, with errno, if
// not all of it was sent. `flags` as sendmsg() has them.
bool send_with_descriptors(int socket, std::span<const std::byte> bytes,
                           std::span<const int> descriptors, int flags);

}  // namespace memflame::inside
