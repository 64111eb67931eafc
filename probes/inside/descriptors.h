// SPDX-License-Identifier: BSD-2-Clause
// Descriptors that go to another process with a message (unix(7), SCM_RIGHTS).
#pragma once

#include <cstddef>
#include <span>

namespace memflame::inside {

inline constexpr size_t most_descriptors = 4;

// Sends the bytes, which may not be none, and at most that many descriptors. False, with errno, if
// not all of it was sent. `flags` as sendmsg() has them.
bool send_with_descriptors(int socket, std::span<const std::byte> bytes,
                           std::span<const int> descriptors, int flags);

}  // namespace memflame::inside
