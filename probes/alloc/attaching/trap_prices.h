// SPDX-License-Identifier: BSD-2-Clause
// The kernel's time for one hit of a uprobe, without the program that it runs: measured on
// memflame's own functions with probes that do nothing.
#pragma once

#include <limits>

#include "probes/alloc/attaching/uprobe_means.h"
#include "probes/run/overhead.h"

namespace memflame {

// A busy machine makes a call longer, never shorter, so the least time ever measured counts, and
// prices get better with each measurement.
class PriceMeter {
 public:
  explicit PriceMeter(const UprobeMeans& means) : means_(means) {}

  // Takes some 200 ms. Throws Error when the kernel does not let us measure.
  TrapPrices measure();

 private:
  static constexpr double unknown = std::numeric_limits<double>::max();

  UprobeMeans means_;
  // ns for a call, bare and with probes.
  double emulated_ = unknown, emulated_entry_ = unknown, emulated_both_ = unknown;
  double stepped_ = unknown, stepped_entry_ = unknown;
};

// Nanoseconds for one entry of a probe that does nothing. Takes some 60 ms. Throws Error.
double measure_entry_price(const UprobeMeans& means);

}  // namespace memflame
