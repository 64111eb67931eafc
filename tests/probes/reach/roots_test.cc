// SPDX-License-Identifier: BSD-2-Clause
#include "probes/reach/roots.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace memflame;

namespace {

using Ranges = std::vector<AddressRange>;

Ranges roots(const std::string& maps, const std::vector<KnownBlock>& blocks, bool all_known,
             const Ranges& stale = {}, const Ranges& heaps = {}) {
  const std::vector<MapsLine> lines = parse_maps(maps);
  return root_ranges({.maps = lines,
                      .blocks = blocks,
                      .stale = stale,
                      .arena_heaps = heaps,
                      .all_blocks_known = all_known});
}

TEST_CASE("roots are mappings that hold what the program stored") {
  const std::string maps =
      "1000-2000 r--p 00000000 08:01 7 /bin/a\n"  // RELRO, or constants
      "2000-3000 r-xp 00001000 08:01 7 /bin/a\n"
      "3000-4000 rw-p 00002000 08:01 7 /bin/a\n"
      "5000-6000 ---p 00000000 00:00 0\n"
      "6000-7000 rw-s 00000000 00:05 9 /dev/dri/card0\n"
      "7000-8000 rw-s 00000000 00:05 9 /dev/shm/ours\n"
      "8000-9000 r--s 00000000 08:01 7 /data\n"
      "9000-a000 rwxp 00000000 00:00 0\n"
      "a000-b000 r--p 00000000 00:00 0 [vvar]\n";
  CHECK(roots(maps, {}, true) ==
        Ranges{{0x1000, 0x2000}, {0x3000, 0x4000}, {0x7000, 0x8000}, {0x9000, 0xa000}});
}

TEST_CASE("known blocks are nott roots; what lies around them is one, unless all are known") {
  const std::string maps =
      "10000-20000 rw-p 00000000 00:00 0 [heap]\n"
      "30000-40000 rw-p 00000000 00:00 0\n";
  const std::vector<KnownBlock> blocks{{0x10010, 0x20}, {0x30010, 0x100}, {0x31000, 0x1000}};
  CHECK(roots(maps, blocks, false) == Ranges{{0x10000, 0x10010},
                                             {0x10030, 0x20000},
                                             {0x30000, 0x30010},
                                             {0x30110, 0x31000},
                                             {0x32000, 0x40000}});
  CHECK(roots(maps, blocks, true) == Ranges{{0x32000, 0x40000}});
  CHECK(roots(maps, blocks, true, {}, {{0x34000, 0x38000}}) ==
        Ranges{{0x32000, 0x34000}, {0x38000, 0x40000}});
  // A block in the data of a file, or in zero-initialised globals behind it.
  const std::string data =
      "10000-11000 rw-p 00000000 08:01 7 /bin/a\n"
      "11000-12000 rw-p 00000000 00:00 0\n";
  CHECK(roots(data, {{0x10100, 0x10}, {0x11100, 0x10}}, true) ==
        Ranges{{0x10000, 0x10100}, {0x10110, 0x11000}, {0x11000, 0x11100}, {0x11110, 0x12000}});
  // Blocks that overlap, and one that ends in another mapping.
  const std::string two =
      "10000-11000 rw-p 00000000 00:00 0\n"
      "11000-12000 rwxp 00000000 00:00 0\n";
  CHECK(roots(two, {{0x10100, 0x300}, {0x10200, 0x10}, {0x10f00, 0x200}}, false) ==
        Ranges{{0x10000, 0x10100}, {0x10400, 0x10f00}, {0x11100, 0x12000}});
}

TEST_CASE("what is stale is not a root") {
  const std::string maps = "10000-20000 rw-p 00000000 00:00 0 [stack]\n";
  CHECK(roots(maps, {}, false, {{0x10000, 0x18000}}) == Ranges{{0x18000, 0x20000}});
}

TEST_CASE("the unused part of a stack ends below the red zone") {
  const std::vector<MapsLine> maps = parse_maps("10000-20000 rw-p 00000000 00:00 0 [stack]\n");
  CHECK(unused_stack(0x18000, {}, 0, maps) == AddressRange{0x10000, 0x18000 - 128});
  CHECK(unused_stack(0x10010, {}, 0, maps) == AddressRange{0x10000, 0x10000});
  // A thread's stack, as its struct pthread states it: from 0x30000 on, 0x8000 bytes long.
  std::vector<uint64_t> at_fs{0x37000, 0x30001, 0x8000, 5, 0x30000, 0x8000, 0x1000};
  CHECK(unused_stack(0x34000, at_fs, 0x37000, maps) == AddressRange{0x30000, 0x34000 - 128});
  // It runs on another stack, such as that of a coroutine or of a signal handler.
  CHECK(!unused_stack(0x44000, at_fs, 0x37000, maps));
  CHECK(!unused_stack(0x34000, at_fs, 0x39000, maps));
  CHECK(!unused_stack(0x34000, {}, 0x37000, maps));
}

TEST_CASE("the lists of free memory are found in the data of glibc") {
  constexpr uint64_t data = 0x7f0000001000;
  constexpr size_t arena = 40, bins = arena + 14;  // words
  std::vector<uint64_t> words(600);
  for (size_t bin = 0; bin < 127; ++bin)
    words[bins + 2 * bin] = words[bins + 2 * bin + 1] = data + (bins + 2 * bin) * 8 - 16;
  words[bins] = words[bins + 1] = 0x555500001230;  // a bin with a chunk
  const AddressRange wanted{data + (arena + 2) * 8, data + (bins + 254) * 8};
  CHECK(free_lists({data, words}) == wanted);
  // Lists of other programs, which lead to themselves, are fewer.
  std::fill(words.begin(), words.begin() + bins + 200, 0);
  CHECK(!free_lists({data, words}));
  CHECK(!free_lists({data, {}}));
}

TEST_CASE("a heap of an arena is known by its head") {
  constexpr uint64_t at = 0x7f0004000000;
  const std::vector<uint64_t> head{at + 0x30, 0, 0x21000, 0x21000};
  CHECK(arena_heap(at, head) == AddressRange{at, at + 0x21000});
  CHECK(!arena_heap(at + 0x1000, head));
  CHECK(!arena_heap(at, std::vector<uint64_t>{0, 0, 0x21000, 0x21000}));
  CHECK(!arena_heap(at, std::vector<uint64_t>{at + 0x30, 0, 0x21000, 0x20000}));
  CHECK(!arena_heap(at, std::vector<uint64_t>{at + 0x30, 0, 0x21001, 0x22000}));
  const std::vector<uint64_t> later{at + 0x30, at, 0x3000, 0x4000};
  CHECK(arena_heap(at + arena_alignment, later) ==
        AddressRange{at + arena_alignment, at + arena_alignment + 0x4000});
  CHECK(!arena_heap(at, {}));
}

}  // namespace
