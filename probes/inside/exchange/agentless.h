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

// Whether a program does not run as it would if its environment brings the agent: it begins with a
// runtime that must be the first library, or its loader says that the agent does not fit.
bool is_barred(const std::string& program);

// The file that runs if memflame executes this path; "" if there is none.
std::string program_at(const std::string& path);

// Whether a program brings malloc() itself: all calls go there, whatever is loaded before
// libraries.
bool brings_malloc(const std::string& program);

// Whether a process under valgrind has its tool's malloc in place of its own. For that the tool
// brings a library (memcheck, massif, dhat, helgrind, drd). Under the others (callgrind, none) the
// program calls its own, and its agent.
bool has_valgrind_malloc(pid_t pid);

// The file that runs if a process executes this path, with a slash or without; "" if that is not
// known.
std::string executed_file(pid_t pid, const std::string& path);

}  // namespace memflame::inside
