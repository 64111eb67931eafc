// SPDX-License-Identifier: BSD-2-Clause
// Random profiles, and the parts of a profile that a format may keep.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/profile.h"

namespace memflame {

struct Whims {
  bool negative = true;
  bool kinds = true;
  bool modules = true;
  bool places = true;  // files and lines
  int64_t largest = INT64_MAX >> 20U;
  uint8_t decimals = 0;  // of the second column
};

// A seed gives the same profile on every machine.
Profile random_profile(uint32_t seed, const Whims& whims = {});

// The frames of each stack with kind, module, file and line -> its figures, without variances.
// Stacks of zeros only are left out.
using Told = std::map<std::string, std::vector<int64_t>>;
Told told(const Profile& profile);

}  // namespace memflame
