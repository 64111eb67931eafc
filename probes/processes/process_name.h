// SPDX-License-Identifier: BSD-2-Clause
// The name under which a process was started.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace memflame {

// That is its comm, also if it was started by a link. But the kernel has "exe" for /proc/self/exe,
// which is how busybox starts its applets, and a number for a descriptor: then argv[0] counts.
// `arguments`: /proc/PID/cmdline, as far as it is known.
std::string started_as(std::string_view comm, std::string_view arguments);

// The name of a process with this comm, which had the name `known` before ("": none). Its comm if
// it is gone.
std::string name_of_process(pid_t pid, std::string_view comm, const std::string& known);

}  // namespace memflame
