// SPDX-License-Identifier: BSD-2-Clause
// Programs in which no agent can speak, or whose allocator it does not see.
#pragma once

#include <sys/types.h>

#include <string>

namespace memflame::inside {

inline constexpr const char* own_allocator = "its allocator is part of the program";
inline constexpr const char* without_preload = "it came without LD_PRELOAD";

// Who executes a program.
struct Executor {
  uid_t user = static_cast<uid_t>(-1);  // by default somebody who has none of the program's rights
  gid_t group = static_cast<gid_t>(-1);
};
Executor ourselves();
Executor executor_in(pid_t pid);

// Why no agent can speak in this program: "it is linked statically"; "" if that is not known.
// `preloaded`: the agent comes with its start.
std::string reason_in(const std::string& program, bool preloaded = true,
                      const Executor& by = ourselves());

// Whether a program brings malloc() itself: all calls go there, whatever is loaded before
// libraries.
bool brings_malloc(const std::string& program);

// The file that runs if a process executes this path, with a slash or without; "" if that is not
// known.
std::string executed_file(pid_t pid, const std::string& path);

}  // namespace memflame::inside
