// SPDX-License-Identifier: BSD-2-Clause
// The agent's part from a call of a hook to the record in the ring.
#include "probes/inside/agent/walk.h"

#include <doctest/doctest.h>

#include <chrono>
#include <random>
#include <thread>

#include "probes/inside/agent/sampling.h"
#include "probes/inside/agent/stops.h"
#include "tests/probes/inside/agent/hostile.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

constexpr uint64_t leaf = 0x1000, middle = 0x1100, outer = 0x1200, last = 0x1300;

// Functions of 256 bytes: one that keeps two words, one that saves rbp, one that is found by its
// rbp, and one that nothing has called.
std::vector<unwind::row> rows() {
  return {{.pc = 0x000, .cfa = 3, .kind = unwind::row_rsp, .rbp = 0},
          {.pc = 0x100, .cfa = 4, .kind = unwind::row_rsp, .rbp = 2},
          {.pc = 0x200, .cfa = 2, .kind = unwind::row_rbp, .rbp = 2},
          {.pc = 0x300, .cfa = 1, .kind = unwind::row_end, .rbp = 0},
          {.pc = 0x400, .cfa = 2, .kind = unwind::row_rsp, .rbp = 0}};
}
constexpr CodeRange all{.start = 0x1000, .end = 0x1500, .base = 0x1000, .first_row = 0, .rows = 5};

struct Bench {
  FakeProcess process;
  // Stack: leaf 3 words, middle 4, outer up to its rbp; from here on.
  uint64_t sp = process.stack().low() + 0x800;

  Bench() {
    process.publish({&all, 1}, rows());
    word(2) = middle + 5;  // the leaf's return address
    word(5) = frame();     // rbp, saved by middle
    word(6) = outer + 7;   // middle's return address
    word(20) = 0;          // outer's rbp
    word(21) = last + 1;   // its return address
  }
  uint64_t& word(uint64_t index) { return process.stack().at(sp + 8 * index); }
  uint64_t frame() const { return sp + 160; }  // of word(20)
  Alloc record(const Caller& caller) {
    record_alloc(&process.thread(), reinterpret_cast<void*>(0x7000), 24, fn_calloc, caller);
    words = process.taken();
    REQUIRE(words.size() >= 3);
    return alloc_of(words[0], words[1], words[2]);
  }
  Alloc record() { return record({leaf + 9, sp, 77}); }

  std::vector<uint64_t> words;  // of the last record
};

using Words = std::vector<uint64_t>;

Words frames(const Bench& bench) { return {bench.words.begin() + 3, bench.words.end()}; }

}  // namespace

TEST_CASE("the first stack of a thread is written whole, the next by what differs") {
  Bench bench;
  Alloc alloc = bench.record();
  CHECK(alloc.pointer == 0x7000);
  CHECK(alloc.size == 24);
  CHECK(alloc.function == fn_calloc);
  CHECK(alloc.stop == stop_end);
  CHECK(alloc.kept == 0);
  CHECK(frames(bench) == Words{leaf + 9, middle + 5, outer + 7, last + 1});
  alloc = bench.record({leaf + 10, bench.sp, 77});
  CHECK(alloc.kept == 3);
  CHECK(frames(bench) == Words{leaf + 10});
  CHECK(bench.record().kept == 3);
  CHECK(bench.record().kept == 4);
}

TEST_CASE("a free tells its stack if that is wanted, against the last stack that was told") {
  Bench bench;
  bench.record();
  const auto release = [&](Kind kind, const Caller& caller) {
    record_free(&bench.process.thread(), reinterpret_cast<void*>(0x7000), kind, fn_free, caller);
    bench.words = bench.process.taken();
  };
  const Caller there{leaf + 30, bench.sp, 77};
  release(kind_free, there);
  CHECK(bench.words.size() == 2);
  CHECK(kind_of(bench.words[0]) == kind_free);
  bench.process.control().free_stacks = 1;
  release(kind_free, there);
  REQUIRE(bench.words.size() == 4);
  CHECK(kind_of(bench.words[0]) == kind_free_at);
  const Alloc told = alloc_of(bench.words[0], bench.words[1], bench.words[2]);
  CHECK(told.pointer == 0x7000);
  CHECK(told.kept == 3);
  CHECK(told.function == fn_free);
  CHECK(frames(bench) == Words{leaf + 30});
  // The record behind a realloc's has the stack.
  release(kind_leave, there);
  CHECK(bench.words.size() == 2);
  CHECK(bench.record().kept == 3);
}

TEST_CASE("a small ring is told a deep stack in several records") {
  Bench bench;
  bench.process.use_small_ring();
  constexpr uint64_t deep = 200, most = small_ring_bytes / 16 - 3;
  for (uint64_t i = 0; i < deep; ++i) bench.word(2 + 3 * i) = leaf + 5;
  bench.word(2 + 3 * deep) = last + 1;
  Alloc alloc = bench.record();
  CHECK(alloc.pointer == 0);
  CHECK(alloc.kept == 0);
  REQUIRE(alloc.pushed == most);
  CHECK(bench.words[most + 2] == last + 1);  // the outermost frame comes first
  const uint64_t at = most + 3;
  REQUIRE(bench.words.size() > at + 3);
  alloc = alloc_of(bench.words[at], bench.words[at + 1], bench.words[at + 2]);
  CHECK(alloc.pointer == 0x7000);
  CHECK(alloc.kept == most);
  CHECK(alloc.pushed == deep + 2 - most);
  CHECK(bench.words[at + 3] == leaf + 9);
  CHECK(bench.words.size() == at + 3 + alloc.pushed);
  CHECK(bench.record().kept == deep + 2);
}

TEST_CASE("frames below a word that has changed are walked anew") {
  Bench bench;
  bench.record();
  SUBCASE("a return address") {
    bench.word(6) = outer + 8;
    CHECK(bench.record().kept == 1);
    CHECK(frames(bench) == Words{leaf + 9, middle + 5, outer + 8});
  }
  SUBCASE("a saved register that the walk needs") {
    bench.word(5) = bench.sp + 240;
    bench.word(31) = last + 2;
    CHECK(bench.record().kept == 0);
    CHECK(frames(bench) == Words{leaf + 9, middle + 5, outer + 7, last + 2});
  }
  SUBCASE("a word that no step reads") {
    bench.word(1) = bench.word(3) = 99;
    CHECK(bench.record().kept == 4);
  }
}

TEST_CASE("the word that ends a stack is compared too") {
  Bench bench;
  // A stack that was made by hand: its outermost function would return to 0.
  bench.word(2) = 0x1400 + 3;
  bench.word(4) = 0;
  CHECK(bench.record({leaf + 9, bench.sp, 0}).stop == stop_end);
  CHECK(frames(bench) == Words{leaf + 9, 0x1403});
  CHECK(bench.record({leaf + 9, bench.sp, 0}).kept == 2);
  SUBCASE("it returns elsewhere") {
    bench.word(4) = last + 1;
    CHECK(bench.record({leaf + 9, bench.sp, 0}).kept == 0);
    CHECK(frames(bench) == Words{leaf + 9, 0x1403, last + 1});
  }
  SUBCASE("rbp, by which the psABI marks the outermost frame") {
    CHECK(bench.record({leaf + 9, bench.sp, 5}).stop == stop_no_mapping);
  }
}

TEST_CASE("another list makes rules and kept frames void") {
  Bench bench;
  bench.record();
  std::vector<unwind::row> others = rows();
  others[2].kind = unwind::row_end;
  bench.process.publish({&all, 1}, others);
  CHECK(bench.record().kept == 0);
  CHECK(frames(bench) == Words{leaf + 9, middle + 5, outer + 7});
  CodeRange moved = all;
  moved.end = 0x1200;
  bench.process.publish({&moved, 1}, rows());
  CHECK(bench.record().stop == stop_no_mapping);
  moved.rows = rows_missing;
  moved.end = all.end;
  bench.process.publish({&moved, 1}, rows());
  CHECK(bench.record().stop == stop_no_table);
}

TEST_CASE("memflame is asked once about an address in no known code") {
  Bench bench;
  bench.word(6) = 0x99999;
  CHECK(bench.record().stop == stop_no_mapping);
  CHECK(bench.record().stop == stop_no_mapping);
  CHECK(bench.process.shared().requests == 1);
}

TEST_CASE("a stack that is too deep keeps its innermost frames, and nothing is kept after it") {
  Bench bench;
  bench.record();
  bench.process.control().max_depth = 3;
  CHECK(bench.record().stop == stop_too_deep);
  CHECK(frames(bench) == Words{leaf + 9, middle + 5, outer + 7});
  bench.process.control().max_depth = UINT32_MAX;  // as a hostile process may set it
  CHECK(bench.record().kept == 0);
  CHECK(frames(bench).size() == 4);
}

TEST_CASE("a stack that is not the thread's own is read by copies, up to where it can be read") {
  Bench bench;
  const FakeStack other;
  const auto sp = other.high() - 48;
  other.at(sp + 16) = middle + 5;  // whose return address would be beyond the end
  CHECK(bench.record({leaf + 9, sp, 0}).stop == stop_unreadable);
  CHECK(frames(bench) == Words{leaf + 9, middle + 5});
  bench.record();
  CHECK(bench.record({leaf + 9, sp, 0}).kept == 0);
}

TEST_CASE("allocations for which a ring has no room are counted, and told when it has") {
  Bench bench;
  Thread& thread = bench.process.thread();
  uint64_t count = 0;
  while (bench.process.shared().lost == 0 && count < large_ring_bytes)
    record_alloc(&thread, reinterpret_cast<void*>(16 * ++count), 5, fn_malloc,
                 {leaf + 9, bench.sp, 77});
  CHECK(bench.process.shared().lost == 1);
  CHECK(bench.process.shared().lost_bytes == 5);
  CHECK(thread.lost == 1);
  // The free of the block that was lost is not recorded; those of others are.
  CHECK(is_known(reinterpret_cast<void*>(16 * (count - 1))));
  CHECK(!is_known(reinterpret_cast<void*>(16 * count)));
  CHECK(is_known(reinterpret_cast<void*>(16 * count)));
  CHECK(bench.process.taken().size() > count);
  bench.record();
  CHECK(kind_of(bench.words[0]) == kind_gap);
  CHECK((bench.words[0] & pointer_mask) == 1);
  REQUIRE(bench.words.size() > 5);
  CHECK(alloc_of(bench.words[2], 0, bench.words[4]).kept == 0);  // a new chain
}

TEST_CASE("a free waits for room until memflame has read, beyond the limit for allocations") {
  Bench bench;
  Thread& thread = bench.process.thread();
  timing.max_wait_ms = 0;
  while (thread.written + 16 <= large_ring_bytes) record_free(&thread, reinterpret_cast<void*>(16));
  const uint64_t full = thread.written;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    bench.process.taken();
  });
  record_free(&thread, reinterpret_cast<void*>(32));
  reader.join();
  CHECK(thread.written == full + 16);
  CHECK(thread.lost == 0);
  // Not if memflame reads no more.
  bench.process.taken();
  while (thread.written + 16 <= full + 16 + large_ring_bytes)
    record_free(&thread, reinterpret_cast<void*>(16));
  bench.process.control().reading = 0;
  record_free(&thread, reinterpret_cast<void*>(32));
  CHECK(thread.written == full + 16 + large_ring_bytes);
}

TEST_CASE(
    "hostile rows, lists and stacks make the agent neither crash nor read outside the stack") {
  FakeProcess process;
  std::mt19937_64 random(17);  // NOLINT(bugprone-random-generator-seed): the same each time
  Hostile hostile(process, [&random](uint64_t limit) { return limit == 0 ? 0 : random() % limit; });
  for (int i = 0; i < 3000; ++i) hostile.run();
  // Each way in which a walk may end was met, and frames were reused.
  for (const stop reason : {stop_no_mapping, stop_no_table, stop_unreadable, stop_backwards})
    CHECK(hostile.stops(reason) > 100);
  CHECK(hostile.reused() > 100);
}
