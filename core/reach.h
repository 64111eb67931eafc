// SPDX-License-Identifier: BSD-2-Clause
// Whether pointers still lead to blocks: what a scan of a stopped process found, summed over the
// blocks of a stack. probes/reach/ scans.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memflame {

enum class Reach : uint8_t {
  unknown,    // its process was not scanned
  lost,       // no pointer to it
  indirect,   // lost, but another lost block points to it
  reachable,  // from a root: a global, a stack, a register
};

struct ReachCount {
  int64_t bytes = 0, blocks = 0;

  ReachCount& operator+=(const ReachCount& other);
};

struct ReachSums {
  ReachCount direct, indirect, reachable, unknown;
  bool is_exact = true;     // false: what is reachable is so only probably; what is lost is certain
  std::string why_unknown;  // in words; "" if nothing is unknown

  void add(Reach reach, const ReachCount& count);
  ReachSums& operator+=(const ReachSums& other);
  ReachCount lost() const;  // direct and indirect
};

// "lost: 3 blocks, 1.2 KiB, no pointer to them": a sentence for each kind that there is. `exact`:
// bytes in full.
std::vector<std::string> in_words(const ReachSums& sums, bool exact = false);

// "3 blocks, 1.2 KiB"
std::string in_words(const ReachCount& count, bool exact = false);

}  // namespace memflame
