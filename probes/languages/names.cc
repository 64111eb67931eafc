// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/names.h"

#include <algorithm>

#include "core/utf8.h"

namespace memflame {

std::string script_text_of(const uint8_t* from, size_t bytes, size_t most) {
  bytes = std::min(bytes, most);
  std::string result(reinterpret_cast<const char*>(from), bytes);
  if (bytes == most) result = std::string(beginning(result, most - 1)) + "…";
  return result;
}

}  // namespace memflame
