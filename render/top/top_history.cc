// SPDX-License-Identifier: BSD-2-Clause
#include "render/top/top_history.h"

#include <algorithm>
#include <cmath>

#include "render/timeline/ticks.h"

namespace memflame {
namespace {

constexpr int64_t unknown = -1;

}  // namespace

TopHistory::TopHistory(double interval) : interval_(std::max(interval, 1.0)) {}

void TopHistory::add(double seconds, std::span<const Stack> stacks, bool is_all) {
  // The latest point moves along until it is far enough from the one before.
  const bool moves =
      times_.size() > 1 && times_.back() - times_[times_.size() - 2] < interval_ * 0.999;
  if (moves) {
    times_.back() = seconds;
    for (auto& [key, series] : bytes_) series.back() = unknown;
  } else {
    times_.push_back(seconds);
    for (auto& [key, series] : bytes_) series.push_back(unknown);
  }
  if (times_.size() > most_points) times_.pop_front();
  for (const Stack& stack : stacks) {
    const auto [found, is_new] = bytes_.try_emplace(stack.key);
    // Without a row before, it held nothing, or too little for one.
    if (is_new) found->second.resize(was_all_ ? times_.size() : 1);
    found->second.back() = stack.bytes;
  }
  for (auto& [key, series] : bytes_) {
    if (series.size() > times_.size()) series.pop_front();
    if (series.back() == unknown && is_all) series.back() = 0;
  }
  std::erase_if(bytes_, [](const auto& entry) {
    const std::deque<int64_t>& series = entry.second;
    return series.back() == unknown ||
           std::all_of(series.begin(), series.end(), [](int64_t bytes) { return bytes == 0; });
  });
  was_all_ = is_all;
}

std::vector<int64_t> TopHistory::series(uint64_t key) const {
  const auto found = bytes_.find(key);
  if (found == bytes_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::optional<double> TopHistory::growth(uint64_t key) const {
  const auto found = bytes_.find(key);
  if (found == bytes_.end() || found->second.empty()) return std::nullopt;
  const std::deque<int64_t>& series = found->second;
  const double time = times_.back() - times_[times_.size() - series.size()];
  if (time < least_seconds) return std::nullopt;
  return static_cast<double>(series.back() - series.front()) * 60 / time;
}

std::string TopHistory::window() const {
  return time_text(std::round(interval_ * static_cast<double>(most_points)));
}

}  // namespace memflame
