// SPDX-License-Identifier: BSD-2-Clause
// Sums of a profile as a whole.
#pragma once

#include "core/profile.h"

namespace memflame {

// Throws Error when the total of a column leaves 64 bits: whoever adds up its figures would be
// wrong, even if what is written of it says no total.
inline void require_sums(const Profile& profile) {
  for (size_t i = 0; i < profile.types.size(); ++i) static_cast<void>(profile.total(i));
}

}  // namespace memflame
