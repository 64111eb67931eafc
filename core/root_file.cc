// SPDX-License-Identifier: BSD-2-Clause
#include "core/root_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace memflame {

SharedFd open_in_root(const std::string& root, const std::string& path, LastLink link) {
  const SharedFd directory(
      ::open(root.empty() ? "/" : root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return {};
  // O_PATH finds the file without opening it: merely opening some devices has effects, and opening
  // a pipe waits for its other end.
  open_how how{};
  // With O_NOFOLLOW O_PATH finds the link itself, which is not a regular file.
  how.flags = O_PATH | O_CLOEXEC | (link == LastLink::refuse ? O_NOFOLLOW : 0);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long found = ::syscall(SYS_openat2, directory.get(), path.c_str(), &how, sizeof how);
  const SharedFd place(static_cast<int>(found));
  struct stat status {};
  if (place.get() < 0 || ::fstat(place.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const std::string same_file = "/proc/self/fd/" + std::to_string(place.get());
  return SharedFd(::open(same_file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

}  // namespace memflame
