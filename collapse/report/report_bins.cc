// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/report/report_bins.h"

#include <algorithm>

namespace memflame {

namespace {

// The smallest power of two of a second that divides a run into at most `most` bins. 2^-9 s is the
// shortest one that is a whole number of nanoseconds.
uint64_t lasting_step(uint64_t end_ns, size_t most) {
  uint64_t step = 1'000'000'000U >> 9U;
  while (step < end_ns / most + 1 && step <= end_ns) step *= 2;
  return step;
}

}  // namespace

ReportBins ReportBins::even(uint64_t end_ns, size_t most, std::span<const uint64_t> exact,
                            Steps steps) {
  constexpr uint64_t step_ns = 1000;
  std::vector<uint64_t> kept = chosen(exact, end_ns, most);
  const size_t even = most - kept.size();
  std::vector<uint64_t> times;
  if (steps == Steps::lasting) {
    // How many exact times there are must not change the distance.
    const uint64_t step = lasting_step(end_ns, most - most / 2);
    for (uint64_t time = step; time < end_ns; time += step) times.push_back(time);
    return {std::move(times), kept, end_ns};
  }
  for (size_t i = 1; i < even; ++i) {
    __extension__ using Wide = unsigned __int128;
    const auto time = static_cast<uint64_t>(Wide{end_ns} * i / even);
    times.push_back(time - time % step_ns);
  }
  return {std::move(times), kept, end_ns};
}

ReportBins ReportBins::among(std::span<const uint64_t> times, size_t most,
                             std::span<const uint64_t> exact, Steps steps) {
  const uint64_t end_ns = times.back();
  const std::vector<uint64_t> kept = chosen(exact, end_ns, most);
  if (times.size() <= most) return {{times.begin(), times.end()}, kept, end_ns};
  const std::vector<uint64_t> wanted =
      even(end_ns, steps == Steps::lasting ? most : most - kept.size(), {}, steps).edges();
  std::vector<uint64_t> found;
  for (const uint64_t time : wanted)
    if (const auto after = std::upper_bound(times.begin(), times.end(), time);
        after != times.begin())
      found.push_back(after[-1]);
  return {std::move(found), kept, end_ns};
}

std::vector<uint64_t> ReportBins::chosen(std::span<const uint64_t> exact, uint64_t end_ns,
                                         size_t most) {
  std::vector<uint64_t> kept;
  for (const uint64_t time : exact)
    if (time > 0 && time < end_ns && kept.size() < most / 2 &&
        std::find(kept.begin(), kept.end(), time) == kept.end())
      kept.push_back(time);
  std::sort(kept.begin(), kept.end());
  return kept;
}

ReportBins::ReportBins(std::vector<uint64_t> times, std::span<const uint64_t> exact,
                       uint64_t end_ns)
    : edges_(std::move(times)) {
  edges_.insert(edges_.end(), exact.begin(), exact.end());
  edges_.insert(edges_.end(), {0, end_ns});
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  for (const uint64_t edge : edges_)
    is_exact_.push_back(edge == 0 || edge == end_ns ||
                        std::binary_search(exact.begin(), exact.end(), edge));
}

uint32_t ReportBins::bin_of(uint64_t time_ns) const {
  const uint32_t edge = first_from(time_ns);
  return edge == 0 ? 0 : edge - 1;
}

bool ReportBins::has(uint64_t time_ns) const {
  return std::binary_search(edges_.begin(), edges_.end(), time_ns);
}

uint32_t ReportBins::nearest(uint64_t time_ns) const {
  const uint32_t before = last_until(time_ns), after = first_from(time_ns);
  if (edges_[after] < time_ns) return after;
  return time_ns - edges_[before] < edges_[after] - time_ns ? before : after;
}

uint32_t ReportBins::last_until(uint64_t time_ns) const {
  const auto after = std::upper_bound(edges_.begin(), edges_.end(), time_ns);
  return static_cast<uint32_t>(after - edges_.begin()) - 1;
}

uint32_t ReportBins::first_from(uint64_t time_ns) const {
  const auto at = std::lower_bound(edges_.begin(), edges_.end() - 1, time_ns);
  return static_cast<uint32_t>(at - edges_.begin());
}

std::vector<uint32_t> ReportBins::halve() {
  std::vector<uint64_t> edges;
  std::vector<bool> is_exact;
  std::vector<uint32_t> bins;  // by old bin
  bool is_second = false;
  for (size_t i = 0; i < edges_.size(); ++i) {
    // The bin that ends at this edge lies between the last edge kept and the next one.
    if (i > 0) bins.push_back(static_cast<uint32_t>(edges.size() - 1));
    is_second = !is_exact_[i] && !is_second;
    if (is_second) continue;
    edges.push_back(edges_[i]);
    is_exact.push_back(is_exact_[i]);
  }
  if (edges.size() == edges_.size()) return {};
  edges_ = std::move(edges);
  is_exact_ = std::move(is_exact);
  return bins;
}

}  // namespace memflame
