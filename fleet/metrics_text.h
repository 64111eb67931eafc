// SPDX-License-Identifier: BSD-2-Clause
// Families of metrics as text: OpenMetrics 1.0, or the older format of Prometheus (0.0.4).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fleet/metrics.h"

namespace memflame {

// `name="value",…`, with names and values as both formats take them.
class MetricLabels {
 public:
  MetricLabels() = default;
  // Labels of a window. Names that metrics use themselves get "label_" before them.
  explicit MetricLabels(const std::map<std::string, std::string>& labels);
  MetricLabels with(std::string_view name, std::string_view value) const;
  const std::string& text() const { return text_; }

 private:
  void add(std::string_view name, std::string_view value);
  std::string text_;
};

struct MetricFamily {
  std::string_view name;  // without "_total"; ends with "_" and the unit, if there is one
  bool is_counter = false;
  std::string_view unit;  // "bytes", "seconds", "ratio"; "" = none
  std::string_view help;  // plain text, which needs no escapes
};

class MetricsText {
 public:
  explicit MetricsText(MetricsForm form) : form_(form) {}
  // All samples of a family come at once. Nothing is written for a family without samples.
  void write(const MetricFamily& family,
             const std::vector<std::pair<MetricLabels, double>>& samples);
  std::string finish();

 private:
  MetricsForm form_;
  std::string text_;
};

}  // namespace memflame
