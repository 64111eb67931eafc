// SPDX-License-Identifier: BSD-2-Clause
#include "render/timeline/ticks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/units.h"

namespace memflame {
namespace {

constexpr double minute = 60, hour = 3600, day = 86400;
constexpr size_t most_ticks = 1000;  // beyond what any picture has

std::string formatted(const char* format, double number, const char* unit) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return std::string(text.data()) + unit;
}

// 1, 2 or 5 times a power of ten, not below `least`.
double decimal_step(double least) {
  if (!(least > 0) || !std::isfinite(least)) return 1;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

double time_step(double least) {
  if (least <= 20) return decimal_step(least);
  for (const double step : {30.0, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute,
                            30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day})
    if (step >= least) return step;
  return day * decimal_step(least / day);
}

std::string two_parts(double seconds, double large, const char* large_name, double small,
                      const char* small_name) {
  const double all = std::round(seconds / small) * small;
  const double whole = std::floor(all / large);
  std::string text = formatted("%.0f", whole, large_name);
  const double rest = std::round((all - whole * large) / small);
  if (rest > 0) text += formatted(" %.0f", rest, small_name);
  return text;
}

// `last`: the end of the axis. All labels of a short one are in seconds.
std::string tick_label(double seconds, double step, double last) {
  if (seconds == 0) return "0 s";
  if (last > 3 * minute && step >= 1)
    return seconds >= minute && seconds < 2 * minute ? two_parts(seconds, minute, " min", 1, " s")
                                                     : time_text(seconds);
  const int decimals = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f s", std::min(decimals, 9), seconds);
  return text.data();
}

// "12 MiB", "1.5 GiB"; a step is a round number of one of these units.
std::string bytes_label(double bytes) {
  constexpr std::array<const char*, 7> units{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  size_t unit = 0;
  for (; std::fabs(bytes) >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return formatted("%.4g", bytes, units[unit]);
}

std::string count_label(double count) {
  constexpr std::array<const char*, 6> units{"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  if (std::fabs(count) >= 10'000)
    for (; std::fabs(count) >= 1000 && unit + 1 < units.size(); ++unit) count /= 1000;
  return formatted("%.4g", count, units[unit]);
}

std::string duration_label(double nanoseconds) {
  constexpr std::array<const char*, 4> units{" ns", " µs", " ms", " s"};
  size_t unit = 0;
  for (; std::fabs(nanoseconds) >= 1000 && unit + 1 < units.size(); ++unit) nanoseconds /= 1000;
  return formatted("%.4g", nanoseconds, units[unit]);
}

std::string value_label(double value, const ValueType& type) {
  value /= std::pow(10, type.decimals);
  if (value == 0) return "0";
  if (type.unit == Unit::bytes) return bytes_label(value);
  if (type.unit == Unit::nanoseconds) return duration_label(value);
  return count_label(value);
}

}  // namespace

std::string time_text(double seconds) {
  if (!(seconds > 0)) return "0 s";
  if (seconds < 10) return formatted("%.3g", seconds, " s");
  if (seconds < 2 * minute) return formatted("%.0f", seconds, " s");
  if (seconds < 2 * hour) return two_parts(seconds, minute, " min", 1, " s");
  if (seconds < 2 * day) return two_parts(seconds, hour, " h", minute, " min");
  return two_parts(seconds, day, " d", hour, " h");
}

std::vector<Tick> time_ticks(TimeRange range, size_t most) {
  std::vector<Tick> ticks;
  const double length = range.to - range.from;
  if (!(length > 0) || !std::isfinite(length) || most == 0) return ticks;
  const double step = time_step(length / static_cast<double>(most));
  const double first = std::ceil(range.from / step - 1e-9);
  for (size_t i = 0; i < most_ticks; ++i) {
    const double at = (first + static_cast<double>(i)) * step;
    if (at > range.to + step * 1e-6) break;
    ticks.push_back({at, tick_label(at, step, range.to)});
  }
  return ticks;
}

double value_step(double size, const ValueType& type, size_t most) {
  const double unit = std::pow(10, type.decimals);  // how many of the values are one
  const double least = size / unit / static_cast<double>(std::max<size_t>(most, 1));
  if (!(least > 0) || !std::isfinite(least)) return unit;
  if (type.unit != Unit::bytes) return unit * decimal_step(least);
  double bytes = 1;
  while (least > 512 * bytes) bytes *= 1024;
  return unit * std::max(1.0, std::min(bytes * 1024, bytes * decimal_step(least / bytes)));
}

std::vector<Tick> value_ticks(double low, double high, double step, const ValueType& type) {
  std::vector<Tick> ticks;
  const double first = std::ceil(low / step - 1e-9);
  for (size_t i = 0; i < most_ticks; ++i) {
    const double at = (first + static_cast<double>(i)) * step;
    if (at > high + step * 1e-6) break;
    ticks.push_back({at, value_label(at, type)});
  }
  return ticks;
}

}  // namespace memflame
