// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/fold/fold.h"

#include <doctest/doctest.h>

#include <random>

#include "core/own_agent.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// A recording with names but without files: location n is function "f<n>".
struct Maker {
  Maker() {
    recording.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
    Space& space = recording.spaces.emplace_back();
    space.pid = 812;
    space.comm = "redis-server";
  }

  LocationId location(const std::string& function, FrameKind kind = FrameKind::user,
                      bool is_code = true) {
    Location& made = recording.locations.emplace_back();
    made.is_code = is_code;
    made.symbols = {{.function = function, .file = "a.c", .line = 7, .kind = kind, .module = "m"}};
    return LocationId{static_cast<uint32_t>(recording.locations.size() - 1)};
  }

  // Changes the only symbol of a location.
  template <class Change>
  void change(LocationId id, Change change) {
    Symbol symbol = recording.locations[id.index].symbols.front();
    change(symbol);
    recording.locations[id.index].symbols = {symbol};
  }

  // Leaf first, like a capture.
  RawStackId stack(std::vector<LocationId> leaf_first, StopReason stop = StopReason::complete) {
    RawStack& made = recording.stacks.emplace_back();
    made.space = SpaceId{1};
    made.stop = stop;
    for (size_t i = 0; i < leaf_first.size(); ++i) made.pcs.push_back({4096 + i, i != 0});
    recording.frames.resize(recording.stacks.size());
    recording.frames.back() = std::move(leaf_first);
    return RawStackId{static_cast<uint32_t>(recording.stacks.size() - 1)};
  }

  void add(RawStackId stack, int64_t bytes, int64_t calls = 1, const std::string& group = "") {
    recording.sums.push_back({stack, group, {bytes, calls}, calls});
  }

  Recording recording;
};

std::string text_of(const Profile& profile, StackId stack) {
  std::string text;
  for (const FrameId id : profile.path(stack)) {
    if (!text.empty()) text += ";";
    text += profile.strings[profile.frames[id].function];
  }
  return text;
}

// "a;b 10" per stack, in order of adding.
std::vector<std::string> lines(const Profile& profile, size_t column = 0) {
  std::vector<std::string> all;
  for (const StackId stack : profile.touched())
    all.push_back(text_of(profile, stack) + " " + std::to_string(profile.values(stack)[column]));
  return all;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("process, group, then the frames from the root on") {
  Maker m;
  const LocationId leaf = m.location("malloc"), mid = m.location("work"), root = m.location("main");
  const RawStackId stack = m.stack({leaf, mid, root});
  m.add(stack, 100, 2);
  m.add(stack, 30, 1, "[anon]");
  m.recording.meta.title = "t";
  m.recording.losses.add(Loss::ring_full, 3);
  m.recording.shown = 1;
  const Profile profile = fold(m.recording, {});
  CHECK(lines(profile) ==
        Lines{"redis-server;main;work;malloc 100", "redis-server;[anon];main;work;malloc 30"});
  CHECK(profile.types == m.recording.types);
  CHECK(profile.shown == 1);
  CHECK(profile.meta.title == "t");
  CHECK(profile.losses[Loss::ring_full].events == 3);
  const std::vector<FrameId> path = profile.path(profile.touched()[1]);
  CHECK(profile.frames[path[0]].kind == FrameKind::process);
  CHECK(profile.frames[path[1]].kind == FrameKind::note);
  CHECK(profile.frames[path[2]].kind == FrameKind::user);
  CHECK(profile.strings[profile.frames[path[2]].module] == "m");
}

TEST_CASE("a caller learns which stack each sum became") {
  Maker m;
  const LocationId leaf = m.location("malloc"), root = m.location("main");
  m.add(m.stack({leaf, root}), 100);
  m.add(m.stack({root}), 0, 0);
  m.add(m.stack({leaf, root}), 7);
  std::vector<StackId> stack_of_sum{StackId{99}};
  const Profile profile = fold(m.recording, {}, &stack_of_sum);
  REQUIRE(stack_of_sum.size() == 3);
  CHECK(text_of(profile, stack_of_sum[0]) == "redis-server;main;malloc");
  CHECK(text_of(profile, stack_of_sum[1]) == "redis-server;main");
  CHECK(stack_of_sum[2] == stack_of_sum[0]);
  CHECK(lines(profile) == Lines{"redis-server;main;malloc 107"});
}

TEST_CASE("inlined functions are frames of their own, below their caller") {
  Maker m;
  const LocationId place = m.location("outer");
  SymbolList& symbols = m.recording.locations[place.index].symbols;
  symbols = {
      symbols.front(),
      {.function = "inner", .file = "b.c", .line = 3, .kind = FrameKind::inlined, .module = "m"}};
  m.add(m.stack({m.location("malloc"), place}), 5);
  const Profile profile = fold(m.recording, {});
  CHECK(lines(profile) == Lines{"redis-server;outer;inner;malloc 5"});
  CHECK(profile.frames[profile.path(profile.touched()[0])[2]].kind == FrameKind::inlined);
}

TEST_CASE("frames of memflame's own agent are in no picture") {
  const std::string hash = "0123456789abcdef";
  for (const std::string& agent : {"/var/cache/memflame/inside-" + hash + ".so",
                                   "/memfd:memflame-agent-" + hash + " (deleted)"}) {
    Maker maker;
    const LocationId hook = maker.location("malloc_slowly(unsigned long)");
    maker.change(hook, [&](Symbol& symbol) { symbol.module = agent; });
    maker.add(maker.stack({maker.location("malloc"), hook, maker.location("leak")}), 5);
    CHECK(lines(fold(maker.recording, {})) == Lines{"redis-server;leak;malloc 5"});
  }
  for (const std::string& other :
       Lines{"/srv/inside-" + hash + ".so", "/var/cache/memflame/inside-out.so",
             "/opt/memflame/libx.so", "/memfd:memflame-agent-me"})
    CHECK_FALSE(is_own_agent(other));
}

TEST_CASE("functions of an interpreter stand behind its loop, before what was inlined into it") {
  Maker m;
  const LocationId loop = m.location("loop");
  SymbolList& symbols = m.recording.locations[loop.index].symbols;
  symbols = {
      symbols.front(),
      {.function = "append", .file = "b.c", .line = 3, .kind = FrameKind::inlined, .module = "m"}};
  const RawStackId stack = m.stack({m.location("malloc"), m.location("g (a.py:2)"),
                                    m.location("f (a.py:1)"), loop, m.location("main")});
  m.recording.scripts.emplace_back().language = Language::python;
  for (const size_t i : {size_t{1}, size_t{2}})
    m.recording.stacks[stack.index].pcs[i] = script_pc(1, 0);
  m.add(stack, 5);
  CHECK(lines(fold(m.recording, {})) ==
        Lines{"redis-server;main;loop;f (a.py:1);g (a.py:2);append;malloc 5"});
  // Compiled functions have frames of their own.
  m.recording.scripts.back().language = Language::javascript;
  CHECK(lines(fold(m.recording, {})) ==
        Lines{"redis-server;main;loop;append;f (a.py:1);g (a.py:2);malloc 5"});
}

TEST_CASE("code that -X perf makes for each function of Python is not a second function") {
  Maker m;
  const LocationId made = m.location("py::f:/srv/a.py");
  m.recording.locations[made.index].symbols = {
      {.function = "py::f:/srv/a.py", .file = "", .line = 0, .kind = FrameKind::jit, .module = ""}};
  const RawStackId stack =
      m.stack({m.location("malloc"), m.location("f (a.py:1)"), m.location("loop"), made});
  m.add(stack, 5);
  CHECK(lines(fold(m.recording, {})) ==
        Lines{"redis-server;py::f:/srv/a.py;loop;f (a.py:1);malloc 5"});
  m.recording.scripts.emplace_back().language = Language::python;
  m.recording.stacks[stack.index].pcs[1] = script_pc(1, 0);
  CHECK(lines(fold(m.recording, {})) == Lines{"redis-server;loop;f (a.py:1);malloc 5"});
}

TEST_CASE("places can share their symbols; only their code keeps them apart") {
  Maker m;
  const LocationId one = m.location("f"), two = m.location("f");
  m.recording.locations[two.index].symbols = m.recording.locations[one.index].symbols;
  m.add(m.stack({one}), 5);
  m.add(m.stack({two}), 7);
  CHECK(lines(fold(m.recording, {})) == Lines{"redis-server;f 12"});
  m.recording.code_of = {{}, CodeId{1}, CodeId{2}};
  CHECK(lines(fold(m.recording, {.code = true})) == Lines{"redis-server;f 5", "redis-server;f 7"});
}

TEST_CASE("other sums than the recording's own") {
  Maker m;
  const RawStackId f = m.stack({m.location("f")}), g = m.stack({m.location("g")});
  m.add(f, 5);
  std::vector<StackId> stacks;
  const std::vector<Aggregate> sums{{g, "", {7, 1}, 1}};
  const Profile profile = fold(m.recording, sums, {}, &stacks);
  CHECK(lines(profile) == Lines{"redis-server;g 7"});
  CHECK(stacks.size() == 1);
}

TEST_CASE("recursion is kept") {
  Maker m;
  const LocationId f = m.location("f");
  m.add(m.stack({f, f, f}), 5);
  CHECK(lines(fold(m.recording, {})) == Lines{"redis-server;f;f;f 5"});
}

TEST_CASE("lines and pids, when asked for") {
  Maker m;
  const LocationId one = m.location("f"), two = m.location("f");
  m.change(two, [](Symbol& symbol) { symbol.line = 8; });
  m.recording.spaces.push_back(m.recording.spaces[1]);
  m.recording.spaces[2].pid = 813;
  m.add(m.stack({one}), 5);
  const RawStackId other = m.stack({two});
  m.recording.stacks[other.index].space = SpaceId{2};
  m.add(other, 7);
  CHECK(lines(fold(m.recording, {})) == Lines{"redis-server;f 12"});
  CHECK(lines(fold(m.recording, {.pid = true})) ==
        Lines{"redis-server (pid 812);f 5", "redis-server (pid 813);f 7"});
  const Profile by_line = fold(m.recording, {.lines = true});
  CHECK(lines(by_line) == Lines{"redis-server;f 5", "redis-server;f 7"});
  const Frame& frame = by_line.frames[by_line.path(by_line.touched()[1]).back()];
  CHECK(frame.line == 8);
  CHECK(by_line.strings[frame.file] == "a.c");
}

TEST_CASE("processes without a name, and values without a process") {
  Maker m;
  m.recording.spaces[1].comm.clear();
  const RawStackId stack = m.stack({m.location("f")}), none = m.stack({m.location("g")});
  m.recording.stacks[none.index].space = {};
  const RawStackId nothing = m.stack({});
  m.recording.stacks[nothing.index].space = {};
  m.add(stack, 1);
  m.add(none, 2);
  m.add(nothing, 3);
  CHECK(lines(fold(m.recording, {.pid = true})) == Lines{"[pid 812];f 1", "g 2", "[no stack] 3"});
}

TEST_CASE("what a stack ends in is a frame on top of its code") {
  Maker m;
  const RawStackId code = m.stack({m.location("kmalloc", FrameKind::kernel)});
  const RawStackId none = m.stack({});
  m.recording.stacks[code.index].leaf = "[kmalloc-64]";
  m.recording.stacks[none.index].leaf = "[slab dentry]";
  m.recording.stacks[code.index].space = m.recording.stacks[none.index].space = SpaceId{};
  m.add(code, 64);
  m.add(none, 192, 1, "[slab]");
  const Profile profile = fold(m.recording, {});
  CHECK(lines(profile) == Lines{"kmalloc;[kmalloc-64] 64", "[slab];[slab dentry] 192"});
  CHECK(profile.frames[profile.path(profile.touched()[0]).back()].kind == FrameKind::note);
}

TEST_CASE("what has no stack keeps its bytes under its note") {
  Maker m;
  const RawStackId lost = m.stack({});
  m.recording.stacks[lost.index].note = "[lost: ring buffer full]";
  m.add(lost, 77);
  m.add(lost, 3, 1, "[file]");
  const Profile profile = fold(m.recording, {});
  CHECK(lines(profile) == Lines{"redis-server;[lost: ring buffer full] 77",
                                "redis-server;[file];[lost: ring buffer full] 3"});
  CHECK(profile.frames[profile.path(profile.touched()[0]).back()].kind == FrameKind::note);
}

TEST_CASE("stacks that end early say so, and are counted with all their events and bytes") {
  Maker m;
  const LocationId f = m.location("f");
  const RawStackId deep = m.stack({f}, StopReason::too_deep);
  m.add(deep, 100, 3);
  m.add(deep, 11, 1, "[anon]");
  m.add(m.stack({f}, StopReason::no_frame_pointer), 20);
  m.add(m.stack({f}, StopReason::no_frame_pointer), 21);
  m.add(m.stack({f}, StopReason::unreadable), 30);
  const Profile profile = fold(m.recording, {});
  CHECK(lines(profile) == Lines{"redis-server;[truncated: too deep];f 100",
                                "redis-server;[anon];[truncated: too deep];f 11",
                                "redis-server;[truncated: no frame pointer];f 41",
                                "redis-server;[truncated: stack memory not readable];f 30"});
  CHECK(profile.losses[Loss::truncated_too_deep].events == 4);
  CHECK(profile.losses[Loss::truncated_too_deep].bytes == 111);
  CHECK(profile.losses[Loss::truncated_no_frame_pointer].events == 2);
  CHECK(profile.losses[Loss::truncated_no_frame_pointer].bytes == 41);
  CHECK(profile.losses[Loss::truncated_unreadable].events == 1);
  // No byte is missing, but a strict run fails.
  CHECK(profile.losses.lost_events() == 0);
  CHECK(profile.losses.sum(LossKind::cut).events == 7);
  CHECK(profile.losses.sum(LossKind::cut).bytes == 182);
  CHECK(profile.losses.any());
}

TEST_CASE("a stack down to main, or to a thread's start, is complete") {
  for (const char* first : {"main", "__libc_start_call_main", "start_thread", "_start"}) {
    Maker m;
    const LocationId f = m.location("f");
    const LocationId bottom = m.location(first);
    const LocationId garbage = m.location("[unmapped 0x1]", FrameKind::unknown, false);
    m.add(m.stack({f, bottom}, StopReason::no_frame_pointer), 3);
    m.add(m.stack({f, bottom, garbage}, StopReason::no_frame_pointer), 4);
    m.add(m.stack({bottom, f}, StopReason::no_frame_pointer), 5);
    const Profile profile = fold(m.recording, {});
    const std::string bottom_name = first;
    CHECK(lines(profile) ==
          std::vector<std::string>{
              "redis-server;" + bottom_name + ";f 7",
              "redis-server;[truncated: no frame pointer];f;" + bottom_name + " 5"});
    CHECK(profile.losses[Loss::truncated_no_frame_pointer].events == 1);
    CHECK(profile.losses[Loss::truncated_not_code].events == 0);
  }
}

TEST_CASE("bytes of a loss: pages are turned into bytes, plain counts have none") {
  Maker m;
  m.recording.types[0].unit = Unit::pages;
  m.add(m.stack({m.location("f")}, StopReason::too_deep), 3, 9);
  CHECK(fold(m.recording, {}).losses[Loss::truncated_too_deep].bytes == 3 * 4096);
  m.recording.shown = 1;
  CHECK(fold(m.recording, {}).losses[Loss::truncated_too_deep].bytes == 0);
  CHECK(fold(m.recording, {}).losses[Loss::truncated_too_deep].events == 9);
}

TEST_CASE("garbage behind a frame without frame pointer is cut off where it is not code") {
  Maker m;
  const LocationId f = m.location("f"), g = m.location("g"), main = m.location("main");
  const LocationId junk = m.location("[unmapped 0x7ffc]", FrameKind::unknown, false);
  m.add(m.stack({f, g, junk, main, junk}), 10);
  m.add(m.stack({f, junk}, StopReason::too_deep), 20);  // the cut explains more than the depth
  const Profile profile = fold(m.recording, {});
  CHECK(lines(profile) == Lines{"redis-server;[truncated: return address is not code];g;f 10",
                                "redis-server;[truncated: return address is not code];f 20"});
  CHECK(profile.losses[Loss::truncated_not_code].events == 2);
  CHECK(profile.losses[Loss::truncated_not_code].bytes == 30);
  CHECK(profile.losses[Loss::truncated_too_deep].events == 0);
}

TEST_CASE("the leaf, in the kernel and in the program, was not read from the stack") {
  Maker m;
  const LocationId kernel = m.location("handle_mm_fault", FrameKind::kernel);
  const LocationId junk = m.location("[unmapped 0x10]", FrameKind::unknown, false);
  const LocationId main = m.location("main");
  m.add(m.stack({junk, main}), 1);
  const RawStackId both = m.stack({kernel, kernel, junk, main});
  m.recording.stacks[both.index].kernel_pcs = 2;
  m.recording.stacks[both.index].pcs[2].is_return = false;
  m.add(both, 2);
  const Profile profile = fold(m.recording, {});
  CHECK(lines(profile) ==
        Lines{"redis-server;main;[unmapped 0x10] 1",
              "redis-server;main;[unmapped 0x10];handle_mm_fault;handle_mm_fault 2"});
  CHECK(profile.losses[Loss::truncated_not_code].events == 0);
}

TEST_CASE("damaged recordings are refused") {
  Maker m;
  m.add(RawStackId{99}, 1);
  CHECK_THROWS_AS(fold(m.recording, {}), Error);
  Maker not_symbolized;
  not_symbolized.add(not_symbolized.stack({not_symbolized.location("f")}), 1);
  not_symbolized.recording.frames.clear();
  CHECK_THROWS_AS(fold(not_symbolized.recording, {}), Error);
  Maker place;
  place.add(place.stack({LocationId{99}}), 1);
  CHECK_THROWS_AS(fold(place.recording, {}), Error);
  Maker columns;
  columns.recording.sums.push_back({columns.stack({columns.location("f")}), "", {1}});
  CHECK_THROWS_AS(fold(columns.recording, {}), Error);
}

TEST_CASE("the total of every column is that of the recording, whatever the stacks are") {
  std::mt19937_64 random(99);
  for (int round = 0; round < 50; ++round) {
    Maker m;
    std::vector<LocationId> places;
    places.reserve(12);
    for (int i = 0; i < 12; ++i)
      places.push_back(m.location("f" + std::to_string(i), FrameKind::user, random() % 8 != 0));
    std::vector<RawStackId> stacks;
    for (int i = 0; i < 40; ++i) {
      std::vector<LocationId> leaf_first;
      for (uint64_t depth = random() % 6; depth > 0; --depth)
        leaf_first.push_back(places[random() % places.size()]);
      stacks.push_back(m.stack(leaf_first, static_cast<StopReason>(random() % 4)));
      RawStack& stack = m.recording.stacks[stacks.back().index];
      if (random() % 10 == 0) stack.note = "[lost: something]";
      if (random() % 10 == 0) stack.space = {};
      stack.kernel_pcs = static_cast<uint32_t>(random() % 3);
    }
    int64_t bytes = 0, calls = 0;
    for (int i = 0; i < 200; ++i) {
      const int64_t value = static_cast<int64_t>(random() % 100000) - 40000;
      const int64_t count = static_cast<int64_t>(random() % 3);
      m.add(stacks[random() % stacks.size()], value, count, random() % 4 == 0 ? "[anon]" : "");
      bytes += value;
      calls += count;
    }
    const Profile profile = fold(m.recording, {.pid = random() % 2 == 0});
    CHECK(profile.total(0) == bytes);
    CHECK(profile.total(1) == calls);
  }
}

TEST_CASE("variances are carried along and add up; they are nobody's bytes") {
  Maker m;
  m.recording.types = {{"gained", Unit::pages, 1, 4.0}, {"gained variance", Unit::variance}};
  m.recording.meta.sampling = "1 in 97 faults";
  const LocationId leaf = m.location("f"), root = m.location("main");
  // Two stacks of addresses that read the same.
  m.add(m.stack({leaf, root}), 97, 9);
  m.add(m.stack({leaf, root}), 97, 16);
  m.add(m.stack({leaf}, StopReason::unreadable), 97, 144);
  const Profile profile = fold(m.recording, {});
  CHECK(profile.types == m.recording.types);
  CHECK(profile.meta.sampling == "1 in 97 faults");
  CHECK(lines(profile, 1)[0] == "redis-server;main;f 25");
  CHECK(profile.total_error(0) == 26);
  CHECK(profile.losses[Loss::truncated_unreadable].bytes == 97 * 4096);
}

TEST_CASE("fold: allocators that have a function of one name are told apart by their files") {
  Maker maker;
  const auto in = [&](const std::string& function, const std::string& module) {
    const LocationId id = maker.location(function);
    maker.change(id, [&](Symbol& symbol) { symbol.module = module; });
    return id;
  };
  const LocationId main = maker.location("main");
  const LocationId ours = in("malloc", "/usr/lib/libc.so.6");
  const LocationId other = in("malloc", "/usr/lib/libmimalloc.so.2.0");
  const LocationId other_new = in("operator new(unsigned long)", "/usr/lib/libmimalloc.so.2.0");
  const LocationId own = in("mi_zalloc", "/usr/lib/libmimalloc.so.2.0");
  maker.recording.shared_names = {"malloc", "_Znwm"};
  maker.add(maker.stack({ours, main}), 1);
  CHECK(lines(fold(maker.recording, {})) ==
        std::vector<std::string>{"redis-server;main;malloc 1"});  // only one has figures
  maker.add(maker.stack({other, main}), 2);
  maker.add(maker.stack({other_new, main}), 4);
  maker.add(maker.stack({own, main}), 8);
  maker.add(maker.stack({main, other, main}), 16);  // not a leaf: the program's stack tells
  CHECK(lines(fold(maker.recording, {})) ==
        std::vector<std::string>{"redis-server;main;malloc [libc.so.6] 1",
                                 "redis-server;main;malloc [libmimalloc.so.2.0] 2",
                                 std::string("redis-server;main;operator new(unsigned long) ") +
                                     "[libmimalloc.so.2.0] 4",
                                 "redis-server;main;mi_zalloc 8",
                                 "redis-server;main;malloc;main 16"});
  maker.recording.shared_names.clear();
  CHECK(lines(fold(maker.recording, {}))[0] == "redis-server;main;malloc 1");
}

TEST_CASE("what goes on above a stack follows its leaf") {
  Maker maker;
  const LocationId root = maker.location("main"), allocates = maker.location("allocate"),
                   touches = maker.location("touch");
  const RawStackId below = maker.stack({allocates, root});
  const RawStackId above = maker.stack({touches, root});
  const RawStackId cut = maker.stack({touches}, StopReason::too_deep);
  maker.recording.sums = {{below, "", {10, 1}, 1},
                          {below, "", {20, 0}, 0, "[first touched by]", above},
                          {below, "", {30, 0}, 0, "[first touched by]", cut},
                          {below, "", {40, 0}, 0, "[never touched]"}};
  std::vector<StackId> stacks;
  const Profile profile = fold(maker.recording, {}, &stacks);
  REQUIRE(stacks.size() == 4);
  CHECK(text_of(profile, stacks[0]) == "redis-server;main;allocate");
  CHECK(text_of(profile, stacks[1]) == "redis-server;main;allocate;[first touched by];main;touch");
  CHECK(text_of(profile, stacks[2])
            .starts_with("redis-server;main;allocate;[first touched by];[truncated: "));
  CHECK(text_of(profile, stacks[3]) == "redis-server;main;allocate;[never touched]");
  CHECK(profile.values(stacks[0])[0] == 10);
  CHECK(profile.total(0) == 100);

  maker.recording.sums[1].above = RawStackId{99};
  CHECK_THROWS_AS(fold(maker.recording, {}), Error);
}
