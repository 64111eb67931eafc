// SPDX-License-Identifier: BSD-2-Clause
// Computes, and allocates and frees small blocks in between: something to hold a budget on.
//
//   alloc_load BLOCKS WORK [keep] [--wait]
//
// WORK rounds of computing for each block, of about a nanosecond. A block lives for the next 5000;
// with "keep" every eighth one for good. States its own CPU time, too.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "examples/truth/report.h"

namespace {

uint64_t next(uint64_t random) {  // xorshift64
  random ^= random << 13;
  random ^= random >> 7;
  return random ^ random << 17;
}

int64_t cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

volatile uint64_t result = 0;

}  // namespace

extern "C" {

[[gnu::noinline]] void* block_of(size_t size) {
  void* block = malloc(size);
  if (block == nullptr) truth::fail("an allocation failed");
  return block;
}

[[gnu::noinline]] void compute(int64_t rounds) {
  uint64_t number = result + 1;
  for (int64_t i = 0; i < rounds; ++i) number = next(number);
  result = number;
}

[[gnu::noinline]] void work(int64_t blocks, int64_t rounds, bool keep) {
  constexpr size_t lifetime = 5000;
  static void* ring[lifetime];
  int64_t total = 0;
  int64_t live = 0;
  int64_t live_count = 0;
  const int64_t start = cpu_ns();
  for (int64_t i = 0; i < blocks; ++i) {
    // 16 to 495 bytes.
    const auto size = static_cast<int64_t>(16 + next(static_cast<uint64_t>(i) + 1) % 480);
    void* block = block_of(static_cast<size_t>(size));
    total += size;
    if (keep && i % 8 == 0) {
      live += size;
      ++live_count;
    } else {
      void*& place = ring[static_cast<size_t>(i) % lifetime];
      free(place);
      place = block;
    }
    compute(rounds);
  }
  for (void*& block : ring) {
    free(block);
    block = nullptr;
  }
  truth::state("functions", "block_of", "total", total);
  truth::state("functions", "block_of", "total_count", blocks);
  truth::state("functions", "block_of", "live", live);
  truth::state("functions", "block_of", "live_count", live_count);
  truth::state("cost", "work", "cpu_ns", cpu_ns() - start);
}

}  // extern "C"

int main(int argc, char** argv) {
  if (argc < 3) truth::fail("it takes BLOCKS and WORK");
  truth::begin(argc, argv);
  work(std::atoll(argv[1]), std::atoll(argv[2]), argc > 3 && std::strcmp(argv[3], "keep") == 0);
  return truth::end();
}
