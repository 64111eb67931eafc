// SPDX-License-Identifier: BSD-2-Clause
// The memory of a Go program: its first words are the head of the list, the cycle and the rate.
#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "probes/heaps/go/go_heap.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t base = 0x10000;
  const auto bytes = std::as_bytes(std::span(data, size));
  const ReadMemory read = [&](uint64_t address, std::span<std::byte> to) {
    if (address < base || address - base > size || size - (address - base) < to.size())
      return false;
    std::ranges::copy(bytes.subspan(address - base, to.size()), to.begin());
    return true;
  };
  try {
    const GoHeap heap =
        read_go_heap(read, {{base}, {base + 8}, {base + 16}, base + 32, base + 64}, 3);
    for (const GoBucket& bucket : heap.buckets) {
      if (bucket.pcs.size() > size / sizeof(uint64_t)) std::abort();
      if (bucket.allocated * bucket.size != bucket.allocated_bytes) std::abort();
      go_estimate(bucket.allocated, bucket.allocated_bytes, heap.rate);
    }
  } catch (const Error&) {
    // It is not a list.
  }
  // The same bytes as buckets that were copied, each as long as its first byte says.
  std::vector<std::vector<std::byte>> buckets;
  for (auto rest = bytes; !rest.empty();) {
    const size_t length = std::min<size_t>(8 * static_cast<size_t>(rest[0]), rest.size() - 1);
    const auto bucket = rest.subspan(1, length);
    buckets.emplace_back(bucket.begin(), bucket.end());
    rest = rest.subspan(1 + length);
  }
  uint64_t damaged = 0;
  const GoHeap copy =
      go_heap_of_copy(buckets, 3, {{base}, {base + 8}, {base + 16}, 32, 64}, damaged);
  if (copy.buckets.size() + damaged != buckets.size()) std::abort();
  return 0;
}
