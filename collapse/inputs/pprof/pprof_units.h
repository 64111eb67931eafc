// SPDX-License-Identifier: BSD-2-Clause
// Units as other profilers name them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/profile.h"

namespace memflame {

struct NamedUnit {
  Unit unit = Unit::count;
  int64_t factor = 1;  // how many of `unit` it stands for
  bool known = true;   // false: taken as a count
};

// "bytes", "kB", "milliseconds", … in any case. Kilo and the like are powers of 1024.
NamedUnit unit_named(std::string_view text);

}  // namespace memflame
