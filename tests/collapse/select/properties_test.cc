// SPDX-License-Identifier: BSD-2-Clause
// Each property and each bound, with three blocks: just below, at, and just above it.
#include <doctest/doctest.h>

#include "tests/collapse/select/made_run.h"

using namespace memflame;  // NOLINT(google-build-using-namespace)

namespace {

using Numbers = std::vector<int>;
constexpr uint64_t ms = 1'000'000;

// What each comparison with the middle one of blocks 1, 2, 3 selects.
void check_bounds(MadeRun& run, const std::string& property, const std::string& value) {
  CAPTURE(property);
  CHECK(run.selected(property + " = " + value) == Numbers{2});
  CHECK(run.selected(property + " != " + value) == Numbers{1, 3});
  CHECK(run.selected(property + " < " + value) == Numbers{1});
  CHECK(run.selected(property + " <= " + value) == Numbers{1, 2});
  CHECK(run.selected(property + " > " + value) == Numbers{3});
  CHECK(run.selected(property + " >= " + value) == Numbers{2, 3});
  CHECK(run.selected(property + " in " + value + ".." + value) == Numbers{2});
  CHECK(run.selected("not " + property + " > " + value) == Numbers{1, 2});
}

}  // namespace

TEST_CASE("sizes and addresses") {
  MadeRun run;
  for (const uint64_t size : {4095U, 4096U, 4097U}) run.add({.address = size * 16, .size = size});
  check_bounds(run, "size", "4K");
  check_bounds(run, "size", "4096");
  check_bounds(run, "address", "0x10000");
  CHECK(run.selected("size in 4095..4096") == Numbers{1, 2});
  CHECK(run.selected("size in 4K..1MiB") == Numbers{2, 3});
}

TEST_CASE("the time of the allocation") {
  MadeRun run;
  for (const uint64_t time : {2499U, 2500U, 2501U}) run.add({.allocated_ns = time * ms, .size = 1});
  check_bounds(run, "allocated", "2.5s");
  check_bounds(run, "allocated", "2500ms");
  check_bounds(run, "allocated", "2.5");
  check_bounds(run, "allocated", "2.5%");
  check_bounds(run, "allocated", "start + 2.5s");
  check_bounds(run, "allocated", "end - 97.5s");
  check_bounds(run, "allocated", "50% - 1m + 12s + 500ms");
  CHECK(run.selected("allocated in start..2.5s") == Numbers{1, 2});
  CHECK(run.selected("allocated in 2.5s..end") == Numbers{2, 3});
}

TEST_CASE("times before the start and behind the end are times") {
  MadeRun run;
  run.add({.allocated_ns = 0, .size = 1});
  run.add({.allocated_ns = run.end_ns, .size = 1});
  CHECK(run.selected("allocated > start - 1s") == Numbers{1, 2});
  CHECK(run.selected("allocated >= start - 1s") == Numbers{1, 2});
  CHECK(run.selected("allocated < start - 1s").empty());
  CHECK(run.selected("allocated <= start - 1ns").empty());
  CHECK(run.selected("allocated = start - 1ns").empty());
  CHECK(run.selected("allocated <= end + 1s") == Numbers{1, 2});
  CHECK(run.selected("allocated > end + 1s").empty());
}

TEST_CASE("the time of the free: a leaked block is freed later than at all times") {
  MadeRun run;
  for (const uint64_t time : {2499U, 2500U, 2501U})
    run.add({.allocated_ns = ms, .freed_ns = time * ms, .size = 1});
  run.add({.allocated_ns = ms, .size = 1});  // 4: leaked
  CHECK(run.selected("freed = 2.5s") == Numbers{2});
  CHECK(run.selected("freed != 2.5s") == Numbers{1, 3, 4});
  CHECK(run.selected("freed < 2.5s") == Numbers{1});
  CHECK(run.selected("freed <= 2.5s") == Numbers{1, 2});
  CHECK(run.selected("freed > 2.5s") == Numbers{3, 4});
  CHECK(run.selected("freed >= 2.5s") == Numbers{2, 3, 4});
  CHECK(run.selected("leaked or freed > 2.5s") == Numbers{3, 4});
  CHECK(run.selected("freed in 2.5s..end") == Numbers{2, 3});
  CHECK(run.selected("freed <= 1000000000s") == Numbers{1, 2, 3});
  CHECK(run.selected("freed <= 11574d + 11574d + 11574d") == Numbers{1, 2, 3});
  CHECK(run.selected("freed > 11574d") == Numbers{4});
}

TEST_CASE("leaked") {
  MadeRun run;
  run.add({.freed_ns = run.end_ns, .size = 1});
  run.add({.size = 1});
  run.add({.end_ns = 3 * ms, .size = 1});  // its process ended
  CHECK(run.selected("leaked") == Numbers{2, 3});
  CHECK(run.selected("not leaked") == Numbers{1});
}

TEST_CASE("live at a time: allocated until then, and freed after it") {
  MadeRun run;
  run.add({.allocated_ns = 2001 * ms, .size = 1});
  run.add({.allocated_ns = 2000 * ms, .size = 1});
  run.add({.allocated_ns = 1999 * ms, .size = 1});
  for (const uint64_t freed : {1999U, 2000U, 2001U})
    run.add({.allocated_ns = 1000 * ms, .freed_ns = freed * ms, .size = 1});
  CHECK(run.selected("live at 2s") == Numbers{2, 3, 6});
  CHECK(run.selected("live at end") == Numbers{1, 2, 3});
  CHECK(run.selected("live at start").empty());
}

TEST_CASE("live in a stretch: allocated until its end, and freed after its beginning") {
  MadeRun run;
  for (const uint64_t allocated : {2999U, 3000U, 3001U})
    run.add({.allocated_ns = allocated * ms, .size = 1});
  for (const uint64_t freed : {1999U, 2000U, 2001U})
    run.add({.allocated_ns = 1000 * ms, .freed_ns = freed * ms, .size = 1});
  CHECK(run.selected("live in 2s..3s") == Numbers{1, 2, 6});
  CHECK(run.selected("live in 2s..2s") == Numbers{6});
}

TEST_CASE("lifetimes end with the free, or with the process or the recording") {
  MadeRun run;
  for (const uint64_t life : {499U, 500U, 501U})
    run.add({.allocated_ns = ms, .freed_ns = (1 + life) * ms, .size = 1});
  check_bounds(run, "lifetime", "500ms");
  check_bounds(run, "lifetime", "0.5s");
  check_bounds(run, "lifetime", "0.5%");
  MadeRun leaks;
  for (const uint64_t life : {499U, 500U, 501U})
    leaks.add({.allocated_ns = leaks.end_ns - life * ms, .size = 1});
  check_bounds(leaks, "lifetime", "500ms");
  MadeRun ended;
  for (const uint64_t life : {499U, 500U, 501U})
    ended.add({.allocated_ns = 7 * ms, .end_ns = (7 + life) * ms, .size = 1});
  check_bounds(ended, "lifetime", "500ms");
}

TEST_CASE("chains: what is true of one block is true of all") {
  MadeRun run;
  run.add({.allocated_ns = 5 * ms, .freed_ns = 6 * ms, .size = 10});          // 1
  run.add_chain({{.allocated_ns = 5 * ms, .size = 20},                        // 2
                 {.allocated_ns = 6 * ms, .freed_ns = 8 * ms, .size = 40}});  // 3
  run.add_chain({{.allocated_ns = 5 * ms, .size = 30},                        // 4
                 {.allocated_ns = 7 * ms, .size = 50},                        // 5
                 {.allocated_ns = 9 * ms, .size = 60}});                      // 6: leaked
  CHECK(run.selected("chain.length < 2") == Numbers{1});
  CHECK(run.selected("chain.length = 2") == Numbers{2, 3});
  CHECK(run.selected("chain.length > 2") == Numbers{4, 5, 6});
  CHECK(run.selected("chain.length >= 2") == Numbers{2, 3, 4, 5, 6});
  CHECK(run.selected("chain.length <= 2") == Numbers{1, 2, 3});
  CHECK(run.selected("chain.position = 1") == Numbers{1, 2, 4});
  CHECK(run.selected("chain.position >= 2") == Numbers{3, 5, 6});
  CHECK(run.selected("chain.position <= 2") == Numbers{1, 2, 3, 4, 5});
  CHECK(run.selected("chain.position > 2") == Numbers{6});
  CHECK(run.selected("chain.lifetime < 3ms") == Numbers{1});
  CHECK(run.selected("chain.lifetime = 3ms") == Numbers{2, 3});
  CHECK(run.selected("chain.lifetime > 3ms") == Numbers{4, 5, 6});
  CHECK(run.selected("chain.leaked") == Numbers{4, 5, 6});
  CHECK(run.selected("leaked") == Numbers{6});
  CHECK(run.selected("chain.leaked and not leaked") == Numbers{4, 5});
  CHECK(run.selected("first.size < 20") == Numbers{1});
  CHECK(run.selected("first.size = 20") == Numbers{2, 3});
  CHECK(run.selected("first.size > 20") == Numbers{4, 5, 6});
  CHECK(run.selected("last.size < 40") == Numbers{1});
  CHECK(run.selected("last.size = 40") == Numbers{2, 3});
  CHECK(run.selected("last.size > 40") == Numbers{4, 5, 6});
}

TEST_CASE("threads and processes, by id and by name") {
  MadeRun run;
  const ThreadId a = run.thread(900, "worker-1"), b = run.thread(901, "worker-2");
  const SpaceId other = run.space(900, "helper");
  const RawStackId mine = run.stack({"main"}), theirs = run.stack({"main"}, other);
  run.add({.size = 1, .thread = a, .stack = mine});
  run.add({.size = 1, .thread = b, .stack = theirs});
  run.add({.size = 1, .stack = mine});  // 3: its thread is not known
  CHECK(run.selected("thread = 900") == Numbers{1});
  CHECK(run.selected("thread != 900") == Numbers{2, 3});
  CHECK(run.selected("thread = \"worker-1\"") == Numbers{1});
  CHECK(run.selected("thread = 'worker'").empty());
  CHECK(run.selected("thread ~ 'worker'") == Numbers{1, 2});
  CHECK(run.selected("thread !~ '2$'") == Numbers{1, 3});
  CHECK(run.selected("process = 812") == Numbers{1, 3});
  CHECK(run.selected("process = 'helper'") == Numbers{2});
  CHECK(run.selected("process ~ '^s'") == Numbers{1, 3});
  CHECK(run.selected("process !~ '^s'") == Numbers{2});
}

TEST_CASE("names: any frame") {
  MadeRun run;
  const RawStackId load = run.stack({"main", "load", "malloc"});
  const RawStackId save = run.stack({"main", "save", "malloc"}, SpaceId{1}, "/usr/lib/libstore.so");
  for (const RawStackId stack : {load, save}) run.add({.size = 1, .stack = stack});
  run.add({.size = 1});  // 3: without a stack
  CHECK(run.selected("function ~ '^(load|main)$'") == Numbers{1, 2});
  CHECK(run.selected("function ~ 'loa'") == Numbers{1});
  CHECK(run.selected("function !~ 'loa'") == Numbers{2, 3});
  CHECK(run.selected("function = 'loa'").empty());
  CHECK(run.selected("function = 'load'") == Numbers{1});
  CHECK(run.selected("function != 'load'") == Numbers{2, 3});
  CHECK(run.selected("source ~ 'save\\.cc'") == Numbers{2});
  CHECK(run.selected("source !~ 'save\\.cc'") == Numbers{1, 3});
  CHECK(run.selected("module ~ 'libstore'") == Numbers{2});
  CHECK(run.selected("module = '/usr/bin/server'") == Numbers{1});
}

TEST_CASE("inlined functions, and frames that are not code, are frames") {
  MadeRun run;
  const RawStackId stack = run.stack({"main", "outer"});
  run.recording.locations.back().symbols = {{.function = "outer", .file = {}, .module = {}},
                                            {.function = "inlined", .file = {}, .module = {}}};
  run.recording.stacks[stack.index].leaf = "[slab dentry]";
  run.add({.size = 1, .stack = stack});
  const RawStackId lost = run.stack({});
  run.recording.stacks[lost.index].note = "[lost: ring buffer full]";
  run.add({.size = 1, .stack = lost});
  CHECK(run.selected("function = 'inlined'") == Numbers{1});
  CHECK(run.selected("function ~ 'slab'") == Numbers{1});
  CHECK(run.selected("function ~ '^\\[lost'") == Numbers{2});
  CHECK(run.selected("depth = 2") == Numbers{1});
}

TEST_CASE("depth") {
  MadeRun run;
  run.add({.size = 1, .stack = run.stack({"main"})});
  run.add({.size = 1, .stack = run.stack({"main", "f"})});
  run.add({.size = 1, .stack = run.stack({"main", "f", "g"})});
  check_bounds(run, "depth", "2");
}

TEST_CASE("stacks of frees: a block without one has no name there") {
  MadeRun run;
  const RawStackId stack = run.stack({"main"}), clear = run.stack({"main", "clear"}),
                   drop = run.stack({"main", "drop", "free"}, SpaceId{1}, "/usr/lib/libstore.so");
  run.add({.freed_ns = ms, .size = 1, .stack = stack, .freeing_stack = clear});
  run.add({.freed_ns = ms, .size = 1, .stack = stack, .freeing_stack = drop});
  run.add({.size = 1, .stack = stack});
  CHECK(run.selected("free.function ~ 'clear'") == Numbers{1});
  CHECK(run.selected("free.function !~ 'clear'") == Numbers{2, 3});
  CHECK(run.selected("free.source ~ 'drop\\.cc'") == Numbers{2});
  CHECK(run.selected("free.module ~ 'libstore'") == Numbers{2});
  CHECK(run.selected("free.depth <= 2") == Numbers{1});
  CHECK(run.selected("free.depth >= 3") == Numbers{2});
  CHECK(run.selected("function ~ 'clear'").empty());
}

TEST_CASE("groups: all blocks of a stack, weighed as they stand for others") {
  MadeRun run;
  const RawStackId one = run.stack({"one"}), two = run.stack({"two"}), three = run.stack({"three"});
  run.add({.allocated_ns = 10 * ms, .size = 1, .stack = one});                       // 1
  run.add({.allocated_ns = 10 * ms, .freed_ns = 12 * ms, .size = 1, .stack = two});  // 2
  run.add({.allocated_ns = 15 * ms, .size = 1, .stack = two});                       // 3
  run.add({.allocated_ns = 1 * ms, .freed_ns = 9 * ms, .size = 1, .count = 2, .stack = three});
  run.add({.allocated_ns = 7 * ms, .size = 1, .stack = three});  // 5
  CHECK(run.selected("group.count < 2") == Numbers{1});
  CHECK(run.selected("group.count = 2") == Numbers{2, 3});
  CHECK(run.selected("group.count > 2") == Numbers{4, 5});
  CHECK(run.selected("group.leaked_share > 50%") == Numbers{1});
  CHECK(run.selected("group.leaked_share = 50%") == Numbers{2, 3});
  CHECK(run.selected("group.leaked_share >= 0.5") == Numbers{1, 2, 3});
  CHECK(run.selected("group.leaked_share < 0.5") == Numbers{4, 5});
  CHECK(run.selected("group.leaked_share <= 33.3333%").empty());
  CHECK(run.selected("group.leaked_share <= 33.3334%") == Numbers{4, 5});
  CHECK(run.selected("group.leaked_share in 40%..100%") == Numbers{1, 2, 3});
  CHECK(run.selected("group.leaked_share != 1") == Numbers{2, 3, 4, 5});
  CHECK(run.selected("group.span < 5ms") == Numbers{1});
  CHECK(run.selected("group.span = 5ms") == Numbers{2, 3});
  CHECK(run.selected("group.span > 5ms") == Numbers{4, 5});
  CHECK(run.selected("group.peak_time = 10ms") == Numbers{1, 2, 3});
  CHECK(run.selected("group.peak_time < 10ms") == Numbers{4, 5});
  CHECK(run.selected("group.peak_time = 7ms") == Numbers{4, 5});
}

TEST_CASE("how many of a stack's blocks leak") {
  MadeRun run;
  for (int leaked = 1; leaked <= 3; ++leaked) {
    const RawStackId stack = run.stack({"f"});
    for (int i = 0; i < leaked; ++i) run.add({.size = 1, .stack = stack});
    run.add({.freed_ns = ms, .size = 1, .stack = stack});
  }
  CHECK(run.selected("group.leaked < 2") == Numbers{1, 2});
  CHECK(run.selected("group.leaked = 2") == Numbers{3, 4, 5});
  CHECK(run.selected("group.leaked > 2") == Numbers{6, 7, 8, 9});
}

TEST_CASE("groups are those of the whole run, whatever else is selected") {
  MadeRun run;
  const RawStackId stack = run.stack({"f"});
  run.add({.size = 10, .stack = stack});
  run.add({.freed_ns = ms, .size = 20, .stack = stack});
  CHECK(run.selected("size > 15 and group.count = 2 and group.leaked = 1") == Numbers{2});
}

TEST_CASE("the peak is the first maximum of the run; changes of one time are one change") {
  MadeRun run;
  run.add({.allocated_ns = 1 * ms, .freed_ns = 3 * ms, .size = 100});  // 1
  run.add({.allocated_ns = 2 * ms, .freed_ns = 4 * ms, .size = 50});   // 2: the peak is here, 150
  run.add({.allocated_ns = 3 * ms, .freed_ns = 9 * ms, .size = 100});  // 3: 150 again
  run.add({.allocated_ns = 5 * ms, .freed_ns = 9 * ms, .size = 50});   // 4: and again
  CHECK(run.selected("live at peak") == Numbers{1, 2});
  CHECK(run.selected("allocated > peak") == Numbers{3, 4});
  CHECK(run.selected("allocated in peak - 1ms..peak + 1ms") == Numbers{1, 2, 3});
}

TEST_CASE("markers are times") {
  MadeRun run;
  run.marks = {
      {2 * seconds_ns, "cache filled"}, {3 * seconds_ns, "done"}, {9 * seconds_ns, "done"}};
  for (const uint64_t time : {1999U, 2000U, 2001U}) run.add({.allocated_ns = time * ms, .size = 1});
  check_bounds(run, "allocated", "\"cache filled\"");
  check_bounds(run, "allocated", "'done' - 1s");
  CHECK_THROWS_WITH(
      run.selected("allocated > 'don'"),
      "--where, column 13: the run has no marker of that name; it has 'cache filled', "
      "'done', 'done'\n  allocated > 'don'\n              ^");
}

TEST_CASE("stacks of a selection") {
  MadeRun run;
  const RawStackId one = run.stack({"one"}), two = run.stack({"two"}), free1 = run.stack({"clear"}),
                   free2 = run.stack({"drop"});
  run.add({.freed_ns = ms, .size = 10, .stack = one, .freeing_stack = free1});  // 1
  run.add({.size = 99, .stack = one});                                          // 2
  run.add({.freed_ns = ms, .size = 10, .stack = two, .freeing_stack = free1});  // 3
  run.add({.freed_ns = ms, .size = 99, .stack = two, .freeing_stack = free2});  // 4
  CHECK(run.selected("stack in lost", {"lost=leaked"}) == Numbers{1, 2});
  CHECK(run.selected("not stack in lost", {"lost=leaked"}) == Numbers{3, 4});
  CHECK(run.selected("stack in (leaked) and not leaked") == Numbers{1});
  CHECK(run.selected("free.stack in small", {"small=size = 10 & stack in (leaked)"}) ==
        Numbers{1, 3});
  CHECK(run.selected("free.stack in big", {"big=size = 99"}) == Numbers{4});
  CHECK(run.selected("stack in b", {"a=leaked", "b=free.stack in (stack in a)"}) ==
        Numbers{1, 2, 3, 4});
}

TEST_CASE("the run is read only as often as it has to be") {
  MadeRun run;
  run.add({.size = 1, .stack = run.stack({"f"})});
  static_cast<void>(run.selected("size > 1 and function ~ 'f' or leaked"));
  CHECK(run.passes == 0);
  static_cast<void>(run.selected("live at peak and group.count > 1 and group.span > 1s"));
  CHECK(run.passes == 1);
  static_cast<void>(
      run.selected("stack in (leaked) and stack in (size > 1) and not stack in a", {"a=leaked"}));
  CHECK(run.passes == 2);
  static_cast<void>(run.selected("stack in (stack in (leaked))"));
  CHECK(run.passes == 4);
}

TEST_CASE("what was not recorded is refused, not taken for nothing") {
  MadeRun run;
  run.addresses = run.free_stacks = false;
  for (const char* where : {"free.function ~ 'x'", "free.depth > 1", "free.stack in (leaked)"})
    CHECK_THROWS_WITH(run.selected(where), doctest::Contains("no stacks of frees"));
  CHECK_THROWS_WITH(run.selected("leaked and address > 0"),
                    "--where, column 12: the recording was made with --no-addresses\n"
                    "  leaked and address > 0\n             ^");
}
