// SPDX-License-Identifier: BSD-2-Clause
#include "probes/system/users.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/caller.h"
#include "core/error.h"

namespace memflame {

User find_user(const std::string& name) {
  const passwd* entry = ::getpwnam(name.c_str());
  if (entry == nullptr) throw Error("--user " + name + ": there is no such user");
  return {.name = entry->pw_name,
          .home = entry->pw_dir,
          .uid = entry->pw_uid,
          .gid = entry->pw_gid,
          .groups = groups_of_user(entry->pw_name, entry->pw_gid)};
}

std::vector<std::string> environment_of(const User& user) {
  constexpr std::array<std::string_view, 7> own{
      "HOME=", "USER=", "LOGNAME=", "SUDO_UID=", "SUDO_GID=", "SUDO_USER=", "SUDO_COMMAND="};
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::none_of(own.begin(), own.end(), [&](std::string_view name) {
          return std::string_view(*variable).starts_with(name);
        }))
      variables.emplace_back(*variable);
  variables.push_back("HOME=" + user.home);
  variables.push_back("USER=" + user.name);
  variables.push_back("LOGNAME=" + user.name);
  return variables;
}

bool become(const User& user) {
  return ::setgroups(user.groups.size(), user.groups.data()) == 0 && ::setgid(user.gid) == 0 &&
         ::setuid(user.uid) == 0;
}

}  // namespace memflame
