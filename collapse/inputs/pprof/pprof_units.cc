// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/pprof/pprof_units.h"

#include <algorithm>
#include <array>
#include <string>

namespace memflame {
namespace {

struct Row {
  std::string_view name;
  NamedUnit unit;
};

constexpr int64_t us = 1000, ms = 1000 * us, s = 1000 * ms;
constexpr std::array rows{
    Row{"bytes", {Unit::bytes}},
    Row{"byte", {Unit::bytes}},
    Row{"b", {Unit::bytes}},
    Row{"kilobytes", {Unit::bytes, int64_t{1} << 10U}},
    Row{"kilobyte", {Unit::bytes, int64_t{1} << 10U}},
    Row{"kb", {Unit::bytes, int64_t{1} << 10U}},
    Row{"kib", {Unit::bytes, int64_t{1} << 10U}},
    Row{"megabytes", {Unit::bytes, int64_t{1} << 20U}},
    Row{"megabyte", {Unit::bytes, int64_t{1} << 20U}},
    Row{"mb", {Unit::bytes, int64_t{1} << 20U}},
    Row{"mib", {Unit::bytes, int64_t{1} << 20U}},
    Row{"gigabytes", {Unit::bytes, int64_t{1} << 30U}},
    Row{"gigabyte", {Unit::bytes, int64_t{1} << 30U}},
    Row{"gb", {Unit::bytes, int64_t{1} << 30U}},
    Row{"gib", {Unit::bytes, int64_t{1} << 30U}},
    Row{"terabytes", {Unit::bytes, int64_t{1} << 40U}},
    Row{"terabyte", {Unit::bytes, int64_t{1} << 40U}},
    Row{"tb", {Unit::bytes, int64_t{1} << 40U}},
    Row{"tib", {Unit::bytes, int64_t{1} << 40U}},
    Row{"nanoseconds", {Unit::nanoseconds}},
    Row{"nanosecond", {Unit::nanoseconds}},
    Row{"ns", {Unit::nanoseconds}},
    Row{"microseconds", {Unit::nanoseconds, us}},
    Row{"microsecond", {Unit::nanoseconds, us}},
    Row{"us", {Unit::nanoseconds, us}},
    Row{"milliseconds", {Unit::nanoseconds, ms}},
    Row{"millisecond", {Unit::nanoseconds, ms}},
    Row{"ms", {Unit::nanoseconds, ms}},
    Row{"seconds", {Unit::nanoseconds, s}},
    Row{"second", {Unit::nanoseconds, s}},
    Row{"sec", {Unit::nanoseconds, s}},
    Row{"s", {Unit::nanoseconds, s}},
    Row{"minutes", {Unit::nanoseconds, 60 * s}},
    Row{"minute", {Unit::nanoseconds, 60 * s}},
    Row{"hours", {Unit::nanoseconds, 3600 * s}},
    Row{"hour", {Unit::nanoseconds, 3600 * s}},
    Row{"pages", {Unit::pages}},
    Row{"count", {Unit::count}},
    Row{"none", {Unit::count}},
    Row{"", {Unit::count}},
};

}  // namespace

NamedUnit unit_named(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& each) { return each.name == lower; });
  return row != rows.end() ? row->unit : NamedUnit{.known = false};
}

}  // namespace memflame
