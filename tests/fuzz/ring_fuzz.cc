// SPDX-License-Identifier: BSD-2-Clause
// Rings that a hostile process has written: whatever is in them, the ring is free again when its
// thread has ended, and the figures of blocks agree with each other.
#include <cstdlib>
#include <cstring>

#include "probes/inside/ring_reader.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): a program of its own
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

struct Run {
  explicit Run(uint64_t sample_bytes) : blocks(0, UINT64_MAX, 0, sample_bytes) {}

  Exchange exchange{512, 1};
  Ticks ticks;
  StackTree stacks;
  LiveBlocks blocks;
  RingReader reader{exchange, stacks, blocks, ticks};
};

void check_figures(const Run& run) {
  int64_t live = 0;
  int64_t count = 0;
  for (const BlockSums& sum : run.blocks.sums()) {
    live += sum.live;
    count += sum.live_count;
  }
  int64_t bytes = 0;
  int64_t blocks = 0;
  run.blocks.table().for_each([&](const LiveEntry& entry) {
    const Estimate estimate = run.blocks.estimate(entry);
    bytes += static_cast<int64_t>(estimate.bytes);
    blocks += estimate.blocks;
  });
  if (live != bytes || count != blocks) std::abort();
  for (uint32_t i = 1; i < run.stacks.size(); ++i)
    if (run.stacks.raw(i).pcs.size() > most_frames + 1) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Run exact(0), sampled(10000);
  Run& run = (size & 1) != 0 ? sampled : exact;
  // A large ring or a small one.
  const uint32_t index = (size & 2) != 0 ? large_rings : 0;
  run.reader.open(0, SpaceId{1}, {});
  RingHead& head = run.exchange.head(index);
  const size_t bytes = std::min<size_t>(size / 8 * 8, bytes_of_ring(index));
  if (bytes != 0) std::memcpy(const_cast<uint64_t*>(run.exchange.ring(index)), data, bytes);
  // The last byte beyond the words may make the head a wrong one.
  publish(head.head, uint64_t{bytes} + (size % 8 == 7 ? data[size - 1] : 0));
  publish(head.state, uint32_t{state_owned});
  publish(run.exchange.taken(index / 64), uint64_t{1} << index % 64);
  run.reader.read_rest();
  publish(head.state, uint32_t{state_ended});
  run.reader.read_rest();
  if (taken_once(head.state) != state_free) std::abort();
  check_figures(run);
  run.reader.close(0);
  return 0;
}
