// SPDX-License-Identifier: BSD-2-Clause
#include "core/caller.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/error.h"

namespace memflame {
namespace {

id_t number_in(const char* variable, const char* text) {
  id_t number = 0;
  const char* end = text + std::strlen(text);
  const auto [read, error] = std::from_chars(text, end, number);
  if (error != std::errc{} || read != end)
    throw Error(std::string(variable) + " is '" + text + "', which is not a user's number: unset " +
                variable + ", or run memflame by sudo");
  return number;
}

}  // namespace

Caller caller() {
  Caller result{::geteuid(), ::getegid()};
  const char* uid = std::getenv("SUDO_UID");
  if (uid == nullptr || result.uid != 0) return result;
  result.uid = number_in("SUDO_UID", uid);
  if (const char* gid = std::getenv("SUDO_GID")) result.gid = number_in("SUDO_GID", gid);
  result.by_sudo = result.uid != 0;
  return result;
}

std::vector<gid_t> groups_of_user(const std::string& name, gid_t gid) {
  std::vector<gid_t> groups(256);
  int count = static_cast<int>(groups.size());
  if (::getgrouplist(name.c_str(), gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<size_t>(count));
    ::getgrouplist(name.c_str(), gid, groups.data(), &count);
  }
  groups.resize(static_cast<size_t>(count));
  return groups;
}

std::string name_of_user(uid_t uid) {
  const passwd* entry = ::getpwuid(uid);
  return entry != nullptr ? entry->pw_name : "uid " + std::to_string(uid);
}

}  // namespace memflame
