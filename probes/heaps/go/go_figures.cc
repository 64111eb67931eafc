// SPDX-License-Identifier: BSD-2-Clause
#include "probes/heaps/go/go_figures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/history.h"
#include "probes/options/variance.h"

namespace memflame {
namespace {

int64_t as_figure(double value) {
  return static_cast<int64_t>(std::clamp(std::round(value), 0.0, 9e18));
}

void add_to(int64_t& sum, int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = INT64_MAX;
}

// What sampled blocks of one size stand for, in bytes and blocks, and how far that scatters: by the
// formula of alloc/bpf/sampling.h.
struct Estimated {
  GoEstimate sum;
  double bytes_variance = 0, blocks_variance = 0;
};

Estimated estimated(uint64_t blocks, uint64_t size, uint64_t rate) {
  Estimated result{.sum = go_estimate(blocks, blocks * size, rate)};
  if (blocks == 0 || rate <= 1) return result;
  const auto count = static_cast<double>(blocks);
  const double each = static_cast<double>(result.sum.blocks) / count;
  const double weight = static_cast<double>(result.sum.bytes) / count;
  result.bytes_variance = count * weight * std::max(weight - static_cast<double>(size), 0.0);
  result.blocks_variance = count * each * std::max(each - 1, 0.0);
  return result;
}

}  // namespace

GoSums go_sums(const GoHeap& heap, const std::function<uint64_t(const GoBucket&)>& key_of) {
  GoSums sums;
  for (const GoBucket& bucket : heap.buckets) {
    const uint64_t live_blocks = bucket.allocated - std::min(bucket.allocated, bucket.freed);
    const Estimated live = estimated(live_blocks, bucket.size, heap.rate);
    const Estimated total = estimated(bucket.allocated, bucket.size, heap.rate);
    const std::array<int64_t, bpf::columns> figures{live.sum.bytes,
                                                    live.sum.blocks,
                                                    total.sum.bytes,
                                                    total.sum.blocks,
                                                    as_figure(live.bytes_variance / variance_unit),
                                                    as_figure(live.blocks_variance),
                                                    as_figure(total.bytes_variance / variance_unit),
                                                    as_figure(total.blocks_variance)};
    GoSum& sum = sums[key_of(bucket)];
    sum.values.resize(figures.size());
    for (size_t i = 0; i < figures.size(); ++i) add_to(sum.values[i], figures[i]);
    add_to(sum.samples, static_cast<int64_t>(std::min<uint64_t>(bucket.allocated, INT64_MAX)));
  }
  return sums;
}

std::vector<ValueType> go_types(const Probe& probe, const ProbeOptions& options, bool sampled) {
  std::vector<ValueType> types = probe.types(options, sampled);
  types.push_back({std::string(collected_column), Unit::bytes});
  return types;
}

// Without variances, if every block is sampled.
std::vector<int64_t> go_row(const GoSum& sum, size_t columns) {
  std::vector<int64_t> row(sum.values.begin(),
                           sum.values.begin() + static_cast<std::ptrdiff_t>(columns - 1));
  row.push_back(std::max<int64_t>(sum.values[2] - sum.values[0], 0));
  return row;
}

}  // namespace memflame
