// SPDX-License-Identifier: BSD-2-Clause
// The user who typed the command: under sudo the user who called sudo, else the user that memflame
// runs as. Outputs belong to that user, and a started program runs as that user.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace memflame {

struct Caller {
  uid_t uid = 0;
  gid_t gid = 0;
  bool by_sudo = false;  // root runs on behalf of another user
};

// Reads SUDO_UID and SUDO_GID, but only as root. Throws Error if they are not numbers.
Caller caller();

// All groups of a user, whose own group is `gid`.
std::vector<gid_t> groups_of_user(const std::string& name, gid_t gid);

// The name of a user, or "uid N" if it has none.
std::string name_of_user(uid_t uid);

}  // namespace memflame
