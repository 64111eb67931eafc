// SPDX-License-Identifier: BSD-2-Clause
// The user that a command runs as.
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

// Throws Error if there is none of that name.
User find_user(const std::string& name);

// memflame's environment with the HOME, USER and LOGNAME of the user, and without sudo's variables.
std::vector<std::string> environment_of(const User& user);

// Makes the process that of the user. For a forked child: only async-signal-safe calls. False, with
// errno set, if it is not allowed.
bool become(const User& user);

}  // namespace memflame
