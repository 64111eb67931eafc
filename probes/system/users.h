// SPDX-License-Identifier: BSD-2-Clause
// Runs a command as another user.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace memflame {

struct User {
  std::string name, home;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

// Throws Error if there is no user of that name.
User find_user(const std::string& name);

// memflame's environment with HOME, USER and LOGNAME of this user, and without sudo's variables.
std::vector<std::string> environment_of(const User& user);

// Changes the process's user, group and groups to those of `user`. Safe in a forked child: makes
// only async-signal-safe calls. False, with errno set, if it is not allowed.
bool become(const User& user);

}  // namespace memflame
