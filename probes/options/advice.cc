// SPDX-License-Identifier: BSD-2-Clause
#include "probes/options/advice.h"

#include <unistd.h>

namespace memflame {

std::string as_root(const std::string& what) {
  return ::geteuid() == 0 ? what : "as root, " + what;
}

std::string run_as_root_or_with(const std::string& capabilities) {
  return (::geteuid() == 0 ? "run with " : "run as root, or with ") + capabilities;
}

}  // namespace memflame
