// SPDX-License-Identifier: BSD-2-Clause
// The names that a JIT gives to its code.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace memflame {

// Reads /tmp/perf-PID.map, which a JIT writes in its own root directory ("": ours) and with the pid
// of its own namespace. Anybody can create a file of that name, so it must belong to `user` or to
// root. Returns nothing if there is none. Reads at most about 256 MiB.
std::optional<std::string> read_perf_map(const std::string& root, pid_t pid,
                                         std::optional<uid_t> user);

// /tmp/perf-PID.map
std::string perf_map_path(pid_t pid);

}  // namespace memflame
