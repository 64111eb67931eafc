// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/processes/procfs.h"
#include "probes/unique_fd.h"

namespace memflame {
namespace {

constexpr size_t perf_map_limit = 256u << 20;

}  // namespace

std::string read_perf_map(pid_t pid) {
  struct stat process {};
  const bool alive = ::stat(proc_path(pid, "").c_str(), &process) == 0;
  std::string inner_pid = std::to_string(pid);
  const std::string status = read_file(proc_path(pid, "status"));
  if (const size_t at = status.find("\nNSpid:"); at != std::string::npos) {
    const std::string line = status.substr(at + 7, status.find('\n', at + 1) - at - 7);
    inner_pid = line.substr(line.find_last_of(" \t") + 1);
  }
  // A process that is about to go has no root any more.
  const bool has_root = ::access(proc_path(pid, "root").c_str(), F_OK) == 0;
  const std::string root = has_root && !has_our_root(pid) ? proc_path(pid, "root") : "";
  const std::string path = root + "/tmp/perf-" + inner_pid + ".map";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat map {};
  if (!file || ::fstat(file.get(), &map) != 0 || !S_ISREG(map.st_mode)) return {};
  if (map.st_uid != 0 && (!alive || map.st_uid != process.st_uid)) return {};
  std::string text;
  std::string buffer(1 << 16, '\0');
  for (ssize_t n = 0;
       text.size() < perf_map_limit && (n = ::read(file.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer, 0, static_cast<size_t>(n));
  return text;
}

}  // namespace memflame
