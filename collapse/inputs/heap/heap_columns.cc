// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/heap_columns.h"

#include <cmath>

#include "core/error.h"

namespace memflame {
namespace {

// Variances of bytes are in squares of 1 KiB, like those of memflame's own samples.
constexpr double kibibyte_squared = 1 << 20;

// The chance that a block of the average size is sampled; never 0. Needs can_be_scaled().
double chance(uint64_t rate, const HeapCounts& seen) {
  const double size = static_cast<double>(seen.bytes) / static_cast<double>(seen.objects);
  const double part = size / static_cast<double>(rate);
  // Other tools compute `usual`, so estimates equal theirs to the last digit. It is 0 for very
  // small parts.
  const double usual = 1 - std::exp(-part);
  return usual > 0 ? usual : -std::expm1(-part);
}

int64_t whole(double value) {
  constexpr double limit = 9.2e18;
  if (!(std::abs(value) < limit)) throw Error("an estimate leaves the range of 64 bits");
  return static_cast<int64_t>(value);
}

// The variance of an estimate of `figures`, each of which is seen with probability p.
double variance(double figures, double p) { return std::abs(figures) * (1 - p) / (p * p); }

int64_t bounded(double variance) {
  constexpr double limit = 9.2e18;
  return variance < limit ? std::llround(variance) : INT64_MAX;
}

bool can_be_scaled(uint64_t rate, const HeapCounts& seen) {
  // Objects without bytes, and bytes without objects, do not tell how likely they were seen.
  return rate > 1 && seen.objects != 0 && seen.bytes != 0 && (seen.objects < 0) == (seen.bytes < 0);
}

std::string short_bytes(uint64_t bytes) {
  constexpr uint64_t kib = 1024;
  if (bytes % (kib * kib) == 0) return std::to_string(bytes / kib / kib) + " MiB";
  if (bytes % kib == 0) return std::to_string(bytes / kib) + " KiB";
  return std::to_string(bytes) + " bytes";
}

}  // namespace

HeapCounts estimated(uint64_t rate, const HeapCounts& seen) {
  if (!can_be_scaled(rate, seen)) return seen;
  const double scale = 1 / chance(rate, seen);
  return {whole(static_cast<double>(seen.objects) * scale),
          whole(static_cast<double>(seen.bytes) * scale)};
}

HeapColumns::HeapColumns(uint64_t rate, bool accumulated, const std::string& prefix)
    : rate_(rate), accumulated_(accumulated) {
  for (const std::string& which : {prefix, std::string("alloc")}) {
    types_.push_back({which + "_objects", Unit::count});
    types_.push_back({which + "_space", Unit::bytes});
    if (!accumulated) break;
  }
  const size_t figures = types_.size();
  for (size_t i = 0; sampled() && i < figures; ++i) {
    types_[i].variance = types_.size();
    types_[i].variance_unit = types_[i].unit == Unit::bytes ? kibibyte_squared : 1;
    types_.push_back({types_[i].name + " variance", Unit::variance});
  }
  row_.resize(types_.size());
}

std::string HeapColumns::sampling() const {
  return sampled() ? "1 sample per " + short_bytes(rate_) + ", scaled" : "";
}

const std::vector<int64_t>& HeapColumns::values(const HeapCounts& in_use,
                                                const HeapCounts& allocated) {
  put(0, in_use);
  if (accumulated_) put(2, allocated);
  return row_;
}

void HeapColumns::put(size_t column, const HeapCounts& seen) {
  const HeapCounts all = estimated(rate_, seen);
  row_[column] = all.objects;
  row_[column + 1] = all.bytes;
  if (!sampled()) return;
  int64_t& of_objects = row_[types_[column].variance];
  int64_t& of_bytes = row_[types_[column + 1].variance];
  of_objects = of_bytes = 0;
  if (!can_be_scaled(rate_, seen)) return;
  const auto objects = static_cast<double>(seen.objects);
  const double size = static_cast<double>(seen.bytes) / objects;
  const double of_count = variance(objects, chance(rate_, seen));
  of_objects = bounded(of_count);
  of_bytes = bounded(of_count * size * size / kibibyte_squared);
}

}  // namespace memflame
