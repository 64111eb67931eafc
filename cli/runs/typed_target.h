// SPDX-License-Identifier: BSD-2-Clause
// A target as it is typed on the command line.
#pragma once

#include <array>
#include <string>

#include "probes/options/options.h"

namespace memflame {

// The options that name control groups.
struct CgroupOption {
  const char* name;
  CgroupName::Kind kind;
};
inline constexpr std::array<CgroupOption, 3> cgroup_options{
    {{"cgroup", CgroupName::Kind::path},
     {"container", CgroupName::Kind::container},
     {"unit", CgroupName::Kind::unit}}};

// " -p 12,13", " --comm NAME", …; " (whole system)" if nothing was named.
std::string as_typed(const Target& target);

}  // namespace memflame
