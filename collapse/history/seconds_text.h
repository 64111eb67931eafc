// SPDX-License-Identifier: BSD-2-Clause
// "12.0 s", for messages about recordings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/units.h"

namespace memflame {

inline std::string seconds_text(uint64_t time_ns) {
  return plain(static_cast<int64_t>(std::min<uint64_t>(time_ns, INT64_MAX) / 100'000'000), 1) +
         " s";
}

}  // namespace memflame
