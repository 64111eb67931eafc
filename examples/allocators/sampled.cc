// SPDX-License-Identifier: BSD-2-Clause
// Allocates a gibibyte in blocks of mixed sizes and frees half of it: what a sampling profiler has
// to estimate. Half the bytes are in a few large blocks, the rest in very many small ones, which
// are of no account singly. The same sizes in every run.
//
//   alloc_sampled [all] [--wait]
//
// With "all" everything is freed in the end.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "examples/truth/report.h"

namespace {

constexpr int64_t wanted = int64_t{1} << 30;
constexpr size_t most_blocks = 100000;

struct Block {
  void* address;
  size_t size;
};
Block blocks[most_blocks];
size_t block_count = 0;

uint64_t next(uint64_t& random) {  // xorshift64
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  return random;
}

// 16 bytes to 1 MiB, each power of two as likely as the others: most bytes are in large blocks.
size_t mixed_size(uint64_t& random) {
  const size_t power = size_t{16} << (next(random) % 16);
  return power + next(random) % (power + 1);
}

void add(const char* name, int64_t bytes, bool stays) {
  truth::state("functions", name, "total", bytes);
  truth::state("functions", name, "total_count", 1);
  truth::state("functions", name, "live", stays ? bytes : 0);
  truth::state("functions", name, "live_count", stays ? 1 : 0);
}

}  // namespace

extern "C" {

[[gnu::noinline]] void* small_block(size_t size) {
  void* block = malloc(size);
  if (block == nullptr) truth::fail("an allocation failed");
  return block;
}
[[gnu::noinline]] void* large_block(size_t size) {
  void* block = malloc(size);
  if (block == nullptr) truth::fail("an allocation failed");
  return block;
}
[[gnu::noinline]] void tiny_blocks(bool all) {
  constexpr size_t count = 60000, size = 48;
  static void* tiny[count];
  for (void*& block : tiny) block = small_block(size);
  for (size_t i = 0; i < count; ++i)
    if (all || i % 2 == 0) free(tiny[i]);
  const auto bytes = static_cast<int64_t>(count * size);
  truth::state("functions", "tiny_blocks", "total", bytes);
  truth::state("functions", "tiny_blocks", "total_count", count);
  truth::state("functions", "tiny_blocks", "live", all ? 0 : bytes / 2);
  truth::state("functions", "tiny_blocks", "live_count", all ? 0 : count / 2);
}

}  // extern "C"

int main(int argc, char** argv) {
  const bool all = argc > 1 && std::strcmp(argv[1], "all") == 0;
  truth::begin(argc, argv);
  uint64_t random = 0x9e3779b97f4a7c15;
  int64_t total = 0;
  while (total < wanted && block_count < most_blocks) {
    const size_t size = mixed_size(random);
    Block& block = blocks[block_count++];
    block = {size < 4096 ? small_block(size) : large_block(size), size};
    total += static_cast<int64_t>(size);
  }
  for (size_t i = 0; i < block_count; ++i) {
    const Block& block = blocks[i];
    const bool stays = !all && i % 2 == 0;
    if (!stays) free(block.address);
    add(block.size < 4096 ? "small_block" : "large_block", static_cast<int64_t>(block.size), stays);
  }
  tiny_blocks(all);
  return truth::end();
}
