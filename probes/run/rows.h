// SPDX-License-Identifier: BSD-2-Clause
// A recording while it is made. Probes know stacks by their keys; this class turns keys into rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/recording.h"
#include "probes/run/stack_log.h"

namespace memflame {

class Rows {
 public:
  // Both must outlive this object. A log serves one Rows at a time.
  Rows(Recording& recording, StackLog& log) : recording_(recording), log_(log) {
    log.begin_recording();
  }

  // Adds figures to a stack, in the order of the recording's types. The group is drawn below the
  // stack.
  void add(uint64_t key, const std::string& group, const std::vector<int64_t>& values,
           int64_t events) {
    recording_.sums.push_back({stack(key), group, values, events});
  }
  RawStackId stack(uint64_t key) { return log_.row(recording_, key); }

  Recording& recording() { return recording_; }
  const StackLog& log() const { return log_; }

 private:
  Recording& recording_;
  StackLog& log_;
};

}  // namespace memflame
