// SPDX-License-Identifier: BSD-2-Clause
#include "core/as_caller.h"

#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/caller.h"
#include "core/error.h"

namespace memflame {
namespace {

// No thread can take the id -1: the call changes nothing and returns the present id.
uid_t file_user() { return static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1))); }
gid_t file_group() { return static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1))); }

// Changes this thread alone; glibc's setgroups() changes all threads.
bool set_own_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

std::vector<gid_t> own_groups() {
  std::vector<gid_t> groups(static_cast<size_t>(::getgroups(0, nullptr)));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<size_t>(count > 0 ? count : 0));
  return groups;
}

std::vector<gid_t> groups_of(const Caller& by) {
  const passwd* const entry = ::getpwuid(by.uid);
  return entry != nullptr ? groups_of_user(entry->pw_name, entry->pw_gid)
                          : std::vector<gid_t>{by.gid};
}

}  // namespace

// setfsuid() changes the rights for files of one thread only. seteuid() would change all threads,
// and those that count and read /proc need root's meanwhile. The kernel takes the capabilities for
// files (CAP_DAC_OVERRIDE and its like) from the thread as its user stops to be root, and gives
// them back.
AsCaller::AsCaller() {
  const Caller by = caller();
  if (!by.by_sudo || file_user() == by.uid) return;
  static const std::vector<gid_t> groups = groups_of(by);
  groups_ = own_groups();
  // The kernel forgets which signal the thread gets at its parent's end.
  ::prctl(PR_GET_PDEATHSIG, &death_signal_);
  is_changed_ = set_own_groups(groups);
  if (is_changed_) {
    ::setfsgid(by.gid);
    ::setfsuid(by.uid);
    if (file_group() == by.gid && file_user() == by.uid) return;
    restore();
  }
  throw Error("files cannot be written as " + name_of_user(by.uid) +
                  ", who called sudo (CAP_SETUID and CAP_SETGID are missing): unset SUDO_UID to "
                  "write as root",
              ExitCode::requirement);
}

AsCaller::~AsCaller() {
  if (is_changed_) restore();
}

void AsCaller::restore() noexcept {
  const int error = errno;
  ::setfsuid(::geteuid());
  ::setfsgid(::getegid());
  set_own_groups(groups_);
  ::prctl(PR_SET_PDEATHSIG, death_signal_);
  errno = error;
}

std::string denial_text(int error) {
  std::string text = std::strerror(error);
  const Caller by = caller();
  if (!by.by_sudo || (error != EACCES && error != EPERM)) return text;
  return text + " for " + name_of_user(by.uid) +
         ", who called sudo; unset SUDO_UID to write as root";
}

}  // namespace memflame
