// SPDX-License-Identifier: BSD-2-Clause
// The sums of a window's profile.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace memflame {

// The columns of a pprof profile and their sums. Throws Error if the profile is damaged.
std::map<std::string, int64_t> sums_of_pprof(std::string_view gzip);

}  // namespace memflame
