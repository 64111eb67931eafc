// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/judge_collected.h"

#include <algorithm>
#include <cmath>

namespace memflame {
namespace {

// As in judge.cc: nothing has been seen to be freed of what grows.
constexpr double growth_leak_after_s = 45, level_after_s = 30;
constexpr double fewest_risen_samples = 5;

// The growth since the first slice that counts.
struct Rise {
  double bytes = 0, samples = 0;
  bool in_each_third = false;
};

Rise rise_of(const Evidence& evidence, const TrackRecord& record) {
  const std::span<const int64_t> slices = std::span(evidence.slices).first(evidence.judged_slices);
  Rise rise;
  if (slices.size() < 6) return rise;
  rise.bytes = static_cast<double>(slices.back() - slices.front());
  if (record.live_bytes > 0)
    rise.samples = record.live_samples * rise.bytes / static_cast<double>(record.live_bytes);
  rise.in_each_third = true;
  for (size_t i = 0; i < 3; ++i) {
    const size_t from = i * (slices.size() - 1) / 3, to = (i + 1) * (slices.size() - 1) / 3;
    rise.in_each_third = rise.in_each_third && slices[to] > slices[from];
  }
  return rise;
}

void describe_live_growth(Verdict& verdict, const TrackRecord& record, const Evidence& evidence,
                          const VerdictOptions& options) {
  const std::span<const int64_t> slices = std::span(evidence.slices).first(evidence.judged_slices);
  std::vector<Increment> steps;
  for (size_t i = 1; i < slices.size(); ++i)
    steps.push_back({static_cast<double>(slices[i] - slices[i - 1]),
                     evidence.slice_ends[i] - evidence.slice_ends[i - 1]});
  verdict.live_growth = rate_of(steps);
  verdict.rate = verdict.live_growth;
  verdict.growth = class_above_noise(leak_factor(slices), slices.size(), record.live_samples,
                                     static_cast<double>(options.min_bytes));
}

}  // namespace

Verdict judge_collected(const TrackRecord& record, const RunClock& clock,
                        const VerdictOptions& options) {
  const Evidence evidence = evidence_of(record, clock, options);
  const Rise rise = rise_of(evidence, record);
  Verdict verdict;
  describe_amounts(verdict, record, evidence);
  verdict.is_collected = true;
  describe_live_growth(verdict, record, evidence, options);
  const double watched = verdict.watched_s;
  const bool grows =
      verdict.growth == GrowthClass::linear || verdict.growth == GrowthClass::exponential;
  const double silence =
      evidence.now - std::max(static_cast<double>(record.allocated_ns) / 1e9, evidence.first);
  if (record.live_blocks == 0) {
    verdict.kind = VerdictKind::comes_back;
  } else if (grows && watched >= growth_leak_after_s - 0.5 && rise.in_each_third &&
             verdict.live_growth.low > 0 && rise.samples >= fewest_risen_samples &&
             rise.bytes >= static_cast<double>(options.min_bytes)) {
    verdict.kind = VerdictKind::leak;
    verdict.is_steady = true;
    verdict.survivor_bytes = static_cast<int64_t>(std::min(rise.bytes, 9e18));
    verdict.survivors =
        static_cast<int64_t>(static_cast<double>(record.live_blocks) * rise.bytes /
                             static_cast<double>(std::max<int64_t>(record.live_bytes, 1)));
  } else if (watched >= level_after_s && silence >= watched / 2) {
    verdict.kind = VerdictKind::kept;
    verdict.since_s = silence;
  } else if (watched >= level_after_s && verdict.growth == GrowthClass::constant &&
             verdict.live_growth.low <= 0) {
    verdict.kind = VerdictKind::cache;
    verdict.since_s = watched;
  } else {
    verdict.kind = VerdictKind::cannot_tell;
    verdict.wait_s = std::max({growth_leak_after_s - watched, watched / 4, 1.0});
    if (watched < growth_leak_after_s)
      verdict.wait_s = std::max(growth_leak_after_s - watched, 1.0);
  }
  return verdict;
}

}  // namespace memflame
