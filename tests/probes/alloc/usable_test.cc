// SPDX-License-Identifier: BSD-2-Clause
// The sizes of jemalloc's blocks, by the rules that BPF programs use. tests/e2e/alloc_usable.py
// compares them with the allocator itself.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "probes/bpf/shared.h"

namespace {

using memflame::bpf::u32;
using memflame::bpf::u64;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "probes/alloc/bpf/usable.h"
#pragma GCC diagnostic pop

// As in the table of size classes in jemalloc(3).
std::vector<u64> classes_below(u64 limit) {
  std::vector<u64> classes{8, 16, 32, 48, 64, 80, 96, 112, 128};
  for (u64 spacing = 32; classes.back() < limit; spacing *= 2)
    for (int i = 0; i < 4; ++i) classes.push_back(classes.back() + spacing);
  return classes;
}

}  // namespace

TEST_CASE("usable: jemalloc's size classes") {
  const std::vector<u64> classes = classes_below(1 << 20);
  u64 below = 0;
  for (const u64 size : classes) {
    CAPTURE(size);
    CHECK(jemalloc_size(below, 0) == (below == 0 ? size : below));
    CHECK(jemalloc_size(below + 1, 0) == size);
    CHECK(jemalloc_size(size, 0) == size);
    below = size;
  }
  CHECK(jemalloc_size(7ULL << 60, 0) == 7ULL << 60);
  CHECK(jemalloc_size(~0ULL, 0) == ~0ULL);
}

TEST_CASE("usable: jemalloc's aligned blocks") {
  struct Case {
    u64 size, alignment, usable;
  };
  constexpr std::array cases{
      Case{1, 16, 16},           Case{17, 16, 32},       Case{100, 64, 128},
      Case{129, 64, 192},        Case{1, 4096, 4096},    Case{4097, 4096, 8192},
      Case{12289, 4096, 16384},  Case{100, 8192, 16384}, Case{16385, 8192, 20480},
      Case{20481, 65536, 24576}, Case{0, 64, 64},
  };
  for (const Case& each : cases) {
    CAPTURE(each.size);
    CAPTURE(each.alignment);
    CHECK(jemalloc_size(each.size, each.alignment) == each.usable);
  }
}
