// SPDX-License-Identifier: BSD-2-Clause
// Opens files with the rights of the user who called sudo (caller.h), so that a link of that user
// leads root nowhere the user may not go.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace memflame {

// While it lives, the calling thread accesses files as the caller: with the caller's user, group
// and groups. Without sudo it changes nothing. It can be nested. Throws Error if it is not allowed.
class AsCaller {
 public:
  AsCaller();
  ~AsCaller();
  AsCaller(const AsCaller&) = delete;
  AsCaller& operator=(const AsCaller&) = delete;

 private:
  void restore() noexcept;

  bool is_changed_ = false;
  int death_signal_ = 0;
  std::vector<gid_t> groups_;
};

// The text of an error number. If the thread was denied something as the caller, it says so, and
// how root can write.
std::string denial_text(int error);

}  // namespace memflame
