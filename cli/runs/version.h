// SPDX-License-Identifier: BSD-2-Clause
// Which memflame this is; scripts/version.cmake writes version.cc.
#pragma once

#include <string>

namespace memflame {

std::string version_number();  // "0.1.0"
// The commit's date, "2026-11-22"; "" if it is not known.
std::string version_date();
// "0.1.0 (0123456789ab-dirty, 2026-11-22)", or the number alone.
std::string version_text();

}  // namespace memflame
