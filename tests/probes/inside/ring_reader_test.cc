// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/ring_reader.h"

#include <doctest/doctest.h>

#include <random>
#include <thread>

#include "tests/probes/inside/ring_writer.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

using Frames = std::vector<uint64_t>;

struct Bench {
  explicit Bench(uint64_t sample_bytes = 0) : blocks(0, UINT64_MAX, 0, sample_bytes) { open(); }
  Exchange exchange{512, 1};
  Ticks ticks;
  StackTree stacks;
  LiveBlocks blocks;
  RingReader reader{exchange, stacks, blocks, ticks};

  void open() {
    RingReader::Functions functions{};
    functions[fn_malloc] = 0xf000;
    functions[fn_calloc] = 0xf100;
    reader.open(0, SpaceId{1}, functions);
    reader.open(1, SpaceId{2}, functions);
  }
  const RingReader::Statistics& seen() const { return reader.statistics(); }
};

std::vector<uint64_t> addresses(const RawStack& stack) {
  std::vector<uint64_t> all;
  for (const Pc& pc : stack.pcs) all.push_back(pc.addr);
  return all;
}

}  // namespace

TEST_CASE("stacks are put together from what they share with the one before") {
  Bench bench;
  RingWriter ring(bench.exchange, 3, 0);
  ring.alloc(0x10, 1, 8, {1, 2, 3});
  ring.alloc(0x20, 2, 8, {1, 2, 4, 5});
  ring.alloc(0x30, 3, 8, {1, 2, 3}, fn_calloc);
  ring.alloc(0x40, 4, 8, {1, 2, 3});
  ring.alloc(0x50, 5, 8, {1, 6 | exact_bit}, fn_malloc, 2);
  CHECK(bench.reader.read_rest() == 5);
  CHECK(bench.stacks.size() == 5);
  CHECK(addresses(bench.stacks.raw(1)) == Frames{0xf000, 3, 2, 1});
  CHECK(addresses(bench.stacks.raw(2)) == Frames{0xf000, 5, 4, 2, 1});
  CHECK(addresses(bench.stacks.raw(3)) == Frames{0xf100, 3, 2, 1});
  const RawStack cut = bench.stacks.raw(4);
  CHECK(addresses(cut) == Frames{0xf000, 6, 1});
  CHECK(!cut.pcs[0].is_return);
  CHECK(!cut.pcs[1].is_return);
  CHECK(cut.pcs[2].is_return);
  CHECK(cut.stop == static_cast<StopReason>(2));
  CHECK(cut.space == SpaceId{1});
  CHECK(bench.blocks.sums()[1].live_count == 2);
  CHECK(bench.seen().stacks == 5);
  CHECK(bench.seen().frames == 4 + 5 + 4 + 4 + 3);
  CHECK(bench.seen().stops[0] == 4);
}

TEST_CASE("frames that come before their stack are a part of it") {
  Bench bench;
  RingWriter ring(bench.exchange, 0, 0);
  ring.alloc(0, 1, 8, {1, 2});
  ring.alloc(0, 1, 8, {1, 2, 3, 4});
  ring.alloc(0x10, 1, 8, {1, 2, 3, 4, 5});
  bench.reader.read_rest();
  CHECK(bench.stacks.size() == 2);
  CHECK(addresses(bench.stacks.raw(1)) == Frames{0xf000, 5, 4, 3, 2, 1});
  CHECK(bench.seen().stacks == 1);
  CHECK(bench.blocks.counters().events == 1);
}

TEST_CASE("all rings are read, and are free again when their threads have ended") {
  Bench bench;
  constexpr int laps = 3;
  for (int lap = 0; lap < laps; ++lap) {
    std::vector<RingWriter> rings;
    for (uint32_t i = 0; i < most_rings; ++i) rings.emplace_back(bench.exchange, i, i % 2);
    for (uint32_t i = 0; i < most_rings; ++i) rings[i].alloc(16 + 16 * i, 2, 8, {i % 5});
    CHECK(bench.reader.read_rest() == most_rings);
    for (uint32_t i = 0; i < most_rings; ++i) rings[i].free(16 + 16 * i, 3);
    for (RingWriter& ring : rings) ring.end();
    CHECK(bench.reader.read_rest() == most_rings);
    for (uint32_t i = 0; i < most_rings / 64; ++i) CHECK(bench.exchange.taken(i) == 0);
  }
  CHECK(bench.blocks.counters().freed == laps * most_rings);
  CHECK(bench.blocks.table().size() == 0);
}

TEST_CASE("a small ring goes on at its beginning, with memory to be saved or not") {
  Bench bench;
  SUBCASE("not saved") {}
  SUBCASE("saved") { bench.reader.save_memory(); }
  RingWriter ring(bench.exchange, most_rings - 1, 0);
  uint64_t events = 0;
  for (int round = 0; round < 40; ++round) {
    for (; ring.has_room(24 + 8 * 100); ++events)
      ring.alloc(16 + events * 16, events, 1, Frames(1 + events % 97, events % 5));
    bench.reader.read_rest();
    CHECK(taken_once(bench.exchange.head(most_rings - 1).tail) == ring.written());
  }
  CHECK(ring.written() > 10 * small_ring_bytes);
  CHECK(bench.blocks.counters().events == events);
  CHECK(bench.seen().damaged == 0);
}

TEST_CASE("equal frames in two processes are two stacks") {
  Bench bench;
  RingWriter one(bench.exchange, 0, 0);
  RingWriter two(bench.exchange, 1, 1);
  one.alloc(0x10, 1, 8, {1, 2});
  two.alloc(0x10, 2, 8, {1, 2});
  bench.reader.read_rest();
  CHECK(bench.stacks.size() == 3);
  CHECK(bench.blocks.counters().unseen_frees == 0);
}

TEST_CASE("equal addresses are another stack once other code lies there") {
  Bench bench;
  RingWriter before(bench.exchange, 0, 0);
  before.alloc(0x10, 1, 8, {1, 100});
  bench.reader.read_rest();
  bench.reader.follow_code(0, {{90, 110, 7, {}}});
  RingWriter after(bench.exchange, 1, 0);
  after.alloc(0x20, 2, 8, {1, 100});
  after.alloc(0x30, 3, 8, {1, 111});
  bench.reader.read_rest();
  bench.reader.follow_code(0, {});
  RingWriter back(bench.exchange, 2, 0);
  back.alloc(0x40, 4, 8, {1, 100});
  bench.reader.read_rest();
  CHECK(bench.stacks.size() == 4);
  CHECK(addresses(bench.stacks.raw(1)) == Frames{0xf000, 100, 1});
  CHECK(addresses(bench.stacks.raw(2)) == Frames{0xf000, 100, 1});
  CHECK(bench.blocks.sums()[1].live_count == 2);
  CHECK(bench.blocks.sums()[2].live_count == 1);
}

TEST_CASE("threads' records are taken in the order of time") {
  Bench bench;
  RingWriter one(bench.exchange, 0, 0);
  RingWriter two(bench.exchange, 1, 0);
  // A block goes to and fro between two threads.
  for (uint64_t i = 0; i < 500; ++i) {
    (i % 2 == 0 ? one : two).alloc(0x10, 4 * i + 1, 8, {1, i % 7});
    (i % 3 == 0 ? one : two).free(0x10, 4 * i + 2);
  }
  CHECK(bench.reader.read_rest() == 1000);
  CHECK(bench.blocks.counters().freed == 500);
  CHECK(bench.blocks.counters().free_misses == 0);
  CHECK(bench.blocks.counters().unseen_frees == 0);
  CHECK(bench.blocks.table().size() == 0);
}

TEST_CASE("records of this very moment wait for the next round") {
  Bench bench;
  RingWriter ring(bench.exchange, 0, 0);
  ring.alloc(0x10, now_ticks() + bench.ticks.per_ms() * 50, 8, {1});
  CHECK(bench.reader.read() == 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  CHECK(bench.reader.read() == 1);
}

TEST_CASE("stacks are named by the mappings of the time that is given") {
  Bench bench;
  RingWriter ring(bench.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {1});
  CHECK(bench.reader.read_as_of(4711) == 1);
  ring.alloc(0x20, 2, 8, {1});
  ring.alloc(0x30, 3, 8, {2});
  CHECK(bench.reader.read() == 2);
  CHECK(bench.stacks.raw(1).time_ns == 4711);
  CHECK(bench.stacks.raw(2).time_ns > 4711);
}

TEST_CASE("a ring goes on at its beginning, and its owner is told how much room there is") {
  Bench bench;
  RingWriter ring(bench.exchange, 0, 0);
  uint64_t events = 0;
  Frames frames;
  for (int round = 0; round < 40; ++round) {
    for (; ring.has_room(24 + 8 * 100); ++events) {
      frames.assign(1 + events % 97, events % 5);
      ring.alloc(16 + events * 16, events, 1, frames);
    }
    bench.reader.read_rest();
    CHECK(taken_once(bench.exchange.head(0).tail) == ring.written());
  }
  CHECK(ring.written() > 10 * large_ring_bytes);
  CHECK(bench.blocks.counters().events == events);
  CHECK(bench.seen().damaged == 0);
}

TEST_CASE("rings that save memory have none for what was read, and lose nothing") {
  Bench bench;
  constexpr uint32_t threads = 64;
  bench.reader.read_rest();  // looks at which are taken
  for (uint32_t i = 0; i < threads; ++i) publish(bench.exchange.head(i).state, 0U);
  const uint64_t before = bench.exchange.bytes();
  std::vector<RingWriter> rings;
  for (uint32_t i = 0; i < threads; ++i) rings.emplace_back(bench.exchange, i, i % 2);
  uint64_t events = 0;
  const auto write = [&](int laps) {
    std::mt19937_64 random(7);
    for (int lap = 0; lap < laps; ++lap) {
      // Some fill their rings, others write little.
      for (uint32_t i = 0; i < threads; ++i)
        for (uint64_t left = i % 3 == 0 ? UINT64_MAX : random() % 70;
             left != 0 && rings[i].has_room(24 + 8 * 50); --left, ++events)
          rings[i].alloc(16 + events * 16, events, 1, Frames(1 + random() % 49, random() % 5));
      bench.reader.read_rest();
    }
  };
  write(40);
  CHECK(bench.exchange.bytes() - before > uint64_t{large_ring_bytes} * threads / 2);
  bench.reader.save_memory();
  write(40);
  // What each has begun, and no more.
  CHECK(bench.exchange.bytes() - before <= 2 * page * threads);
  CHECK(bench.blocks.counters().events == events);
  CHECK(bench.seen().damaged == 0);
  for (RingWriter& ring : rings) ring.end();
  bench.reader.read_rest();
  CHECK(bench.exchange.bytes() - before == 0);
}

TEST_CASE("after a gap a stack keeps no frames") {
  Bench bench;
  RingWriter ring(bench.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {1, 2, 3});
  ring.gap(12, 2);
  ring.alloc(0x20, 3, 8, {1, 2, 3});
  bench.reader.read_rest();
  CHECK(bench.seen().gaps == 12);
  CHECK(bench.seen().damaged == 0);
  CHECK(bench.stacks.size() == 2);
  // One that claims to keep what was lost is not believed.
  ring.gap(1, 4);
  ring.write({word0(0x30, kind_alloc, 2), 5, word2(8, 0, 0, fn_malloc)});
  bench.reader.read_rest();
  CHECK(bench.seen().damaged == 1);
}

TEST_CASE(
    "a block stands for what the mean that its ring told makes of it, also when it is freed") {
  constexpr uint64_t first = 10000, later = 1 << 20;
  Bench bench(first);
  RingWriter ring(bench.exchange, 0, 0), other(bench.exchange, 1, 0);
  ring.mean(first, 1);
  ring.alloc(0x10, 2, 100, {1});
  other.alloc(0x20, 3, 100, {1});  // of the first mean: it has told none
  ring.mean(later, 4);
  ring.alloc(0x30, 5, 100, {1});
  other.alloc(0x40, 6, 100, {1});
  bench.reader.read_rest();
  REQUIRE(bench.seen().damaged == 0);
  for (const uint64_t address : {0x10ULL, 0x20ULL, 0x40ULL}) {
    const LiveEntry* const block = bench.blocks.table().find(1, address);
    REQUIRE(block != nullptr);
    CHECK(bench.blocks.estimate(*block).bytes < 2 * first);
  }
  CHECK(bench.blocks.estimate(*bench.blocks.table().find(1, 0x30)).bytes > later / 2);
  CHECK(bench.blocks.sums()[1].live > static_cast<int64_t>(later + 2 * first));
  ring.mean(first, 7);
  other.free(0x30, 8);
  ring.free(0x10, 9);
  ring.free(0x20, 10);
  ring.free(0x40, 11);
  bench.reader.read_rest();
  const BlockSums& sums = bench.blocks.sums()[1];
  CHECK(sums.live == 0);
  CHECK(sums.live_count == 0);
  CHECK(sums.live_variance == 0);
  // Another thread that gets the ring begins with the first mean.
  ring.end();
  bench.reader.read_rest();
  RingWriter next(bench.exchange, 0, 0);
  next.alloc(0x50, 12, 100, {1});
  bench.reader.read_rest();
  CHECK(bench.blocks.estimate(*bench.blocks.table().find(1, 0x50)).bytes < 2 * first);
}

TEST_CASE("a mean that memflame cannot have set ends the ring") {
  for (const uint64_t mean : {uint64_t{0}, uint64_t{4097}, uint64_t{1} << 31, pointer_mask}) {
    Bench bench(10000);
    RingWriter ring(bench.exchange, 0, 0);
    ring.mean(mean, 1);
    ring.alloc(0x10, 2, 100, {1});
    bench.reader.read_rest();
    CHECK(bench.seen().damaged == 1);
    CHECK(bench.blocks.counters().events == 0);
  }
}

TEST_CASE("a block whose realloc() failed lives on") {
  Bench bench;
  RingWriter ring(bench.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {1});
  ring.free(0x10, 2);
  ring.restore(0x10, 3);
  ring.restore(0x10, 4);  // nothing to restore
  bench.reader.read_rest();
  CHECK(bench.blocks.table().size() == 1);
  CHECK(bench.blocks.sums()[1].live == 8);
  CHECK(bench.blocks.counters().freed == 0);
}

TEST_CASE("a ring is free again when its thread has ended and all is read") {
  Bench bench;
  RingWriter ring(bench.exchange, 5, 0);
  ring.alloc(0x10, 1, 8, {1, 2});
  ring.end();
  bench.reader.read_rest();
  CHECK(taken_once(bench.exchange.head(5).state) == state_free);
  CHECK(taken_once(bench.exchange.head(5).head) == 0);
  RingWriter next(bench.exchange, 5, 1);  // of another process
  next.alloc(0x10, 2, 8, {1, 2});
  bench.reader.read_rest();
  CHECK(bench.stacks.size() == 3);
  CHECK(bench.stacks.raw(2).space == SpaceId{2});
  CHECK(bench.blocks.table().size() == 2);
}

TEST_CASE("what a killed process has published counts, and its rings become free") {
  Bench bench;
  RingWriter ring(bench.exchange, 0, 0);
  RingWriter other(bench.exchange, 1, 1);
  ring.alloc(0x10, 1, 8, {1});
  ring.alloc(0x20, UINT64_MAX, 8, {1});  // a time that no clock gave
  other.alloc(0x30, 3, 8, {1});
  bench.reader.close(0);
  CHECK(bench.blocks.counters().events == 3);
  CHECK(taken_once(bench.exchange.head(0).state) == state_free);
  CHECK(taken_once(bench.exchange.head(1).state) == state_owned);
  other.alloc(0x40, 4, 8, {1, 2});
  bench.reader.read_rest();
  CHECK(bench.blocks.counters().events == 4);
}

TEST_CASE("a damaged record ends its ring, and no other") {
  const std::vector<std::vector<uint64_t>> damaged{
      {word0(0x10, kind_count), 5},                                  // no such kind
      {word0(0x10, kind_alloc, 1), 5, word2(8, 0, 0, fn_malloc)},    // keeps what is not there
      {word0(0x10, kind_alloc), 5, word2(8, 1000, 0, fn_malloc)},    // longer than the ring's
      {word0(0x10, kind_alloc), 5, word2(8, 0, 31, fn_malloc)},      // no such reason
      {word0(0x10, kind_alloc), 5, word2(8, 0, 0, function_count)},  // no such function
      {word0(0x10, kind_alloc), 5},                                  // cut
      {word0(0x10, kind_free)},                                      // cut
      {word0(0x10, kind_free_at), 5},                                // cut
      {word0(0x10, kind_free_at, 1), 5, word2(0, 0, 0, fn_free)},    // keeps what is not there
      {word0(0, kind_pad)},                                          // skips what was not written
      {word0(4096, kind_mean), 5},                                   // where nothing is sampled
      {word0(8, kind_code), 5, 1},                                   // cut
      {word0(8, kind_code), 5, 1, 9},                                // its name is cut
      {word0(8, kind_code), 5, 1, 513},                              // a name that is too long
      {word0(8, kind_code), 5, uint64_t{most_line_bytes + 1} << 32, 0},
  };
  for (const std::vector<uint64_t>& words : damaged) {
    Bench bench;
    RingWriter good(bench.exchange, 0, 1);
    RingWriter bad(bench.exchange, 1, 0);
    bad.write(words);
    good.alloc(0x20, 6, 8, {1});
    bench.reader.read_rest();
    CHECK(bench.seen().damaged == 1);
    CHECK(bench.blocks.counters().events == 1);
    bad.alloc(0x30, 7, 8, {1});
    good.free(0x20, 8);
    bench.reader.read_rest();
    CHECK(bench.seen().damaged == 1);
    CHECK(bench.blocks.counters().events == 1);
    CHECK(bench.blocks.counters().freed == 1);
    // Its owner is not made to wait.
    CHECK(taken_once(bench.exchange.head(1).tail) == bad.written());
  }
}

TEST_CASE("a head that cannot be is not followed") {
  for (const uint64_t head :
       {uint64_t{12}, uint64_t{large_ring_bytes} + 8, UINT64_MAX, UINT64_MAX - 7}) {
    Bench bench;
    RingWriter bad(bench.exchange, 0, 0);
    bad.set_head(head);
    CHECK(bench.reader.read_rest() == 0);
    CHECK(bench.seen().damaged == 1);
  }
}

TEST_CASE("figures that cannot be damage a ring, and times that cannot be become possible ones") {
  {
    Bench bench;
    RingWriter beyond(bench.exchange, 0, 0);
    RingWriter lost(bench.exchange, 1, 0);
    beyond.alloc((uint64_t{1} << 47U) - 4, 1, 8, {1});
    lost.gap(pointer_mask, 1);
    bench.reader.read_rest();
    CHECK(bench.seen().damaged == 2);
    CHECK(bench.seen().gaps == 0);
    CHECK(bench.blocks.table().size() == 0);
  }
  Bench bench;
  const uint64_t began = now_ticks();
  bench.reader.open(2, SpaceId{3}, {}, 0, began);
  RingWriter ring(bench.exchange, 2, 2);
  ring.alloc(0x10, 0, 8, {1});
  ring.alloc(0x20, UINT64_MAX, 8, {1});
  bench.reader.read_rest();
  bench.blocks.table().for_each([&](const LiveEntry& entry) {
    CHECK(entry.ticks >= began);
    CHECK(entry.ticks <= now_ticks());
  });
  CHECK(bench.blocks.table().size() == 2);
  CHECK(bench.reader.close(2) == 1);
}

TEST_CASE("a program that makes the number of rings smaller hides none") {
  Bench bench;
  bench.exchange.control().rings = 1;
  RingWriter first(bench.exchange, 0, 0);
  first.alloc(0x10, 1, 8, {1});
  bench.reader.read_rest();
  bench.exchange.control().rings = 9;
  bench.reader.read_rest();
  bench.exchange.control().rings = 1;
  RingWriter other(bench.exchange, 8, 1);
  other.alloc(0x10, 2, 8, {1});
  bench.reader.read_rest();
  CHECK(bench.blocks.table().size() == 2);
}

TEST_CASE("rings of processes that nobody has let in are left alone") {
  Bench bench;
  RingWriter ring(bench.exchange, 0, 77);
  RingWriter beyond(bench.exchange, 1, UINT32_MAX);
  ring.alloc(0x10, 1, 8, {1});
  beyond.alloc(0x10, 1, 8, {1});
  CHECK(bench.reader.read_rest() == 0);
}

TEST_CASE("random words neither end memflame nor stop it") {
  Bench bench;
  std::mt19937_64 random(11);  // NOLINT(bugprone-random-generator-seed): the same each time
  RingWriter good(bench.exchange, 9, 1);
  for (uint64_t round = 0; round < 300; ++round) {
    RingWriter bad(bench.exchange, static_cast<uint32_t>(round % 8), 0);
    std::vector<uint64_t> words(1 + random() % 400);
    for (uint64_t& word : words)
      word = random() % 3 == 0
                 ? random()
                 : word0(random() % 64 * 16, kind_alloc, static_cast<uint32_t>(random() % 3));
    bad.write(words);
    bad.end();
    good.alloc(16 * (round + 1), round, 8, {1, round});
    bench.reader.read_rest();
  }
  CHECK(bench.seen().damaged > 0);
  CHECK(bench.stacks.size() >= 300);
}

TEST_CASE(
    "code of Python's own that begins an __init__ is left out, and the frames around it stay") {
  Bench bench;
  Scripts scripts;
  bench.reader.name_functions(scripts);
  RingWriter ring(bench.exchange, 3, 0);
  const auto python = [](uint64_t code) { return bpf::script_word(bpf::language_python, code, 0); };
  ring.code(0x1000, 1, "f", "a.py");
  ring.code(0x2000, 2, "__init__", "__init__");
  ring.alloc(0x10, 3, 8, {4, python(0x1000), python(0x2000), python(0x1000)});
  ring.alloc(0x20, 4, 8, {4, python(0x1000), python(0x2000), python(0x1000), 5});
  ring.alloc(0x30, 5, 8, {4, python(0x2000)});
  CHECK(bench.reader.read_rest() == 5);
  const uint64_t f = bench.stacks.raw(1).pcs.at(1).addr;
  CHECK(scripts.all().at(script_index({f, false})).function == "f");
  CHECK(addresses(bench.stacks.raw(1)) == Frames{0xf000, f, f, 4});
  CHECK(addresses(bench.stacks.raw(2)) == Frames{0xf000, 5, f, f, 4});
  CHECK(addresses(bench.stacks.raw(3)) == Frames{0xf000, 4});
}

TEST_CASE("a function of Python has the name that was told last for its code") {
  Bench bench;
  Scripts scripts;
  bench.reader.name_functions(scripts);
  RingWriter ring(bench.exchange, 0, 0);
  RingWriter other(bench.exchange, 1, 0);
  constexpr uint64_t address = 0x7f0000001230;
  const uint64_t word = bpf::script_word(bpf::language_python, address, 7);
  ring.code(address, 1, "first", "a.py");
  ring.alloc(0x10, 2, 8, {1, word, 2});
  other.alloc(0x20, 3, 8, {1, word, 2});  // another thread need not tell it
  ring.code(address, 4, "second", "b.py");
  other.alloc(0x30, 5, 8, {3, word});
  ring.alloc(0x40, 6, 8, {4, bpf::script_word(bpf::language_python, 0x1000, 0)});
  bench.reader.read_rest();
  REQUIRE(bench.stacks.size() == 4);
  const auto name = [&](uint32_t stack, size_t frame) {
    const Pc pc = bench.stacks.raw(stack).pcs.at(frame);
    CHECK(is_script(pc));
    CHECK(!pc.is_return);
    return scripts.all().at(script_index(pc));
  };
  CHECK(addresses(bench.stacks.raw(1)).size() == 4);
  CHECK(name(1, 2).function == "first");
  CHECK(name(1, 2).file == "a.py");
  CHECK(name(2, 1).function == "second");
  CHECK(script_place(bench.stacks.raw(2).pcs.at(1)) == 7);
  CHECK(name(3, 1).function == "[python: unreadable]");
  CHECK(bench.blocks.sums()[1].live_count == 2);
}

TEST_CASE("no word of a process looks like a function, unless it is told as one") {
  Bench bench;
  Scripts scripts;
  bench.reader.name_functions(scripts);
  RingWriter ring(bench.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {script_pc(12345, 6).addr, bpf::script_word(bpf::language_java, 8, 0)});
  bench.reader.read_rest();
  for (const Pc& pc : bench.stacks.raw(1).pcs) {
    CHECK(!is_script(pc));
    CHECK(pc.addr <= pointer_mask);
  }
}
