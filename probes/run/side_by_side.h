// SPDX-License-Identifier: BSD-2-Clause
// The figures of several probes in one recording: each probe has columns of its own, and a stack
// that several probes saw is one row.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/recording.h"

namespace memflame {

// The columns of one probe.
struct ProbeTypes {
  std::string_view probe;
  bool has_blocks = false;
  std::vector<ValueType> types;
};

// The columns of all probes, one probe after the other. Verdicts and views find the columns of
// blocks by their names, so these stay as they are; in front of all others comes the name of the
// probe: "fault-gained". The columns of a single probe stay as they are.
std::vector<ValueType> side_by_side(const std::vector<ProbeTypes>& probes);

// Makes a recording of several, which share their stacks.
class SideBySide {
 public:
  // The probes' figures come into this recording one after the other.
  explicit SideBySide(Recording& recording);

  // Takes the columns and rows of the next probe out of the recording, and puts its name in front
  // of what it has noted and compared.
  void take(std::string_view probe, bool has_blocks);
  // Puts everything back, side by side. The first probe's figure is shown.
  void finish();

 private:
  Recording& recording_;
  std::vector<ProbeTypes> types_;
  std::vector<std::vector<Aggregate>> sums_;  // by probe
  size_t shown_ = 0;
  std::string sampling_;
  size_t notes_, compared_;  // those that have their names
};

}  // namespace memflame
