// SPDX-License-Identifier: BSD-2-Clause
// What messages advise depends on who reads them: root is not told to become root.
#pragma once

#include <string>

namespace memflame {

// "as root, WHAT"; for root WHAT alone.
std::string as_root(const std::string& what);
// "run as root, or with CAPABILITIES". Root may lack them, too, as in a container: "run with …".
std::string run_as_root_or_with(const std::string& capabilities);

}  // namespace memflame
