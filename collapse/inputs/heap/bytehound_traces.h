// SPDX-License-Identifier: BSD-2-Clause
// The stacks of a recording of bytehound, by their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "collapse/inputs/heap/bytehound_bytes.h"
#include "core/hash.h"

namespace memflame {

class BytehoundTraces {
 public:
  struct Trace {
    std::vector<uint64_t> addresses;  // leaf first
    uint64_t list = 0;                // of the mappings that were known
    uint32_t track = 0;               // 0: nothing was allocated there yet
  };

  // The rest of an event with a stack, whose addresses have `width` bytes. Throws Error if it has
  // too many frames.
  void take(size_t width, BytehoundBytes& bytes, uint64_t list);
  // The same of an event that has only what differs from the thread's last stack, as versions
  // before 0.6 wrote it.
  void take_partial(size_t width, BytehoundBytes& bytes, uint64_t list);

  // The track of a stack; `make(trace)` makes that of a new one.
  template <class Make>
  uint32_t track_of(uint64_t number, const Make& make) {
    const auto found = traces_.find(number);
    if (found == traces_.end()) ++unknown_;
    Trace& trace = found == traces_.end() ? none_ : found->second;
    if (trace.track == 0) {
      trace.track = make(trace);
      std::vector<uint64_t>().swap(trace.addresses);
    }
    return trace.track;
  }
  uint64_t unknown() const { return unknown_; }  // calls for stacks that are not there

 private:
  std::unordered_map<uint64_t, Trace, NumberHash> traces_;
  std::unordered_map<uint32_t, std::vector<uint64_t>> last_;  // by thread
  Trace none_;
  uint64_t unknown_ = 0, taken_over_ = 0;
};

}  // namespace memflame
