// SPDX-License-Identifier: BSD-2-Clause
// Names of code made at run time, from the text a JIT writes to perf-PID.map.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collapse/symbolize/flatten.h"

namespace memflame {

// Lines "START SIZE name", numbers in hex. A JIT that discards code reuses the addresses and
// appends: if lines overlap, the last one counts. The text comes from the watched program; unusable
// lines are skipped, and the addresses they would have named are counted as unknown symbols.
class PerfMap {
 public:
  // Longer names are cut, at the end, to keep the picture usable.
  static constexpr size_t max_name = 4096;

  // `text` must outlive the map.
  explicit PerfMap(std::string_view text);

  // Empty if nothing is known about the address.
  std::string_view find(uint64_t address) const;
  size_t size() const { return rows_.size(); }

 private:
  std::vector<std::string_view> names_;
  std::vector<Span> rows_;
};

// V8 marks each function with the compiler that made its code: "JS:~f", "JS:^f" and "JS:*f" are one
// function, "JS:f", while a program warms up. Names of other forms are returned unchanged.
std::string without_tier(std::string_view name);

}  // namespace memflame
