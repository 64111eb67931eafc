// SPDX-License-Identifier: BSD-2-Clause
#include "core/perf_map.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/root_file.h"

namespace memflame {

std::string perf_map_path(pid_t pid) { return "/tmp/perf-" + std::to_string(pid) + ".map"; }

std::optional<std::string> read_perf_map(const std::string& root, pid_t pid,
                                         std::optional<uid_t> user) {
  constexpr size_t longest = 256u << 20;
  const SharedFd file = open_in_root(root, perf_map_path(pid), LastLink::refuse);
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 ||
      (status.st_uid != 0 && status.st_uid != user))
    return std::nullopt;
  std::string text;
  std::string buffer(1 << 16, '\0');
  for (ssize_t n = 0;
       text.size() < longest && (n = ::read(file.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer, 0, static_cast<size_t>(n));
  return text;
}

}  // namespace memflame
