// SPDX-License-Identifier: BSD-2-Clause
// Sums of a profile as a whole.
#pragma once

#include "core/profile.h"

namespace memflame {

// Throws Error if the total of a column does not fit in 64 bits: anyone who adds up the figures
// would get a wrong sum, even if the output states no total.
inline void require_sums(const Profile& profile) {
  for (size_t i = 0; i < profile.types.size(); ++i) static_cast<void>(profile.total(i));
}

}  // namespace memflame
