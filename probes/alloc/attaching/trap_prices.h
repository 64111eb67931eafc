// SPDX-License-Identifier: BSD-2-Clause
// Measures the kernel's time for one hit of a uprobe, without the program that it runs: on
// memflame's own functions, with probes that do nothing.
#pragma once

#include <limits>

#include "probes/alloc/attaching/uprobe_means.h"
#include "probes/run/overhead.h"

namespace memflame {

// Keeps the minimum of all measurements: a busy machine makes a call longer, never shorter. So
// prices get better with each measurement.
class PriceMeter {
 public:
  explicit PriceMeter(const UprobeMeans& means) : means_(means) {}

  // Takes some 200 ms. Throws Error if the kernel does not allow measuring.
  TrapPrices measure();

 private:
  static constexpr double unknown = std::numeric_limits<double>::max();

  UprobeMeans means_;
  // ns for a call, bare and with probes.
  double emulated_ = unknown, emulated_entry_ = unknown, emulated_both_ = unknown;
  double stepped_ = unknown, stepped_entry_ = unknown;
};

// The price of one entry, in ns. Takes some 60 ms. Throws Error if the kernel does not allow it.
double measure_entry_price(const UprobeMeans& means);

}  // namespace memflame
