// SPDX-License-Identifier: BSD-2-Clause
// What reading costs memflame for each event: nanoseconds of processor time, the minimum of several
// rounds. Not a test: its figures depend on the machine.
//
//   inside_reader [live blocks [stacks [saving]]]
//
// With `saving`, the memory of what was read is given back. Pages that are then written anew cost
// the writer, so the second figure is for both; the writer here takes much longer than an agent.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <random>

#include "probes/inside/ring_reader.h"
#include "tests/probes/inside/ring_writer.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): a program of its own
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

double cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// A program with `live` blocks, each from one of many stacks of 20 frames of which the last three
// are new.
class Program {
 public:
  Program(size_t live, uint64_t stacks) : pointers_(live), stacks_(stacks) {}

  void write_pair(RingWriter& ring) {
    uint64_t& pointer = pointers_[random_() % pointers_.size()];
    if (pointer != 0) ring.free(pointer, ++time_);
    pointer = 0x7f0000000000 + time_ * 32;
    const uint64_t stack = random_() % stacks_;
    std::vector<uint64_t> frames(20);
    for (size_t i = 0; i < 17; ++i) frames[i] = 0x400000 + i * 64;
    for (size_t i = 0; i < 3; ++i) frames[17 + i] = 0x500000 + (stack >> (12 - 6 * i)) * 16;
    ring.alloc(pointer, ++time_, 16 + stack % 512, frames);
  }

 private:
  std::vector<uint64_t> pointers_;
  uint64_t stacks_, time_ = 0;
  std::mt19937_64 random_{5};  // NOLINT(bugprone-random-generator-seed): the same each time
};

}  // namespace

int main(int argc, char** argv) {
  const size_t live = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000;
  const uint64_t stacks = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 20'000;
  Exchange exchange(512, 1);
  const Ticks ticks;
  StackTree tree;
  LiveBlocks blocks(0, UINT64_MAX, 0);
  RingReader reader(exchange, tree, blocks, ticks);
  reader.open(0, SpaceId{1}, {});
  publish(exchange.control().rings, 1U);
  if (argc > 3) reader.save_memory();
  RingWriter ring(exchange, 0, 0);
  Program program(live, stacks);
  double least = std::numeric_limits<double>::max(), least_of_both = least;
  for (int turn = 0; turn < 9; ++turn) {
    double spent = 0;
    uint64_t events = 0;
    const double began = cpu_ns();
    while (events < 2 * std::max<size_t>(live, 500'000)) {
      while (ring.has_room(512)) program.write_pair(ring);
      const double before = cpu_ns();
      events += reader.read_rest();
      spent += cpu_ns() - before;
    }
    least = std::min(least, spent / static_cast<double>(events));
    least_of_both = std::min(least_of_both, (cpu_ns() - began) / static_cast<double>(events));
  }
  std::printf("%zu live blocks, %u stacks: %.1f ns an event, with writing %.1f\n",
              blocks.table().size(), tree.size() - 1, least, least_of_both);
}
