// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/evidence.h"

#include <algorithm>
#include <cmath>

namespace memflame {
namespace {

double seconds_of(uint64_t time_ns) { return static_cast<double>(time_ns) / 1e9; }

void add_broods(Evidence& evidence, const TrackRecord& record) {
  for (const Births& births : record.births) {
    Brood brood{.from = seconds_of(births.from_ns),
                .to = std::min(seconds_of(births.to_ns), evidence.now),
                .blocks = static_cast<double>(births.blocks),
                .bytes = static_cast<double>(births.bytes),
                .live_blocks = static_cast<double>(births.live_blocks),
                .live_bytes = static_cast<double>(births.live_bytes),
                .samples = static_cast<double>(births.samples)};
    brood.to = std::max(brood.from, brood.to);
    if (brood.from + 1e-6 < evidence.first) continue;  // in the warm-up
    evidence.live += brood.live_blocks;
    evidence.live_samples += brood.samples;
    evidence.broods.push_back(brood);
  }
  double born = 0, alive = 0;
  for (const Brood& brood : evidence.broods)
    if (brood.to <= evidence.first + evidence.watched_s() / 2) {
      born += brood.blocks;
      alive += brood.live_blocks;
    }
  if (born > 0) evidence.old_share = alive / born;
  if (evidence.live_samples > 0)
    evidence.weight = std::max(1.0, evidence.live / evidence.live_samples);
}

// Where the live bytes have been within a band around their latest value since. The band is a
// twentieth, or four times what sampling scatters.
double flat_since(const Evidence& evidence) {
  const size_t n = evidence.slices.size();
  if (n == 0) return evidence.now;
  double level = 0;
  const size_t last = std::max<size_t>(1, n / 8);
  for (size_t i = n - last; i < n; ++i) level += static_cast<double>(evidence.slices[i]);
  level /= static_cast<double>(last);
  const double scatter = evidence.weight > 1.01 && evidence.live_samples > 0
                             ? 4 / std::sqrt(evidence.live_samples)
                             : 0;
  const double band = level * std::max(0.05, std::min(scatter, 0.5));
  size_t i = n;
  while (i > 0 && std::fabs(static_cast<double>(evidence.slices[i - 1]) - level) <= band) --i;
  return i == n ? evidence.now : evidence.slice_ends[i];
}

void add_slices(Evidence& evidence, const TrackRecord& record, const RunClock& clock,
                const VerdictOptions& options) {
  if (record.points.empty()) return;
  std::vector<double> blocks;
  const double tail_from = evidence.now - options.tail * (evidence.now - evidence.first);
  size_t point = 0;
  for (uint32_t bin = record.points[0].bin; bin < clock.bins.size(); ++bin) {
    const double end = seconds_of(clock.bins[bin]);
    if (end > evidence.now) break;
    while (point + 1 < record.points.size() && record.points[point + 1].bin <= bin) ++point;
    if (end < evidence.first) continue;
    evidence.slices.push_back(record.points[point].bytes);
    evidence.slice_ends.push_back(end);
    blocks.push_back(record.points[point].blocks);
    if (end <= tail_from || options.tail <= 0) evidence.judged_slices = evidence.slices.size();
  }
  const size_t n = evidence.slices.size();
  double mean = 0, spread = 0;
  const size_t last = std::max<size_t>(n / 4, std::min<size_t>(n, 4));
  for (size_t i = n - last; i < n; ++i) mean += blocks[i] / static_cast<double>(last);
  for (size_t i = n - last; i < n; ++i) spread += (blocks[i] - mean) * (blocks[i] - mean);
  if (mean > 0 && last > 1) evidence.dispersion = spread / static_cast<double>(last - 1) / mean;
  evidence.flat_since = flat_since(evidence);
}

void add_lives(Evidence& evidence, const TrackRecord& record, const VerdictOptions& options) {
  double all = 0, before = 0, young = 0;
  for (const Lives& lives : record.lives) all += static_cast<double>(lives.blocks);
  for (const Lives& lives : record.lives) {
    if (before >= 0.99 * all) break;
    before += static_cast<double>(lives.blocks);
    evidence.longest_life_s = static_cast<double>(lives.longest_s);
  }
  const double tail_from = evidence.now - options.tail * (evidence.now - evidence.first);
  double last_before = 0;  // the survey before the tail may be up to a slice earlier
  for (const double end : evidence.slice_ends)
    if (end <= tail_from) last_before = end;
  for (const Lives& lives : record.lives) {
    const auto blocks = static_cast<double>(lives.blocks);
    if (static_cast<double>(lives.longest_s) <= evidence.longest_life_s / 4) young += blocks;
    if (static_cast<double>(lives.first_s) > last_before + 1e-3) evidence.late_deaths += blocks;
  }
  if (all > 0) evidence.young_deaths = young / all;
}

}  // namespace

Evidence evidence_of(const TrackRecord& record, const RunClock& clock,
                     const VerdictOptions& options) {
  Evidence evidence;
  evidence.now = seconds_of(record.ended_ns ? *record.ended_ns : clock.now_ns);
  evidence.first =
      std::min(evidence.now, std::max(seconds_of(record.first_ns), seconds_of(options.warmup_ns)));
  add_broods(evidence, record);
  add_slices(evidence, record, clock, options);
  add_lives(evidence, record, options);
  return evidence;
}

}  // namespace memflame
