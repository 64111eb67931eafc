// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/perf_map.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "core/perf_map.h"
#include "probes/system/procfs.h"

namespace memflame {

std::string perf_map_of(pid_t pid) {
  struct stat process {};
  std::optional<uid_t> user;
  if (::stat(proc_path(pid, "").c_str(), &process) == 0) user = process.st_uid;
  const std::string pids = status_field(read_file(proc_path(pid, "status")), "NSpid");
  const size_t last = pids.find_last_of(" \t") + 1;
  const pid_t inner = pids.empty() ? pid : std::atoi(pids.c_str() + last);
  // A process that is about to go has no root any more.
  const bool has_root = ::access(proc_path(pid, "root").c_str(), F_OK) == 0;
  const std::string root = has_root && !has_our_root(pid) ? proc_path(pid, "root") : "";
  return read_perf_map(root, inner, user).value_or("");
}

}  // namespace memflame
