// SPDX-License-Identifier: BSD-2-Clause
// Which stacks grow over a range of time, in which version, and on how many hosts. The store does
// the sums; the verdict is made of them here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/profile.h"
#include "fleet/clickhouse/selection.h"

namespace memflame {

// A stack in one version of a service. "Place": a series of windows, which is a host unless labels
// divide it further.
struct StoreGrowth {
  enum class Kind : uint8_t {
    leak,     // grows steadily until the end, in more than half of its places
    some,     // in some of them
    unsure,   // there are too few windows to tell
    settled,  // has grown, and grows no more
    constant,
  };
  Kind kind = Kind::constant;
  StackId stack;
  std::string version;
  uint64_t places = 0;                     // of this version, whether or not they have the stack
  uint64_t growing = 0;                    // those where it grows steadily
  std::vector<std::string> growing_hosts;  // at most 5
  uint64_t short_places = 0;   // with the stack, and with fewer windows than a verdict needs
  uint64_t least_windows = 0;  // of a place with the stack
  double bytes_per_hour = 0;   // least squares, all places together
  int64_t first_bytes = 0, last_bytes = 0;
  int64_t first_blocks = 0, last_blocks = 0;
  std::vector<std::string> innocent;  // other versions in which it does not grow

  // It is not known to leak, but might be with more windows.
  bool may_leak() const { return kind != Kind::leak && (growing + short_places) * 2 > places; }
};

inline constexpr uint64_t windows_for_growth = 4;  // fewer do not tell growth from noise

// "leak", "some hosts", "cannot tell", "settled", "constant"
std::string_view name(StoreGrowth::Kind kind);

struct StoreLeaks {
  Profile profile;  // has the stacks, the title, notes and losses
  StoreFacts facts;
  std::vector<StoreGrowth> stacks;  // the most wrong first
  int64_t bytes = 0, blocks = 0;    // of all
};

// Growth of a series below this is noise.
StoreLeaks store_leaks(const StoreQuestion& question, int64_t least_bytes);

// "leak in version 1.5: 58.6 KiB per hour, on 3 of 3 hosts; not in 1.4"
std::string in_words(const StoreGrowth& growth);

}  // namespace memflame
