// SPDX-License-Identifier: BSD-2-Clause
// What the kernel takes for one hit of a uprobe, beside the program that it runs: measured on
// functions of memflame's own with probes that do nothing.
#pragma once

#include <limits>

#include "probes/alloc/attaching/uprobe_means.h"
#include "probes/run/overhead.h"

namespace memflame {

// A busy machine makes a call longer, never shorter: what counts is the least that was ever seen,
// so prices get better by measuring them again.
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
