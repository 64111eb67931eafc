// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/track_record.h"

#include <algorithm>
#include <cmath>

namespace memflame {
namespace {

uint8_t length_of(double seconds) {
  const double quarters = 4 * std::log2(std::max(seconds, 0.001) * 1000);
  return static_cast<uint8_t>(std::clamp(quarters, 0.0, 255.0));
}

void add(Lives& into, const Lives& lives) {
  into.blocks += lives.blocks;
  into.longest_s = std::max(into.longest_s, lives.longest_s);
  into.first_s = std::min(into.first_s, lives.first_s);
}

// The place of lives of a length, made if there is none.
Lives& lives_of(std::vector<Lives>& table, const Lives& like) {
  auto at =
      std::lower_bound(table.begin(), table.end(), like.length,
                       [](const Lives& lives, uint8_t length) { return lives.length < length; });
  if (at == table.end() || at->length != like.length)
    at = table.insert(at, {like.length, 0, like.longest_s, like.first_s});
  return *at;
}

void add(Births& into, const Births& births) {
  const bool has_old = into.live_blocks > 0, has_new = births.live_blocks > 0;
  if (has_old == has_new) {
    into.from_ns = std::min(into.from_ns, births.from_ns);
    into.to_ns = std::max(into.to_ns, births.to_ns);
  } else if (has_new) {
    into.from_ns = births.from_ns;
    into.to_ns = births.to_ns;
  }
  into.bytes += births.bytes;
  into.blocks += births.blocks;
  into.live_bytes += births.live_bytes;
  into.live_blocks += births.live_blocks;
  into.samples += births.samples;
}

// The sum of two step functions, each 0 before its first point.
std::vector<LivePoint> sum_of(const std::vector<LivePoint>& a, const std::vector<LivePoint>& b) {
  std::vector<LivePoint> sum;
  LivePoint left, right;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const uint32_t bin = std::min(i < a.size() ? a[i].bin : UINT32_MAX,  //
                                  j < b.size() ? b[j].bin : UINT32_MAX);
    if (i < a.size() && a[i].bin == bin) left = a[i++];
    if (j < b.size() && b[j].bin == bin) right = b[j++];
    const uint64_t blocks = uint64_t{left.blocks} + right.blocks;
    sum.push_back({bin, static_cast<uint32_t>(std::min<uint64_t>(blocks, UINT32_MAX)),
                   left.bytes + right.bytes});
  }
  return sum;
}

}  // namespace

Births& TrackRecord::births_of(const Births& like) {
  auto at = std::lower_bound(
      births.begin(), births.end(), like.stretch_ns,
      [](const Births& one, uint64_t begin_ns) { return one.stretch_ns < begin_ns; });
  if (at == births.end() || at->stretch_ns != like.stretch_ns) {
    at = births.insert(at, Births{});
    at->stretch_ns = like.stretch_ns;
    at->from_ns = like.from_ns;
    at->to_ns = like.to_ns;
  }
  return *at;
}

void TrackRecord::add_lives(double length_s, int64_t blocks, double now_s) {
  if (blocks <= 0) return;
  const Lives one{length_of(length_s), blocks, static_cast<float>(length_s),
                  static_cast<float>(now_s)};
  add(lives_of(lives, one), one);
  ended_lives += blocks;
}

void TrackRecord::set_live(uint32_t bin) {
  if (points.empty() || points.back().bin != bin) points.push_back({bin, 0, 0});
  LivePoint& point = points.back();
  point.bytes = std::max<int64_t>(live_bytes, 0);
  point.blocks = static_cast<uint32_t>(std::clamp<int64_t>(live_blocks, 0, UINT32_MAX));
}

void TrackRecord::halve_bins() {
  size_t kept = 0;
  for (LivePoint point : points) {
    point.bin /= 2;
    // The later point of a bin is that of its end.
    if (kept == 0 || points[kept - 1].bin != point.bin) ++kept;
    points[kept - 1] = point;
  }
  points.resize(kept);
}

void TrackRecord::join(std::span<const uint64_t> begins) {
  size_t kept = 0, place = 0;
  for (size_t i = 0; i < births.size(); ++i) {
    while (place + 1 < begins.size() && begins[place + 1] <= births[i].stretch_ns) ++place;
    births[i].stretch_ns = begins[place];
    if (kept != 0 && births[kept - 1].stretch_ns == begins[place])
      add(births[kept - 1], births[i]);
    else if (kept++ != i)
      births[kept - 1] = births[i];
  }
  births.resize(kept);
}

TrackRecord sum_of(std::span<const TrackRecord> records) {
  TrackRecord sum;
  bool all_ended = true;
  uint64_t ended_ns = 0;
  for (const TrackRecord& record : records) {
    sum.first_ns = sum.exists ? std::min(sum.first_ns, record.first_ns) : record.first_ns;
    sum.exists = true;
    sum.live_bytes += record.live_bytes;
    sum.live_blocks += record.live_blocks;
    sum.total_bytes += record.total_bytes;
    sum.total_blocks += record.total_blocks;
    sum.live_samples += record.live_samples;
    sum.allocated_ns = std::max(sum.allocated_ns, record.allocated_ns);
    if (record.maximum_bytes > sum.maximum_bytes) {
      sum.maximum_bytes = record.maximum_bytes;
      sum.maximum_ns = record.maximum_ns;
    }
    if (record.ended_ns) ended_ns = std::max(ended_ns, *record.ended_ns);
    all_ended = all_ended && record.ended_ns;
    for (const Births& births : record.births) add(sum.births_of(births), births);
    for (const Lives& lives : record.lives) add(lives_of(sum.lives, lives), lives);
    sum.ended_lives += record.ended_lives;
    sum.points = sum_of(sum.points, record.points);
  }
  if (all_ended && sum.exists) sum.ended_ns = ended_ns;
  return sum;
}

}  // namespace memflame
