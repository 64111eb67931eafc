// SPDX-License-Identifier: BSD-2-Clause
// Cases that cannot run on this machine.
#pragma once

#include <string>

namespace memflame {

// Prints why a case is not run. Its program then ends with 77 unless a case fails, so that ctest
// lists it as skipped, never as passed.
void skip(const std::string& reason);

}  // namespace memflame
