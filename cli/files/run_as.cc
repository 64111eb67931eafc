// SPDX-License-Identifier: BSD-2-Clause
#include "cli/files/run_as.h"

#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>

#include "core/caller.h"
#include "probes/system/procfs.h"

namespace memflame {

std::string user_of_command(const Target& target) {
  if (!target.user.empty()) return target.user;
  const Caller by = caller();
  return by.by_sudo ? name_of_user(by.uid) : "";
}

Readers readers_of(const Target& target, const std::string& program) {
  const uid_t own = caller().uid;
  const auto readers = [](bool is_own) { return is_own ? Readers::by_umask : Readers::owner; };
  if (!target.command.empty()) {
    struct stat file {};
    const bool changes_user =
        ::stat(program.c_str(), &file) == 0 && (file.st_mode & S_ISUID) != 0 && file.st_uid != own;
    const std::string user = user_of_command(target);
    const passwd* entry = user.empty() ? nullptr : ::getpwnam(user.c_str());
    return readers(!changes_user && (user.empty() || (entry != nullptr && entry->pw_uid == own)));
  }
  return readers(!target.pids.empty() &&
                 std::all_of(target.pids.begin(), target.pids.end(),
                             [own](pid_t pid) { return user_of_process(pid) == own; }));
}

}  // namespace memflame
