// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/waste.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "probes/processes/spaces.h"
#include "probes/waste/touched_pages.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t mib = uint64_t{1} << 20U;

// A mapping of its own, of which nothing is touched yet.
class Untouched {
 public:
  explicit Untouched(size_t pages) : bytes_(pages * waste_page) {
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory_ != MAP_FAILED);
    ::madvise(memory_, bytes_, MADV_NOHUGEPAGE);
  }
  ~Untouched() { ::munmap(memory_, bytes_); }
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;

  uint64_t address() const { return reinterpret_cast<uint64_t>(memory_); }
  void touch(size_t page) { static_cast<volatile char*>(memory_)[page * waste_page] = 1; }

 private:
  size_t bytes_;
  void* memory_ = nullptr;
};

MapsLine mapping(uint64_t start, uint64_t end, const std::string& path) {
  MapsLine line;
  line.start = start;
  line.end = end;
  line.readable = line.writable = true;
  line.path = path;
  return line;
}

uint64_t later() { return monotonic_ns() + 10'000'000'000; }

}  // namespace

TEST_CASE("pages that were touched are counted") {
  Untouched memory(1000);
  memory.touch(0);
  memory.touch(7);
  memory.touch(999);
  const uint64_t at = memory.address();
  for (const bool may_scan : {true, false}) {
    CAPTURE(may_scan);
    TouchedPages touched(::getpid(), later(), may_scan);
    CHECK(touched.count(at, at + 1000 * waste_page) == 3);
    CHECK(touched.count(at + waste_page, at + 7 * waste_page) == 0);
    CHECK(touched.count(at + 7 * waste_page, at + 8 * waste_page) == 1);
    CHECK(touched.count(at, at) == 0);
  }
}

TEST_CASE("pages that were touched are found, however the kernel tells them") {
  constexpr size_t pages = 40000;  // more than are read at once
  Untouched memory(pages);
  for (size_t page = 0; page < pages; page += 1 + page % 7 * page % 11) memory.touch(page);
  for (size_t page = 16380; page < 16390; ++page) memory.touch(page);
  const auto pages_found = [&](bool may_scan) {
    TouchedPages touched(::getpid(), later(), may_scan);
    std::vector<PageRun> runs{{1, 2}};  // stays as it is
    REQUIRE(touched.find(memory.address(), memory.address() + pages * waste_page, runs));
    CHECK(runs.front().to == 2);
    std::vector<uint64_t> found;
    for (const PageRun& run : std::span(runs).subspan(1))
      for (uint64_t page = run.from; page < run.to; page += waste_page) found.push_back(page);
    return found;
  };
  const std::vector<uint64_t> scanned = pages_found(true);
  CHECK(scanned.size() > 100);
  CHECK(scanned == pages_found(false));
}

TEST_CASE("what cannot be looked at is not known") {
  TouchedPages late(::getpid(), 0);
  const auto page = reinterpret_cast<uint64_t>(&late) / waste_page * waste_page;
  CHECK_FALSE(late.count(page, page + waste_page).has_value());
  TouchedPages nobody(0, later());
  CHECK_FALSE(nobody.count(page, page + waste_page).has_value());
}

TEST_CASE("slack is what a chunk has beyond the block") {
  CHECK(slack_of(24, 33) == 0);
  CHECK(slack_of(25, 49) == 15);
  CHECK(slack_of(4096, (8192 | 2)) == 4080);
  CHECK_FALSE(slack_of(25, 33).has_value());              // smaller than the block
  CHECK_FALSE(slack_of(24, 24).has_value());              // no chunk is so small
  CHECK_FALSE(slack_of(24, 0x7f0012345678).has_value());  // a pointer
  CHECK_FALSE(slack_of(UINT64_MAX, UINT64_MAX - 7).has_value());
}

TEST_CASE("slack of blocks of this process") {
#ifndef MEMFLAME_SANITIZED  // whose malloc is another one
  std::vector<std::unique_ptr<void, decltype(&std::free)>> kept;
  std::vector<WasteBlock> blocks;
  for (size_t size = 1; size <= 2000; ++size) {
    kept.emplace_back(std::malloc(size), &std::free);
    blocks.push_back({reinterpret_cast<uint64_t>(kept.back().get()), size, 1});
  }
  const auto slack = slack_of(::getpid(), blocks);
  REQUIRE(slack.size() == blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    CAPTURE(i);
    const uint64_t least = std::max<uint64_t>((blocks[i].size + 8 + 15) / 16 * 16 - 8, 24);
    CHECK(slack[i] >= least - blocks[i].size);
    CHECK(slack[i] <= least + 16 - blocks[i].size);
  }
  // A block that is gone does not stop the others from being read.
  blocks.insert(blocks.begin() + 1000, {4096, 1, 1});
  const auto others = slack_of(::getpid(), blocks);
  REQUIRE(others.size() == blocks.size());
  CHECK_FALSE(others[1000].has_value());
  CHECK(others[1001] == slack[1000]);
#endif
  Untouched other(1);  // in front of each "block" is a 0: another allocator
  const std::vector<WasteBlock> strange{{other.address() + 64, 16, 1},
                                        {other.address() + 128, 16, 1}};
  CHECK(slack_of(::getpid(), strange).empty());
}

TEST_CASE("blocks at the end of a sparse heap pin it") {
  const std::vector maps{mapping(0x1000000, 0x1000000 + 10 * mib, "[heap]")};
  const std::vector<WasteBlock> blocks{
      {0x1000000, 2 * mib, 1}, {0x1000000 + 8 * mib, 100, 2}, {0x1000000 + 9 * mib - 50, 50, 3}};
  const Pins pins = pins_of(maps, blocks);
  CHECK(pins.is_pin == std::vector{false, true, true});
  REQUIRE(pins.ranges.size() == 1);
  CHECK(pins.ranges[0].name == "the heap");
  CHECK(pins.ranges[0].bytes == 10 * mib);
  CHECK(pins.ranges[0].live == 2 * mib + 150);
  CHECK(pins.ranges[0].blocks == 2);
  CHECK(pins.ranges[0].block_bytes == 150);

  const std::vector<WasteBlock> dense{{0x1000000, 5 * mib, 1}, {0x1000000 + 9 * mib, 100, 2}};
  CHECK(pins_of(maps, dense).ranges.empty());
}

TEST_CASE("blocks in a nearly empty mapping pin it") {
  const uint64_t at = uint64_t{1} << 32U;
  const std::vector maps{mapping(at, at + mib, ""), mapping(at + mib, at + 101 * mib, ""),
                         mapping(at + 101 * mib, at + 200 * mib, "/file")};
  const std::vector<WasteBlock> blocks{{at, mib / 20, 1},                // 5 %: not sparse
                                       {at + 2 * mib, 1000, 2},          // sparse
                                       {at + 100 * mib, UINT64_MAX, 3},  // to its end at most
                                       {at + 150 * mib, 1, 4}};          // not memory of a heap
  const Pins pins = pins_of(maps, blocks);
  CHECK(pins.is_pin == std::vector{false, true, true, false});
  REQUIRE(pins.ranges.size() == 1);
  CHECK(pins.ranges[0].live == mib + 1000);
}

TEST_CASE("the waste of this process's blocks, by stack") {
  Untouched memory(100);
  for (size_t page = 10; page < 20; ++page) memory.touch(page);
  const uint64_t at = memory.address();
  // The first has whole pages 1 to 49, the last none.
  const std::vector<WasteBlock> blocks{{at + 1, 50 * waste_page, 7},
                                       {at + 60 * waste_page, 2 * waste_page, 8},
                                       {at + 70 * waste_page + 1, waste_page, 8},
                                       {UINT64_MAX - 5, 100, 9}};
  const ProcessWaste waste = waste_of(::getpid(), blocks, false);
  CHECK(waste.why_not.empty());
  CHECK(waste.unread_pages == 0);
  CHECK_FALSE(waste.slack_known);
  CHECK_FALSE(waste.pins_known);
  REQUIRE(waste.stacks.size() == 2);
  CHECK(waste.stacks.at(7).whole_pages == 49 * waste_page);
  CHECK(waste.stacks.at(7).untouched == 39 * waste_page);
  CHECK(waste.stacks.at(8).whole_pages == 2 * waste_page);
  CHECK(waste.stacks.at(8).untouched == 2 * waste_page);
  CHECK(waste.stacks.at(8).pinning == 0);

  const std::vector words = in_words({&waste, 1});
  REQUIRE(words.size() == 4);
  CHECK(words[2] ==
        "untouched: 164.0 KiB (77.4 %) of the live bytes are in pages that were never touched; of "
        "8.0 KiB (3.8 %), which are in no whole page, it cannot be told");
}

TEST_CASE("a process that has ended has no waste to see") {
  const ProcessWaste waste = waste_of(0x3fffffff, {{4096, 1, 1}}, true);
  CHECK_FALSE(waste.why_not.empty());
  const std::vector words = in_words({&waste, 1});
  REQUIRE(words.size() == 1);
  CHECK(words[0].find("nothing is known of process 1073741823") != std::string::npos);
}
