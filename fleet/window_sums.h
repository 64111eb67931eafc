// SPDX-License-Identifier: BSD-2-Clause
// The sums of a window's profile.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace memflame {

// A window's profile, unpacked: the bytes of pprof's message. Throws Error if it is damaged, or so
// large that it must be an attack.
std::string unpacked_pprof(std::string_view gzip);

// The columns of a pprof profile and their sums. Throws Error if the profile is damaged.
std::map<std::string, int64_t> sums_of_pprof(std::string_view gzip);

}  // namespace memflame
