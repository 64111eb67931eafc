// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/tracefs.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace memflame {
namespace {

// A detached mount (fsmount without move_mount, Linux 5.2) lives as long as its descriptor and
// appears in no mount table, so the system is left as it was.
UniqueFd mount_detached() {
  const UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context) return {};
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return {};
  return UniqueFd(
      static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY)));
}

UniqueFd open_root() {
  for (const char* path : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    UniqueFd folder(::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (folder && ::faccessat(folder.get(), "events/syscalls", R_OK, 0) == 0) return folder;
  }
  return mount_detached();
}

}  // namespace

UniqueFd tracefs_open(const char* path) {
  static const UniqueFd root = open_root();
  if (!root) return {};
  return UniqueFd(::openat(root.get(), path, O_RDONLY | O_CLOEXEC));
}

int tracepoint_id(const char* category, const char* name) {
  const std::string path = std::string("events/") + category + "/" + name + "/id";
  const UniqueFd file = tracefs_open(path.c_str());
  std::array<char, 32> text{};
  if (!file || ::read(file.get(), text.data(), text.size() - 1) <= 0) return -1;
  return std::atoi(text.data());
}

}  // namespace memflame
