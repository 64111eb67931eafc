// SPDX-License-Identifier: BSD-2-Clause
#include "probes/waste/first_touch.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <numeric>
#include <random>

#include "probes/processes/spaces.h"
#include "probes/run/waste.h"
#include "probes/stacks/rows.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t page = waste_page, base = 0x10000000;

uint64_t at(uint64_t number) { return base + number * page; }

bpf::page_faults once(uint64_t time, uint64_t stack) {
  return {.first_ns = time, .first = stack, .last_ns = 0, .last = 0};
}

int64_t sum_of(const FirstTouches& touches, FirstTouch touch) {
  return touches.sums.at(static_cast<size_t>(touch));
}

int64_t sum_of(const FirstTouches& touches, uint64_t stack, FirstTouch touch) {
  const auto found = touches.others.find(stack);
  return found == touches.others.end() ? 0 : found->second.at(static_cast<size_t>(touch));
}

int64_t all_of(const FirstTouches& touches) {
  return std::accumulate(touches.sums.begin(), touches.sums.end(), int64_t{0});
}

constexpr uint64_t one = 1, two = 2, three = 3, reader = 11, writer = 12;

}  // namespace

TEST_CASE("each page of three blocks is told by what was seen of it") {
  const std::vector<WasteBlock> blocks{
      {at(0), 4 * page, one, 100}, {at(10), 2 * page, two, 200}, {at(20), 3 * page, three, 300}};
  const std::vector<PageRun> runs{
      {at(0), at(3)}, {at(10), at(11)}, {at(20), at(22)}, {at(22), at(23), false}};
  const PageFaults faults{{at(0), once(101, reader)},  // after the block was allocated
                          {at(1), once(99, writer)},   // before that
                          {at(10), once(200, writer)},
                          {at(20), once(299, reader)},
                          {at(11), once(400, reader)}};  // of a page that is not there now
  const FirstTouches touches = first_touches(blocks, runs, faults);
  CHECK(touches.known == std::map<std::pair<uint64_t, uint64_t>, int64_t>{{{one, reader}, page},
                                                                          {{two, writer}, page}});
  CHECK(sum_of(touches, one, FirstTouch::before) == page);
  CHECK(sum_of(touches, one, FirstTouch::unattributable) == page);
  CHECK(sum_of(touches, one, FirstTouch::never) == page);
  CHECK(sum_of(touches, two, FirstTouch::never) == page);
  CHECK(sum_of(touches, three, FirstTouch::before) == page);
  CHECK(sum_of(touches, three, FirstTouch::unattributable) == page);
  CHECK(sum_of(touches, three, FirstTouch::unread) == page);
  CHECK(sum_of(touches, FirstTouch::known) == 2 * page);
  CHECK(sum_of(touches, FirstTouch::before) == 2 * page);
  CHECK(all_of(touches) == 9 * page);
}

TEST_CASE("a page belongs to all blocks in it, to each with its own bytes") {
  // The first block ends 100 bytes into page 1, where the second one lies, too; the third begins
  // there and goes on.
  const std::vector<WasteBlock> blocks{{at(0) + 96, page + 4, one, 50},
                                       {at(1) + 200, 300, two, 200},
                                       {at(1) + 4000, page, three, 100}};
  const std::vector<PageRun> runs{{at(0), at(2)}};
  const PageFaults faults{{at(0), once(60, reader)}, {at(1), once(150, writer)}};
  const FirstTouches touches = first_touches(blocks, runs, faults);
  CHECK(touches.known == std::map<std::pair<uint64_t, uint64_t>, int64_t>{
                             {{one, reader}, 4000}, {{one, writer}, 100}, {{three, writer}, 96}});
  CHECK(sum_of(touches, two, FirstTouch::before) == 300);
  CHECK(sum_of(touches, three, FirstTouch::never) == 4000);
  CHECK(all_of(touches) == page + 4 + 300 + page);
}

TEST_CASE("of two faults on a page, the first since the allocation counts") {
  const auto toucher = [](uint64_t born) {
    const PageFaults faults{
        {at(0), {.first_ns = 100, .first = reader, .last_ns = 200, .last = writer}}};
    const std::vector<WasteBlock> blocks{{at(0), page, one, born}};
    const std::vector<PageRun> runs{{at(0), at(1)}};
    const FirstTouches touches = first_touches(blocks, runs, faults);
    CHECK(all_of(touches) == page);
    return touches.known.empty() ? uint64_t{0} : touches.known.begin()->first.second;
  };
  CHECK(toucher(50) == reader);
  CHECK(toucher(100) == reader);
  CHECK(toucher(101) == writer);
  CHECK(toucher(200) == writer);
  CHECK(toucher(201) == 0);
}

TEST_CASE("pages that came with a huge page are told apart") {
  const std::vector<WasteBlock> blocks{{at(1) + 1000, 4 * page, one, 100}};
  const std::vector<PageRun> runs{{.from = at(0), .to = at(3), .is_huge = true}, {at(4), at(5)}};
  const FirstTouches touches = first_touches(blocks, runs, {{at(2), once(101, reader)}});
  CHECK(touches.known.at({one, reader}) == page);
  CHECK(sum_of(touches, FirstTouch::unattributable) == 2 * page - 1000);
  CHECK(touches.in_huge_pages == page - 1000);
  CHECK(sum_of(touches, FirstTouch::never) == page + 1000);
  const FirstTouches* const all = &touches;
  CHECK(in_words({&all, 1}).ends_with(
      "; 7.0 KiB (43.9 %) cannot be attributed, 3.0 KiB of it in huge pages"));
}

TEST_CASE("a block of an absurd size and one without bytes") {
  const std::vector<WasteBlock> blocks{{at(0), 0, one, 1}, {at(0), INT64_MAX, two, 1}};
  const std::vector<PageRun> runs{{at(0), at(1)}};
  const FirstTouches touches = first_touches(blocks, runs, {{at(0), once(2, reader)}});
  CHECK(touches.known.at({two, reader}) == page);
  CHECK(sum_of(touches, two, FirstTouch::never) == INT64_MAX - static_cast<int64_t>(page));
  CHECK(touches.others.count(one) == 0);
}

TEST_CASE("the figures of random blocks are those of a count by bytes, and add up to the blocks") {
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
  const auto below = [&random](uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 200; ++round) {
    constexpr uint64_t pages = 30;
    std::vector<WasteBlock> blocks;
    int64_t bytes = 0;
    for (uint64_t place = at(0) + below(page); place < at(pages);) {
      blocks.push_back(
          {place, below(3) == 0 ? below(100) : below(5 * page), 1 + below(3), below(100)});
      bytes += static_cast<int64_t>(blocks.back().size);
      place += blocks.back().size + below(2 * page);
    }
    std::vector<PageRun> runs;
    PageFaults faults;
    for (uint64_t i = 0; i < pages + 6; ++i) {
      if (below(2) == 0) runs.push_back({at(i), at(i + 1), below(10) != 0});
      if (below(2) == 0) faults[at(i)] = once(below(100), 10 + below(3));
    }
    FirstTouches wanted;
    for (const WasteBlock& block : blocks)
      for (uint64_t place = block.address; place < block.address + block.size; ++place) {
        const uint64_t its = place / page * page;
        const auto run = std::find_if(runs.begin(), runs.end(),
                                      [&](const PageRun& each) { return each.from == its; });
        const auto fault = faults.find(its);
        FirstTouch touch = FirstTouch::never;
        if (run != runs.end() && !run->known)
          touch = FirstTouch::unread;
        else if (run != runs.end() && fault == faults.end())
          touch = FirstTouch::unattributable;
        else if (run != runs.end())
          touch = fault->second.first_ns < block.time_ns ? FirstTouch::before : FirstTouch::known;
        ++wanted.sums.at(static_cast<size_t>(touch));
        if (touch == FirstTouch::known)
          ++wanted.known[{block.stack, fault->second.first}];
        else
          ++wanted.others[block.stack].at(static_cast<size_t>(touch));
      }
    const FirstTouches touches = first_touches(blocks, runs, faults);
    CAPTURE(round);
    CHECK(all_of(touches) == bytes);
    CHECK(touches.sums == wanted.sums);
    CHECK(touches.known == wanted.known);
    CHECK(touches.others == wanted.others);
  }
}

TEST_CASE("the pages of this process are looked at where blocks are") {
  constexpr size_t bytes = 300 * page;
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  const auto first = reinterpret_cast<uint64_t>(memory);
  for (const uint64_t touched : {0U, 1U, 5U, 290U})
    *reinterpret_cast<volatile char*>(first + touched * page) = 1;  // NOLINT
  const std::vector<WasteBlock> blocks{{first + 10, 6 * page - 10, one, 10},
                                       {first + 280 * page, 20 * page, two, 10}};
  const PageFaults faults{{first, once(11, reader)}, {first + page, once(9, writer)}};
  const ProcessWaste waste = waste_of(::getpid(), blocks, false, &faults);
  ::munmap(memory, bytes);
  REQUIRE(waste.touches.has_value());
  CHECK(all_of(*waste.touches) == waste.live);
  CHECK(waste.touches->known.at({one, reader}) == page - 10);
  CHECK(sum_of(*waste.touches, one, FirstTouch::before) == page);
  CHECK(sum_of(*waste.touches, one, FirstTouch::unattributable) == page);
  CHECK(sum_of(*waste.touches, one, FirstTouch::never) == 3 * page);
  CHECK(sum_of(*waste.touches, two, FirstTouch::unattributable) == page);
  CHECK(sum_of(*waste.touches, two, FirstTouch::never) == 19 * page);
  CHECK(
      in_words({&waste, 1}).at(2) ==
      "first touch: of the live bytes, 4.0 KiB (3.8 %) are in pages whose first toucher is known, "
      "4.0 KiB (3.8 %) in pages that were there before, 88.0 KiB (84.6 %) in pages never touched; "
      "8.0 KiB (7.7 %) cannot be attributed");
}

TEST_CASE("pages of a process without a page map are not known") {
  TouchedPages nobody(0, UINT64_MAX);
  MapsLine map;
  map.start = at(0);
  map.end = at(2);
  const std::vector<PageRun> ranges{{at(0), at(5)}};
  const std::vector<PageRun> runs = touched_runs(nobody, {&map, 1}, ranges);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].to == at(2));  // what is not mapped cannot have been touched
  CHECK_FALSE(runs[0].known);
}

TEST_CASE("a space begins with the pages that its ancestors had touched") {
  // 3 is a copy of 2, and that one of 1.
  const auto copied_from = [](SpaceId space) -> std::pair<SpaceId, uint64_t> {
    if (space.index == 3) return {SpaceId{2}, 100};
    if (space.index == 2) return {SpaceId{1}, 50};
    return {};
  };
  const std::vector spaces{SpaceId{2}, SpaceId{3}};
  FaultsBySpace sorted(spaces, copied_from);
  const auto add = [&sorted](uint32_t space, uint64_t number, uint64_t time) {
    sorted.add({.address = at(number), .space = space, .pad = 0},
               {.first_ns = time, .first = space, .last_ns = 1000, .last = 7});
  };
  add(1, 0, 49);  // before both
  add(1, 1, 51);  // between
  add(2, 2, 99);
  add(2, 3, 101);  // too late for the child
  add(3, 4, 200);
  add(3, 0, 300);  // the page has gone and come again
  add(9, 5, 1);    // of another process
  std::map<SpaceId, PageFaults> faults = sorted.take();
  REQUIRE(faults.size() == 2);
  const PageFaults& parent = faults[SpaceId{2}];
  CHECK(parent.size() == 3);
  CHECK(parent.at(at(0)).first == 1);
  CHECK(parent.at(at(0)).last_ns == 0);  // what the ancestor did later
  CHECK(parent.at(at(3)).last_ns == 1000);
  const PageFaults& child = faults[SpaceId{3}];
  CHECK(child.size() == 3);
  CHECK(child.at(at(0)).first == 3);
  CHECK(child.at(at(2)).first == 2);
  CHECK(child.at(at(4)).first == 3);
}

TEST_CASE("first touches become joined stacks, and stacks of their own") {
  StackLog log;
  for (const uint64_t key : {one, reader}) {
    RawStack stack;
    stack.space = SpaceId{1};
    stack.pcs = {{key, false}};
    log.keep(key | uint64_t{1} << 63U, std::move(stack));
  }
  Recording recording;
  recording.types = {
      {"live", Unit::bytes}, {"first-touch", Unit::bytes}, {"touched-by", Unit::bytes}};
  RecordingRows rows(recording, log);
  const uint64_t top = uint64_t{1} << 63U;
  FirstTouches touches;
  touches.known[{one | top, reader | top}] = 70;
  touches.others[one | top] = {0, 20, 0, 10, 0};
  touches.sums = {70, 20, 0, 10, 0};
  add_touches(touches, SpaceId{1}, 1, rows);

  std::vector<std::string> sums;
  for (const Aggregate& sum : recording.sums) {
    const auto name = [&](RawStackId id) {
      const RawStack& stack = recording.stacks[id.index];
      return stack.note.empty() ? std::to_string(stack.pcs.at(0).addr) : stack.note;
    };
    sums.push_back(name(sum.stack) + " " + sum.joint + " " + (sum.above ? name(sum.above) : "") +
                   " " + std::to_string(sum.values.at(1)) + " " + std::to_string(sum.values.at(2)));
  }
  CHECK(sums == std::vector<std::string>{"1 [first touched by] 11 70 0", "11   0 70",
                                         "1 [there before]  20 0", "1 [never touched]  10 0",
                                         "[there before]   0 20", "[never touched]   0 10"});
}
