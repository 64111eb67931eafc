// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/pprof/pprof_units.h"

#include <algorithm>
#include <array>
#include <string>

namespace memflame {
namespace {

struct UnitRow {
  std::string_view name;
  NamedUnit unit;
};

constexpr int64_t us = 1000, ms = 1000 * us, s = 1000 * ms;
constexpr std::array rows{
    UnitRow{"bytes", {Unit::bytes}},
    UnitRow{"byte", {Unit::bytes}},
    UnitRow{"b", {Unit::bytes}},
    UnitRow{"kilobytes", {Unit::bytes, int64_t{1} << 10U}},
    UnitRow{"kilobyte", {Unit::bytes, int64_t{1} << 10U}},
    UnitRow{"kb", {Unit::bytes, int64_t{1} << 10U}},
    UnitRow{"kib", {Unit::bytes, int64_t{1} << 10U}},
    UnitRow{"megabytes", {Unit::bytes, int64_t{1} << 20U}},
    UnitRow{"megabyte", {Unit::bytes, int64_t{1} << 20U}},
    UnitRow{"mb", {Unit::bytes, int64_t{1} << 20U}},
    UnitRow{"mib", {Unit::bytes, int64_t{1} << 20U}},
    UnitRow{"gigabytes", {Unit::bytes, int64_t{1} << 30U}},
    UnitRow{"gigabyte", {Unit::bytes, int64_t{1} << 30U}},
    UnitRow{"gb", {Unit::bytes, int64_t{1} << 30U}},
    UnitRow{"gib", {Unit::bytes, int64_t{1} << 30U}},
    UnitRow{"terabytes", {Unit::bytes, int64_t{1} << 40U}},
    UnitRow{"terabyte", {Unit::bytes, int64_t{1} << 40U}},
    UnitRow{"tb", {Unit::bytes, int64_t{1} << 40U}},
    UnitRow{"tib", {Unit::bytes, int64_t{1} << 40U}},
    UnitRow{"nanoseconds", {Unit::nanoseconds}},
    UnitRow{"nanosecond", {Unit::nanoseconds}},
    UnitRow{"ns", {Unit::nanoseconds}},
    UnitRow{"microseconds", {Unit::nanoseconds, us}},
    UnitRow{"microsecond", {Unit::nanoseconds, us}},
    UnitRow{"us", {Unit::nanoseconds, us}},
    UnitRow{"milliseconds", {Unit::nanoseconds, ms}},
    UnitRow{"millisecond", {Unit::nanoseconds, ms}},
    UnitRow{"ms", {Unit::nanoseconds, ms}},
    UnitRow{"seconds", {Unit::nanoseconds, s}},
    UnitRow{"second", {Unit::nanoseconds, s}},
    UnitRow{"sec", {Unit::nanoseconds, s}},
    UnitRow{"s", {Unit::nanoseconds, s}},
    UnitRow{"minutes", {Unit::nanoseconds, 60 * s}},
    UnitRow{"minute", {Unit::nanoseconds, 60 * s}},
    UnitRow{"hours", {Unit::nanoseconds, 3600 * s}},
    UnitRow{"hour", {Unit::nanoseconds, 3600 * s}},
    UnitRow{"pages", {Unit::pages}},
    UnitRow{"count", {Unit::count}},
    UnitRow{"none", {Unit::count}},
    UnitRow{"", {Unit::count}},
};

}  // namespace

NamedUnit unit_named(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const auto* row = std::find_if(rows.begin(), rows.end(),
                                 [&](const UnitRow& each) { return each.name == lower; });
  return row != rows.end() ? row->unit : NamedUnit{.known = false};
}

}  // namespace memflame
