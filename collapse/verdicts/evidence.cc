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

// The end of the slice after which all others stay within a band around the level; `now` if the
// last one does not.
double within_band_since(const Evidence& evidence, double level, double band, size_t from) {
  const std::span<const int64_t> slices = evidence.slices;
  size_t i = slices.size();
  while (i > from && std::fabs(static_cast<double>(slices[i - 1]) - level) <= band) --i;
  return i == slices.size() ? evidence.now : evidence.slice_ends[i];
}

// Without sampling: where the live bytes have been within a twentieth of their latest value since.
double exactly_flat_since(const Evidence& evidence) {
  const size_t n = evidence.slices.size();
  double level = 0;
  const size_t last = std::max<size_t>(1, n / 8);
  for (size_t i = n - last; i < n; ++i) level += static_cast<double>(evidence.slices[i]);
  level /= static_cast<double>(last);
  return within_band_since(evidence, level, level * 0.05, 0);
}

// With sampling: the bend of the line that rises from 0 and stays level from then on, by least
// squares. One value of samples scatters too much to say where that is.
double bent_flat_since(const Evidence& evidence) {
  const std::span<const int64_t> slices = evidence.slices;
  double after = 0;  // the sum of the values from the bend on
  for (const int64_t value : slices) after += static_cast<double>(value);
  double products = 0, squares = 0;  // of the times before the bend
  double best = 0, level = 0;
  size_t bend = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    const double rise_s = std::max(evidence.slice_ends[i] - evidence.first, 1e-9);
    const double product = products / rise_s + after;
    const double square = squares / (rise_s * rise_s) + static_cast<double>(slices.size() - i);
    if (product * product / square > best) {
      best = product * product / square;
      level = product / square;
      bend = i;
    }
    const auto value = static_cast<double>(slices[i]);
    after -= value;
    products += rise_s * value;
    squares += rise_s * rise_s;
  }
  double bytes = 0;
  for (const Brood& brood : evidence.broods) bytes += brood.live_bytes;
  if (bytes <= 0 || level <= 0) return evidence.now;
  // The variance of a number of samples is the number.
  const double samples = level * evidence.live_samples / bytes;
  return within_band_since(evidence, level, 4 * level / std::sqrt(samples), bend);
}

double flat_since(const Evidence& evidence) {
  if (evidence.slices.empty()) return evidence.now;
  return evidence.weight > 1.01 ? bent_flat_since(evidence) : exactly_flat_since(evidence);
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

void add_lives(Evidence& evidence, const TrackRecord& record, const RunClock& clock,
               const VerdictOptions& options) {
  double all = 0, before = 0;
  for (const Lives& lives : record.lives) all += static_cast<double>(lives.blocks);
  for (const Lives& lives : record.lives) {
    if (before >= 0.99 * all) break;
    if (before < 0.5 * all) evidence.median_life_s = static_cast<double>(lives.longest_s);
    before += static_cast<double>(lives.blocks);
    evidence.longest_life_s = static_cast<double>(lives.longest_s);
  }
  const double tail_from = evidence.now - options.tail * (evidence.now - evidence.first);
  double last_before = 0;  // the survey before the tail may be up to a slice earlier
  for (const double end : evidence.slice_ends)
    if (end <= tail_from) last_before = end;
  // Lengths are too long by the time between two surveys, on average.
  const double over_s =
      clock.begins.empty() ? 0 : seconds_of(clock.surveyed_ns - clock.begins.back());
  const double young_s = over_s + std::max(evidence.median_life_s - over_s, 0.0) / 3;
  for (const Lives& lives : record.lives) {
    const auto blocks = static_cast<double>(lives.blocks);
    if (static_cast<double>(lives.longest_s) <= young_s)
      evidence.young_deaths += blocks / evidence.weight;
    if (static_cast<double>(lives.first_s) > last_before + 1e-3) evidence.late_deaths += blocks;
  }
  evidence.deaths = all / evidence.weight;
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
  add_lives(evidence, record, clock, options);
  return evidence;
}

void describe_amounts(Verdict& verdict, const TrackRecord& record, const Evidence& evidence) {
  verdict.live_bytes = record.live_bytes;
  verdict.live_blocks = record.live_blocks;
  verdict.total_bytes = record.total_bytes;
  verdict.total_blocks = record.total_blocks;
  verdict.maximum_bytes = record.maximum_bytes;
  verdict.maximum_at_s = static_cast<double>(record.maximum_ns) / 1e9;
  verdict.watched_s = evidence.watched_s();
  verdict.ended = record.ended_ns.has_value();
  verdict.any_freed = record.total_blocks > record.live_blocks;
}

}  // namespace memflame
