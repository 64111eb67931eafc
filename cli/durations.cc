// SPDX-License-Identifier: BSD-2-Clause
#include "cli/durations.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "core/error.h"

namespace memflame {

std::optional<double> seconds_of_unit(char letter) {
  switch (letter) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86400;
    default:
      return std::nullopt;
  }
}

std::optional<double> parse_duration(std::string_view text) {
  double seconds = 0, last_unit = INFINITY;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc{} || !(number >= 0) || !std::isfinite(number)) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    std::optional<double> unit = 1;
    if (!text.empty()) {
      unit = seconds_of_unit(text.front());
      text.remove_prefix(1);
    } else if (std::isfinite(last_unit)) {
      return std::nullopt;  // "1m30": seconds or hours?
    }
    // "30s1m" is more likely a mistake than a wish.
    if (!unit || *unit >= last_unit) return std::nullopt;
    last_unit = *unit;
    seconds += number * *unit;
  }
  return seconds;
}

TimeStretch parse_stretch(const std::string& text) {
  constexpr double most_seconds = 1e9;
  const auto refuse = [&] {
    throw Error("--between '" + text +
                    "': expected two times since the run began, like 90..5m or 1h..2h; either may "
                    "be left out",
                ExitCode::usage);
  };
  const size_t dots = text.find("..");
  if (dots == std::string::npos) refuse();
  const auto side = [&](std::string_view time) {
    if (time.empty()) return std::optional<double>{};
    const std::optional<double> seconds = parse_duration(time);
    if (!seconds || *seconds > most_seconds) refuse();
    return seconds;
  };
  const std::string_view whole = text;
  const TimeStretch stretch{side(whole.substr(0, dots)), side(whole.substr(dots + 2))};
  if (stretch.until && stretch.from.value_or(0) > *stretch.until) refuse();
  return stretch;
}

}  // namespace memflame
