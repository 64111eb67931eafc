// SPDX-License-Identifier: BSD-2-Clause
// What Prometheus sees: the newest window of each service, what became of all windows, and how the
// outputs fare.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "fleet/figures.h"
#include "fleet/window.h"

namespace memflame {

// A service here is what has the same labels.
struct ServiceMetrics {
  WindowHead head;                      // of the newest window
  std::map<std::string, int64_t> sums;  // of its profile
  // Since memflame began.
  uint64_t windows = 0;
  std::map<std::string, double> counters;  // by the names of figures and columns
  std::deque<std::string> ids;             // of the last windows: one that comes twice counts once
};

struct MetricsOptions {
  size_t max_series = 1000;  // of services and their stacks, together
  double stale_windows = 5;  // a service is not shown N windows after its last one
};

enum class MetricsForm : uint8_t { openmetrics, prometheus };

// Not thread-safe.
class Metrics {
 public:
  explicit Metrics(const MetricsOptions& options) : options_(options) {}

  // Throws Error if the profile is damaged.
  void add(const Window& window);
  void set(const FleetFigures& figures) { figures_ = figures; }
  // Text for a scrape. `now_ns` is CLOCK_REALTIME.
  std::string text(MetricsForm form, int64_t now_ns) const;
  // Forgets services that have been away for long, so that memory stays bounded.
  void forget(int64_t now_ns);

 private:
  MetricsOptions options_;
  std::map<std::map<std::string, std::string>, ServiceMetrics> services_;
  FleetFigures figures_;
  uint64_t untracked_ = 0;  // windows of more services than are kept
};

// A name for a stack that is the same everywhere, always: 12 hex digits.
std::string short_hash(std::string_view text);

}  // namespace memflame
