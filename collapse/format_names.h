// SPDX-License-Identifier: BSD-2-Clause
// Names of formats as users type them after --from.
#pragma once

#include <string_view>
#include <vector>

namespace memflame {

// One name for several formats: "perf", "heap", "go", "valgrind".
struct FormatFamily {
  std::string_view name;
  std::vector<std::string_view> formats;  // names of inputs()
};
const std::vector<FormatFamily>& format_families();

// The name of a format or family that a misspelt one probably means; "" if none is close.
std::string_view closest_format(std::string_view name);

}  // namespace memflame
