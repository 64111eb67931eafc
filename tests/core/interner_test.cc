// SPDX-License-Identifier: BSD-2-Clause
#include "core/interner.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "core/merge_stacks.h"
#include "core/stack.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("strings are kept once and stay where they are") {
  StringTable table;
  CHECK(table.intern("") == StringId{});
  const StringId first = table.intern("main");
  const std::string_view view = table[first];
  for (int i = 0; i < 200000; ++i) {
    const std::string name = "f" + std::to_string(i);
    CHECK(table[table.intern(name)] == name);
  }
  CHECK(table.size() == 200002);
  CHECK(table.intern("main") == first);
  CHECK(table[first].data() == view.data());
  const StringId zero = table.intern(std::string_view("\0", 1));
  CHECK(table[zero].size() == 1);
  const std::string large(1 << 20, 'x');
  CHECK(table[table.intern(large)] == large);
  CHECK(table.intern("f199999") == StringId{200001});

  const StringTable moved = std::move(table);
  CHECK(moved[first].data() == view.data());
  StringTable copy = moved;
  CHECK(copy[first] == "main");
  CHECK(copy[first].data() != view.data());
  CHECK(copy.intern("f7") == StringId{9});
}

TEST_CASE("a table that was moved from is empty, and does not write into the moved texts") {
  StringTable table;
  const StringId first = table.intern("main");
  StringTable moved = std::move(table);
  CHECK(table.size() == 1);  // NOLINT(bugprone-use-after-move)
  const StringId other = table.intern("other");
  const StringId second = moved.intern("second");
  CHECK(table[other] == "other");
  CHECK(moved[first] == "main");
  CHECK(moved[second] == "second");
  table = std::move(moved);
  const StringId later = moved.intern("later");  // NOLINT(bugprone-use-after-move)
  table.intern("third");
  CHECK(moved[later] == "later");
  CHECK(table[first] == "main");
}

TEST_CASE("an index finds by equality among equal hashes") {
  HashIndex index;
  std::vector<int> values{0};
  const auto find = [&](uint64_t hash, int value) {
    return index.find(hash, [&](uint32_t id) { return values[id] == value; });
  };
  CHECK(find(1, 1) == 0);
  // All texts with one hash, then each with its own: no entry is lost while the table grows.
  for (int i = 1; i <= 300; ++i) {
    values.push_back(i);
    index.insert(i <= 100 ? ~uint64_t{0} : mix(static_cast<uint64_t>(i), 0),
                 static_cast<uint32_t>(i));
  }
  for (int i = 1; i <= 300; ++i)
    CHECK(find(i <= 100 ? ~uint64_t{0} : mix(static_cast<uint64_t>(i), 0), i) ==
          static_cast<uint32_t>(i));
  CHECK(find(~uint64_t{0}, 101) == 0);
}

TEST_CASE("a tree of stacks has callers before callees") {
  StackTable stacks;
  const StackId root = stacks.push({}, FrameId{1});
  const StackId child = stacks.push(root, FrameId{2});
  CHECK(stacks.push({}, FrameId{1}) == root);
  CHECK(stacks.push(root, FrameId{2}) == child);
  CHECK(stacks.push({}, FrameId{2}) != child);
  CHECK(stacks[child].caller == root);
  CHECK(root < child);
}

TEST_CASE("stacks that were appended are found by later pushes") {
  StackTable stacks;
  constexpr uint32_t count = 100;
  StackId last;
  for (uint32_t i = 1; i <= count; ++i) last = stacks.append(last, FrameId{i});
  StackId again;
  for (uint32_t i = 1; i <= count; ++i) again = stacks.push(again, FrameId{i});
  CHECK(again == last);
  CHECK(stacks.size() == count + 1);
  CHECK(stacks.push(again, FrameId{1}).index == count + 1);
}

TEST_CASE("stacks are found right after their callers and elsewhere") {
  StackTable stacks;
  const StackId main = stacks.push({}, FrameId{1}), first = stacks.push(main, FrameId{2});
  const StackId second = stacks.push(main, FrameId{3}), deeper = stacks.push(first, FrameId{2});
  CHECK(first.index == main.index + 1);
  CHECK(stacks.find(main, FrameId{2}) == first);
  CHECK(stacks.is_at(main.index + 1, main, FrameId{2}));
  CHECK(stacks.find(main, FrameId{3}) == second);
  CHECK(!stacks.is_at(main.index + 1, main, FrameId{3}));
  CHECK(stacks.likely(main, FrameId{3}) == second.index);
  CHECK(stacks.find(first, FrameId{2}) == deeper);
  CHECK(!stacks.find(second, FrameId{2}));
  CHECK(!stacks.find(deeper, FrameId{2}));
  CHECK(!stacks.is_at(stacks.size(), deeper, FrameId{2}));
}

TEST_CASE("a tree of stacks is the same whatever was appended and whatever was pushed") {
  // Numbers of callers and frames that have the same bits in other places.
  constexpr uint32_t count = 3000, frames = 60;
  std::map<std::pair<uint32_t, uint32_t>, StackId> known;
  StackTable stacks;
  uint64_t state = 1;
  for (uint32_t i = 0; i < count; ++i) {
    state = mix(state, i);
    const StackId caller{static_cast<uint32_t>(state % stacks.size())};
    const FrameId frame{static_cast<uint32_t>(1 + (state >> 32U) % frames)};
    StackId& id = known[{caller.index, frame.index}];
    if (!id && state % 3 == 0)
      id = stacks.append(caller, frame);
    else if (!id)
      id = stacks.push(caller, frame);
    REQUIRE(stacks.push(caller, frame) == id);
  }
  CHECK(stacks.size() == known.size() + 1);
  for (const auto& [node, id] : known)
    CHECK(stacks.find(StackId{node.first}, FrameId{node.second}) == id);
}

TEST_CASE("trees in one order merge, also where one has more") {
  // Three levels of frames 1 to 9; the other tree lacks each third stack and has frame 10.
  const auto tree = [](uint32_t last, uint32_t without) {
    StackTable stacks;
    for (uint32_t a = 1; a <= last; ++a)
      for (uint32_t b = 1; b <= last; ++b)
        for (uint32_t c = 1; c <= last; ++c)
          if (without == 0 || (a + b + c) % without != 0)
            stacks.push(stacks.push(stacks.push({}, FrameId{a}), FrameId{b}), FrameId{c});
    return stacks;
  };
  StackTable into = tree(9, 0);
  const StackTable from = tree(10, 3);
  std::vector<FrameId> same;
  for (uint32_t i = 0; i <= 10; ++i) same.push_back(FrameId{i});
  const size_t before = into.size();
  const std::vector<StackId> places = merge_stacks(into, from, same);
  size_t added = 0;
  for (uint32_t i = 1; i < from.size(); ++i) {
    const StackNode& node = from[StackId{i}];
    CHECK(into[places[i]] == StackNode{places[node.caller.index], node.frame});
    CHECK(into.push(places[node.caller.index], node.frame) == places[i]);
    added += places[i].index >= before ? 1U : 0U;
  }
  CHECK(into.size() == before + added);
}

TEST_CASE("stacks merge where they are the same, also when frames become one") {
  StackTable into, from;
  const StackId main = into.push({}, FrameId{1}), f = into.push(main, FrameId{2});
  from.push(from.push(from.push({}, FrameId{1}), FrameId{2}), FrameId{3});
  from.push(from.push({}, FrameId{2}), FrameId{3});
  from.push(StackId{1}, FrameId{3});

  StackTable plain = into;
  std::vector<StackId> places = merge_stacks(plain, from, {{}, FrameId{1}, FrameId{2}, FrameId{3}});
  CHECK(places[1] == main);
  CHECK(places[2] == f);
  CHECK(plain.size() == 7);  // main;f;g, f, f;g and main;g are new
  CHECK(plain.push(f, FrameId{3}) == places[3]);
  CHECK(plain.push(places[4], FrameId{3}) == places[5]);
  CHECK(plain.size() == 7);

  // Frame g becomes f here: main;g becomes main;f, and f;g becomes f;f.
  places = merge_stacks(into, from, {{}, FrameId{1}, FrameId{2}, FrameId{2}});
  CHECK(places[6] == f);
  CHECK(into.size() == 6);
  CHECK(into.push(f, FrameId{2}) == places[3]);

  // main;f and main;g, which are both new here, become one stack.
  StackTable empty;
  places = merge_stacks(empty, from, {{}, FrameId{1}, FrameId{4}, FrameId{4}});
  CHECK(places[2] == places[6]);
  CHECK(empty.size() == 6);
}
