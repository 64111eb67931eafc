// SPDX-License-Identifier: BSD-2-Clause
// Lengths of time as users type them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace memflame {

// The seconds of a unit: s, m, h or d; none for other letters.
std::optional<double> seconds_of_unit(char letter);

// "90", "90s", "10m", "1.5h", "1m30s": seconds. None if it is not a length of time.
std::optional<double> parse_duration(std::string_view text);

// "90..5m": a stretch of a recording, in seconds since it began. Either side may be left out.
struct TimeStretch {
  std::optional<double> from, until;
};
// Throws Error(usage) in the name of --between.
TimeStretch parse_stretch(const std::string& text);

}  // namespace memflame
