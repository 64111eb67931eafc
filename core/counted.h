// SPDX-License-Identifier: BSD-2-Clause
// "1 window", "3,000 windows".
#pragma once

#include <cstdint>
#include <string>

#include "core/units.h"

namespace memflame {

inline std::string counted(uint64_t number, const std::string& one) {
  return with_commas(static_cast<int64_t>(number)) + " " + one + (number == 1 ? "" : "s");
}

}  // namespace memflame
