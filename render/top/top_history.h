// SPDX-License-Identifier: BSD-2-Clause
// The live bytes of stacks over the last minute or so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace memflame {

class TopHistory {
 public:
  static constexpr size_t most_points = 60;
  static constexpr double least_seconds = 10;  // no growth is told of a shorter time

  // A point is kept every `interval` seconds, but at most once a second.
  explicit TopHistory(double interval);

  struct Stack {
    uint64_t key = 0;
    int64_t bytes = 0;
  };
  // The stacks at a time, which grows from call to call. `is_all`: no others hold memory.
  void add(double seconds, std::span<const Stack> stacks, bool is_all);

  // The oldest first, and the latest look last.
  std::vector<int64_t> series(uint64_t key) const;
  // Bytes per minute, from the first to the last of the series; none if that is too short.
  std::optional<double> growth(uint64_t key) const;
  std::string window() const;  // the longest time of a series: "1 min"

 private:
  std::deque<double> times_;  // of the points, in seconds
  bool was_all_ = true;
  // As long as times_, or shorter: it ends with the latest point.
  std::unordered_map<uint64_t, std::deque<int64_t>> bytes_;
  double interval_;
};

}  // namespace memflame
