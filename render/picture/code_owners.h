// SPDX-License-Identifier: BSD-2-Clause
// Whose code frames are, and of which library or package.
//
// A Go program is one file with all of its packages, so its code is told apart by package: `main`
// is the application, each other package is a library. Functions of Python and JavaScript are the
// application's or a package's, by their paths.
#pragma once

#include <string_view>
#include <vector>

#include "core/owner.h"
#include "core/profile.h"

namespace memflame {

// "net/http" of "net/http.(*conn).serve"; "" if the name is not that of a Go function.
std::string_view go_package(std::string_view function);

struct Code {
  Owner owner = Owner::unknown;
  std::string_view part{};  // the path of a library, or the name of a package; "" for other owners
  bool is_package = false;
};

class CodeOwners {
 public:
  explicit CodeOwners(const Profile& profile);

  Code of(const Frame& frame) const;

 private:
  const Profile& profile_;
  std::vector<bool> is_go_;  // by StringId::index of a file: whether a Go program is in it
};

}  // namespace memflame
