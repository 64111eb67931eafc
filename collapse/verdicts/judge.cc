// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/judge.h"

#include <algorithm>
#include <cmath>

#include "collapse/verdicts/judge_collected.h"

namespace memflame {
namespace {

// Limits of patience, in seconds.
constexpr double leak_after_s = 30, unfreed_leak_after_s = 45;
constexpr double shortest_window_s = 10;  // that survivors were born in
constexpr double shortest_silence_s = 5;

// So many samples must be seen of a leak. What they stand for must exceed the noise floor.
constexpr double fewest_samples = 5;

int64_t whole_number(double value) { return std::llround(std::clamp(value, 0.0, 9e18)); }

class Case {
 public:
  Case(const TrackRecord& record, const RunClock& clock, const VerdictOptions& options)
      : record_(record),
        clock_(clock),
        options_(options),
        evidence_(evidence_of(record, clock, options)),
        survivors_(survivors_of(evidence_, record, options.tail * evidence_.watched_s())) {
    describe();
  }

  Verdict decide() {
    if (is_left())
      tell_left();
    else if (is_of_warmup())
      tell_of_warmup();
    else if (is_leak())
      verdict_.kind = VerdictKind::leak;
    else if (is_freed_at_end())
      verdict_.kind = VerdictKind::freed_at_end;
    else if (is_kept())
      tell_kept();
    else if (is_cache())
      tell_cache();
    else if (has_come_back())
      tell_come_back();
    else
      tell_unknown();
    return verdict_;
  }

 private:
  void describe();
  void describe_growth();
  bool is_over() const { return clock_.is_over || record_.ended_ns; }
  bool is_left() const;
  bool is_of_warmup() const;
  bool is_few() const;
  bool is_above_floor() const;
  bool is_filling() const;
  bool is_leak() const;
  bool is_freed_at_end() const;
  bool is_kept() const;
  bool frees_nothing_young() const;
  bool is_cache() const;
  bool has_come_back() const;
  double gone_after_s() const;
  bool all_replaced() const;
  void tell_left();
  void tell_of_warmup();
  void tell_kept();
  void tell_cache();
  void tell_come_back();
  void tell_unknown();

  const TrackRecord& record_;
  const RunClock& clock_;
  const VerdictOptions& options_;
  const Evidence evidence_;
  const Survivors survivors_;
  Verdict verdict_;
};

void Case::describe() {
  describe_amounts(verdict_, record_, evidence_);
  verdict_.others_live_at_most_s = survivors_.life_s;
  verdict_.survivors = whole_number(survivors_.blocks);
  verdict_.survivor_bytes = whole_number(survivors_.bytes);
  verdict_.oldest_s = survivors_.blocks > 0 ? evidence_.now - survivors_.oldest_birth : 0;
  if (survivors_.allocated > 0)
    verdict_.leaked_share = std::min(1.0, survivors_.blocks / survivors_.allocated);
  verdict_.is_steady = survivors_.is_spread && !survivors_.has_stopped;

  describe_growth();
  if (survivors_.blocks > 0 && verdict_.is_steady)
    verdict_.rate = rate_of(survivors_, evidence_, clock_);
}

void Case::describe_growth() {
  const std::span<const int64_t> slices =
      std::span(evidence_.slices).first(evidence_.judged_slices);
  std::vector<Increment> steps;
  for (size_t i = 1; i < slices.size(); ++i)
    steps.push_back({static_cast<double>(slices[i] - slices[i - 1]),
                     evidence_.slice_ends[i] - evidence_.slice_ends[i - 1]});
  verdict_.live_growth = widened(rate_of(steps), evidence_.live, evidence_.live_samples);
  verdict_.rate = verdict_.live_growth;
  const auto floor = static_cast<double>(options_.min_bytes);
  // A few survivors drown in the noise of blocks that come and go, so their own curve has to do.
  // All that an ended process left are survivors.
  if (is_left() || (is_above_floor() && verdict_.leaked_share < 0.5)) {
    const double until =
        is_left() ? evidence_.now - options_.tail * evidence_.watched_s() : survivors_.until;
    const std::vector<int64_t> curve = curve_of(evidence_, until);
    const double samples = is_left() ? evidence_.live_samples : survivors_.samples;
    verdict_.growth = class_above_noise(leak_factor(curve), curve.size(), samples, floor);
  } else {
    verdict_.growth =
        class_above_noise(leak_factor(slices), slices.size(), evidence_.live_samples, floor);
  }
}

bool Case::is_left() const {
  return record_.ended_ns && record_.live_blocks > 0 && !is_of_warmup();
}

// An ended process left nothing but blocks of the warm-up.
bool Case::is_of_warmup() const {
  return options_.warmup_ns != 0 && record_.ended_ns && record_.live_blocks > 0 &&
         evidence_.live < 0.5;
}

void Case::tell_of_warmup() {
  verdict_.kind = VerdictKind::kept;
  verdict_.since_s =
      evidence_.now - static_cast<double>(std::min(options_.warmup_ns, *record_.ended_ns)) / 1e9;
  verdict_.survivors = record_.live_blocks;
  verdict_.survivor_bytes = record_.live_bytes;
}

void Case::tell_left() {
  verdict_.kind = VerdictKind::leak;
  verdict_.survivors = record_.live_blocks;
  verdict_.survivor_bytes = record_.live_bytes;
  if (options_.warmup_ns != 0) {
    double bytes = 0;
    for (const Brood& brood : evidence_.broods) bytes += brood.live_bytes;
    verdict_.survivors = std::min(record_.live_blocks, whole_number(evidence_.live));
    verdict_.survivor_bytes = std::min(record_.live_bytes, whole_number(bytes));
  }
  if (record_.total_blocks > 0)
    verdict_.leaked_share =
        static_cast<double>(verdict_.survivors) / static_cast<double>(record_.total_blocks);
  for (const Brood& brood : evidence_.broods) {
    if (brood.live_blocks <= 0) continue;
    verdict_.oldest_s = evidence_.now - brood.from;
    break;
  }
}

bool Case::is_few() const {
  const auto floor = static_cast<double>(options_.min_blocks);
  return survivors_.blocks < floor || survivors_.samples < std::min(floor, fewest_samples);
}

bool Case::is_above_floor() const {
  return !is_few() && survivors_.bytes >= static_cast<double>(options_.min_bytes);
}

// Nothing has been freed, and less and less comes: a cache finds more of its entries the fuller it
// is.
bool Case::is_filling() const {
  return !verdict_.any_freed && verdict_.growth == GrowthClass::logarithmic;
}

bool Case::is_leak() const {
  const double limit = verdict_.any_freed ? leak_after_s : unfreed_leak_after_s;
  const double window = survivors_.until - survivors_.from;
  if (is_filling()) return false;
  return is_above_floor() && verdict_.is_steady && evidence_.watched_s() >= limit - 0.5 &&
         window >= std::max(shortest_window_s, survivors_.life_s);
}

bool Case::is_freed_at_end() const {
  if (!is_over() || record_.total_blocks <= 0) return false;
  const double block_bytes =
      static_cast<double>(record_.total_bytes) / static_cast<double>(record_.total_blocks);
  const double late = evidence_.late_deaths;
  return late >= static_cast<double>(options_.min_blocks) * evidence_.weight &&
         late * block_bytes >= static_cast<double>(options_.min_bytes) &&
         late > static_cast<double>(record_.live_blocks);
}

bool Case::is_kept() const {
  const double silence = survivors_.until - survivors_.last_birth;
  return survivors_.blocks > 0 && survivors_.blocks >= 0.5 * evidence_.live &&
         (survivors_.has_stopped || is_few()) &&
         silence >= std::max(shortest_silence_s, evidence_.watched_s() / 5);
}

void Case::tell_kept() {
  verdict_.kind = VerdictKind::kept;
  verdict_.since_s = evidence_.now - survivors_.last_birth;
}

// All births that are older than this have gone.
double Case::gone_after_s() const {
  double oldest = evidence_.longest_life_s;
  for (const Brood& brood : evidence_.broods) {
    if (brood.live_blocks <= 0) continue;
    oldest = std::max(oldest, evidence_.now - brood.from);
    break;
  }
  return oldest;
}

// Lives that end at any time, as those of requests do, would free at least a tenth of the samples
// in the first third of the median life. The upper limit is that of a Poisson distribution: one in
// a thousand exceeds it.
bool Case::frees_nothing_young() const {
  const double root = std::sqrt(evidence_.young_deaths + 1) + 1.55;
  return root * root < 0.1 * evidence_.deaths;
}

bool Case::is_cache() const {
  if (evidence_.live_samples < static_cast<double>(options_.min_blocks)) return false;
  const double full_s = evidence_.now - evidence_.flat_since;
  const bool is_exact = evidence_.weight <= 1.01;
  // A limit keeps the number of blocks from scattering as that of independent ones does. Samples
  // scatter anyway; there a cache shows in that it frees nothing young.
  const bool has_limit = is_exact ? evidence_.dispersion < 0.3 : frees_nothing_young();
  // Lives that are no longer than the time between surveys say nothing about when they end.
  const uint64_t apart_ns = clock_.begins.empty() ? 0 : clock_.surveyed_ns - clock_.begins.back();
  const double shortest_s = std::max(2.0, 3e-9 * static_cast<double>(apart_ns));
  if (!has_limit || evidence_.longest_life_s < shortest_s || full_s < shortest_window_s)
    return false;
  if (all_replaced()) return full_s >= gone_after_s();
  // Entries that are used all the time stay, so the others must show it.
  return evidence_.old_share < 0.5 && full_s >= evidence_.watched_s() / 2;
}

bool Case::all_replaced() const { return evidence_.watched_s() >= 1.5 * gone_after_s(); }

void Case::tell_cache() {
  verdict_.kind = VerdictKind::cache;
  verdict_.since_s = evidence_.now - evidence_.flat_since;
  verdict_.replaced_share = all_replaced() ? 1 : 1 - evidence_.old_share;
  verdict_.replaced_within_s = all_replaced() ? gone_after_s() : evidence_.watched_s() / 2;
}

bool Case::has_come_back() const {
  if (!verdict_.any_freed) return false;
  if (record_.live_blocks == 0) return true;
  if (evidence_.watched_s() < shortest_silence_s) return false;
  if (survivors_.blocks > 0 && (is_above_floor() || evidence_.watched_s() < leak_after_s))
    return false;
  const double gone_s = survivors_.blocks > 0 ? survivors_.life_s : gone_after_s();
  return evidence_.watched_s() >= 3 * gone_s;
}

void Case::tell_come_back() {
  verdict_.kind = VerdictKind::comes_back;
  verdict_.replaced_within_s = survivors_.blocks > 0 ? survivors_.life_s : gone_after_s();
  verdict_.others_live_at_most_s = verdict_.replaced_within_s;
}

void Case::tell_unknown() {
  verdict_.kind = VerdictKind::cannot_tell;
  const double watched = evidence_.watched_s();
  const double limit =
      std::max(verdict_.any_freed ? leak_after_s : unfreed_leak_after_s,
               3 * std::min(gone_after_s(), 1.5 * evidence_.longest_life_s) + shortest_window_s);
  verdict_.wait_s = std::max({limit - watched, watched / 4, 1.0});
  if (watched < limit) verdict_.wait_s = std::max(limit - watched, 1.0);
}

}  // namespace

std::optional<Verdict> judge(const TrackRecord& record, const RunClock& clock,
                             const VerdictOptions& options) {
  if (record.total_blocks <= 0 && record.live_blocks <= 0) return std::nullopt;
  if (clock.is_collected) return judge_collected(record, clock, options);
  return Case(record, clock, options).decide();
}

}  // namespace memflame
