// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <cmath>

#include "collapse/verdicts/evidence.h"

namespace memflame {
namespace {

// Survivors must be this many times older than the longest life that has ended.
constexpr double times_older = 3;
// So large a part of the survivors may have died late, or may have come late, without a meaning.
constexpr double stray = 0.01;

// Births whose survivors are at least `age_s` old.
std::span<const Brood> older(const Evidence& evidence, double age_s) {
  const auto young =
      std::find_if(evidence.broods.begin(), evidence.broods.end(),
                   [&](const Brood& brood) { return brood.to > evidence.now - age_s + 1e-6; });
  return {evidence.broods.begin(), young};
}

double live_blocks(std::span<const Brood> broods) {
  double sum = 0;
  for (const Brood& brood : broods) sum += brood.live_blocks;
  return sum;
}

// When the youngest survivor was born, except a few strays.
double last_birth(std::span<const Brood> broods, double blocks) {
  double passed = 0;
  for (size_t i = broods.size(); i-- > 0;) {
    passed += broods[i].live_blocks;
    if (broods[i].live_blocks > 0 && passed > stray * blocks) return broods[i].to;
  }
  return 0;
}

// At least three quarters of the time must have survivors. The last one must have a third of the
// mean, or less if chance explains it.
bool is_spread(std::span<const Brood> broods, const Survivors& survivors) {
  std::array<double, 4> parts{};
  const double width = (survivors.until - survivors.from) / 4;
  if (width <= 0) return false;
  size_t stretches = 0;
  for (const Brood& brood : broods) {
    if (brood.samples <= 0) continue;
    ++stretches;
    const double length = std::max(brood.to - brood.from, 1e-9);
    for (size_t i = 0; i < parts.size(); ++i) {
      const double from = survivors.from + static_cast<double>(i) * width;
      const double common = std::min(brood.to, from + width) - std::max(brood.from, from);
      parts[i] += brood.samples * std::clamp(common / length, 0.0, 1.0);
    }
  }
  const double mean = survivors.samples / 4;
  const auto filled = std::count_if(parts.begin(), parts.end(), [](double n) { return n > 0.5; });
  return stretches >= 3 && filled >= 3 && parts[3] >= 0.35 * mean - 2 * std::sqrt(mean);
}

// Far fewer have come since the last birth than before: strays, where more than ten would be
// expected. The silence is also long for the gaps that there were before.
bool has_stopped(std::span<const Brood> broods, const Survivors& survivors) {
  double gap = 0, before = survivors.from, strays = 0;
  for (const Brood& brood : broods) {
    if (brood.live_blocks <= 0) continue;
    if (brood.to > survivors.last_birth) {
      strays += brood.samples;
      continue;
    }
    gap = std::max(gap, brood.from - before);
    before = brood.to;
  }
  const double active = std::max(survivors.last_birth - survivors.from, 1e-3);
  const double silence = survivors.until - survivors.last_birth;
  const double expected = silence * (survivors.samples - strays) / active;
  return expected > 10 && strays < 0.2 * expected && silence > 3 * gap;
}

}  // namespace

Survivors survivors_of(const Evidence& evidence, const TrackRecord& record, double tail_s) {
  double deaths = 0;
  for (const Lives& lives : record.lives) deaths += static_cast<double>(lives.blocks);
  Survivors survivors;
  double late = deaths;
  // The first candidate is that nothing has a life at all.
  for (size_t i = 0; i <= record.lives.size(); ++i) {
    if (i > 0) {
      late -= static_cast<double>(record.lives[i - 1].blocks);
      survivors.life_s =
          std::max(survivors.life_s, static_cast<double>(record.lives[i - 1].longest_s));
    }
    const double old = live_blocks(older(evidence, times_older * survivors.life_s));
    if (old > 0 && late <= stray * old) break;
  }
  const double age_s = std::max(times_older * survivors.life_s, tail_s);
  const std::span<const Brood> broods = older(evidence, age_s);
  survivors.from = evidence.first;
  survivors.until = std::max(evidence.now - age_s, evidence.first);
  for (const Brood& brood : broods) {
    if (survivors.blocks == 0 && brood.live_blocks > 0)
      survivors.oldest_birth = std::max(brood.from, evidence.first);
    survivors.allocated += brood.blocks;
    survivors.blocks += brood.live_blocks;
    survivors.bytes += brood.live_bytes;
    survivors.samples += brood.samples;
  }
  // A stretch that is only partly old enough is not judged, so it does not count as silence.
  for (const Brood& brood : evidence.broods)
    if (brood.from < survivors.until && brood.to > survivors.until + 1e-6)
      survivors.until = std::max(brood.from, evidence.first);
  survivors.last_birth = last_birth(broods, survivors.blocks);
  survivors.is_spread = is_spread(broods, survivors);
  survivors.has_stopped = has_stopped(broods, survivors);
  return survivors;
}

std::vector<int64_t> curve_of(const Evidence& evidence, double until_s) {
  constexpr size_t slices = 32;
  std::vector<int64_t> curve;
  for (size_t i = 1; i <= slices; ++i) {
    const double until =
        evidence.first + (until_s - evidence.first) * static_cast<double>(i) / slices;
    double bytes = 0;
    for (const Brood& brood : evidence.broods) {
      if (brood.from >= until) break;
      const double length = std::max(brood.to - brood.from, 1e-9);
      bytes += brood.live_bytes * std::min((until - brood.from) / length, 1.0);
    }
    curve.push_back(std::llround(std::min(bytes, 9e18)));
  }
  return curve;
}

Interval rate_of(const Survivors& survivors, const Evidence& evidence, const RunClock& clock) {
  // A stretch without births from this stack is a step, too.
  std::vector<Increment> steps;
  auto brood = evidence.broods.begin();
  for (size_t i = 0; i < clock.begins.size(); ++i) {
    const auto in_seconds = [](uint64_t time_ns) { return static_cast<double>(time_ns) / 1e9; };
    const double begin = std::max(in_seconds(clock.begins[i]), evidence.first);
    const double end =
        in_seconds(i + 1 < clock.begins.size() ? clock.begins[i + 1] : clock.surveyed_ns);
    if (end <= begin) continue;
    if (end > survivors.until + 1e-6) break;
    Increment step{0, end - begin};
    while (brood != evidence.broods.end() && brood->to <= end + 1e-6) {
      step.amount += brood->live_bytes;
      ++brood;
    }
    steps.push_back(step);
  }
  // A leak has no memory of its own: stretches are drawn one by one.
  return widened(rate_of(steps, 1), survivors.blocks, survivors.samples);
}

}  // namespace memflame
