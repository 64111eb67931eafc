// SPDX-License-Identifier: BSD-2-Clause
// The stretches of time by whose births live blocks are counted (Look::stretches).
//
// The idea is that of exponential histograms (Datar, Gionis, Indyk, Motwani, 2002): young stretches
// are as short as the time between two surveys, old ones as long as a fixed share of their age. So
// 64 stretches are enough for a run of any length, and the age of a block is known to a few per
// cent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace memflame {

inline constexpr size_t most_stretches = 64;

class BirthStretches {
 public:
  // Where each begins, ascending; the first begins at 0. The last goes on until now.
  std::span<const uint64_t> starts() const { return starts_; }
  // A new one begins. Two old ones become one if there would be too many.
  void begin(uint64_t time_ns);
  // The stretch of a time; times before the first belong to that.
  uint32_t of(uint64_t time_ns) const;

 private:
  std::vector<uint64_t> starts_{0};
};

}  // namespace memflame
