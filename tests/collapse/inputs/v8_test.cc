// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string frame(const std::string& function, const std::string& url, int line) {
  return R"("callFrame":{"functionName":")" + function + R"(","scriptId":"7","url":")" + url +
         R"(","lineNumber":)" + std::to_string(line) + R"(,"columnNumber":2})";
}

const std::string profile =
    "{\"head\":{" + frame("(root)", "", -1) + ",\"selfSize\":0,\"id\":1,\"children\":[{" +
    frame("main", "/app/a.js", 9) + ",\"selfSize\":100,\"id\":2,\"children\":[{\"children\":[]," +
    frame("", "/app/b.js", 4) + ",\"selfSize\":5000000000,\"id\":3},{" + frame("", "", -1) +
    ",\"selfSize\":7,\"id\":4,\"children\":[]}]},{" + frame("main", "/app/other.js", 1) +
    ",\"selfSize\":1,\"id\":5,\"children\":[]}]}" +
    ",\"samples\":[{\"size\":50,\"nodeId\":3,\"ordinal\":1},{\"size\":50,\"nodeId\":3},"
    "{\"size\":1,\"nodeId\":5}]}";

const std::string meta =
    R"({"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count",)"
    R"("trace_node_id","detachedness"],"node_types":[["hidden"],"string"],)"
    R"("trace_function_info_fields":["function_id","name","script_name","script_id","line","column"],)"
    R"("trace_node_fields":["id","function_info_index","count","size","children"]},)"
    R"("node_count":3,"edge_count":0},)";
const std::string functions = R"("trace_function_infos":[0,1,0,0,0,0,9,2,3,5,12,1,9,0,4,5,33,1],)";
const std::string strings = R"("strings":["",)" + std::string("\"(root)\"") +
                            R"(,"make","file:///app/a.js","b.js","unused"]})";
const std::string objects =
    R"("nodes":[1,0,1,40,0,2,0, 1,0,3,5000000000,0,3,0, 1,0,5,0,0,0,0, 1,0,7,8,0,0,0, 1,0,9,2,0,2,0],)";
const std::string tree =
    R"("trace_tree":[1,0,0,0,[2,1,10,400,[3,2,1,5000000000,[]],4,2,2,16,[]]],)";

const std::string snapshot = meta + objects + R"("edges":[1,2,3],)" + functions + tree +
                             R"("samples":[0,9],"locations":[],)" + strings;

bool has_note(const Profile& p, std::string_view part) {
  return std::any_of(p.meta.notes.begin(), p.meta.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("v8-heapprofile: the tree's own sizes and the samples behind them") {
  CHECK(recognised(profile) == "v8-heapprofile");
  const Profile p = read_text(profile);
  CHECK(stacks(p) ==
        Stacks{{"main;(anonymous b.js:5)", 5000000000}, {"main;(anonymous)", 7}, {"main", 101}});
  CHECK(p.touched().size() == 4);  // main of a.js and of other.js are two
  CHECK(stacks(p, "samples") == Stacks{{"main;(anonymous b.js:5)", 2}, {"main", 1}});
  CHECK(p.types[p.shown] == ValueType{"inuse_space", Unit::bytes});
  CHECK(p.strings[p.frames[p.path(p.touched()[0])[0]].module] == "/app/a.js");
  CHECK(p.frames[p.path(p.touched()[0])[0]].line == 0);
  CHECK_FALSE(p.meta.sampling.empty());
  CHECK(p.losses.lost_events() == 0);
  ReadOptions options;
  options.lines = true;
  const Profile lines = read_text(profile, {}, options);
  const Frame& main = lines.frames[lines.path(lines.touched()[0])[0]];
  CHECK(main.line == 10);
  CHECK(lines.strings[main.file] == "/app/a.js");
}

TEST_CASE("v8-heapprofile: depth, damage and hostile numbers") {
  std::string deep =
      "{\"head\":{\"callFrame\":{\"functionName\":\"(root)\"},\"selfSize\":2,\"children\":[";
  constexpr size_t levels = 50000;
  for (size_t i = 0; i < levels; ++i) deep += "{\"selfSize\":1,\"children\":[";
  const std::string cut = deep;
  for (size_t i = 0; i < levels; ++i) deep += "]}";
  deep += "]}}";
  const Profile p = read_text(deep);
  CHECK(p.total(0) == static_cast<int64_t>(levels) + 2);
  CHECK(p.path(p.touched().back()).size() == levels);
  // Not by stacks(): the names of all these paths would be gigabytes.
  int64_t root = 0;
  for (const StackId stack : p.touched())
    if (p.strings[p.frames[p.stacks[stack].frame].function] == "(root)") root = p.values(stack)[0];
  CHECK(root == 2);
  CHECK(error_of(cut).find("ends in the middle") != std::string::npos);

  const auto with = [](const std::string& field) {
    return "{\"head\":{\"callFrame\":{\"functionName\":\"f\"}," + field + "}}";
  };
  CHECK(error_of(with("\"selfSize\":9223372036854775808")).find("64 bits") != std::string::npos);
  CHECK(error_of(with("\"children\":7")).find("not a list") != std::string::npos);
  CHECK(error_of(with("\"children\":[7]")).find("not a node") != std::string::npos);
  CHECK(error_of("{\"head\":{\"selfSize\":1,\"callFrame\":[]}}").find("not an object") !=
        std::string::npos);
  CHECK(error_of("{}", "v8-heapprofile").find("\"head\" is missing") != std::string::npos);
  CHECK(error_of(with("\"selfSize\":1.5")).find("not an integer") != std::string::npos);
  const Profile lost = read_text(
      "{\"head\":{\"callFrame\":{},\"selfSize\":1},\"samples\":[{\"nodeId\":77},{\"x\":1}]}");
  CHECK(stacks(lost, "samples") == Stacks{{"[not in the tree]", 1}});
  CHECK(has_note(lost, "1 sample is of a stack that is not in the file"));
  CHECK(lost.losses.lost_events() == 0);
}

TEST_CASE("v8-heap: living objects and all allocations by stack") {
  CHECK(recognised(snapshot) == "v8-heap");
  const Profile p = read_text(snapshot);
  const std::string inner = "make;(anonymous b.js:33)";
  CHECK(stacks(p) == Stacks{{"make", 42}, {inner, 5000000000}, {"[no allocation stack]", 8}});
  CHECK(stacks(p, "inuse_objects") ==
        Stacks{{"make", 2}, {inner, 1}, {"[no allocation stack]", 1}});
  CHECK(stacks(p, "alloc_space") ==
        Stacks{{"make", 400}, {inner, 5000000000}, {"(anonymous b.js:33)", 16}});
  CHECK(stacks(p, "alloc_objects") == Stacks{{"make", 10}, {inner, 1}, {"(anonymous b.js:33)", 2}});
  CHECK(p.types[p.shown] == ValueType{"inuse_space", Unit::bytes});
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE("v8-heap: without allocation stacks it says how to get them") {
  const std::string plain = meta +
                            R"("nodes":[1,0,1,40,0,0,0],"edges":[],"trace_function_infos":[],)"
                            R"("trace_tree":[],"samples":[],"strings":["a"]})";
  CHECK(error_of(plain).find("no allocation stacks") != std::string::npos);
  CHECK(error_of(plain).find("trackAllocations") != std::string::npos);
}

TEST_CASE("v8-heap: damaged and hostile input") {
  const Profile p = read_text(meta + R"("nodes":[1,0,1,40,0,77,0,3],)" + functions +
                              R"("trace_tree":[1,0,0,0,[2,99,10,400,[]]],)" + strings);
  CHECK(stacks(p) == Stacks{{"[no allocation stack]", 40}});
  CHECK(stacks(p, "alloc_space") == Stacks{{"(anonymous)", 400}});
  CHECK(p.losses[Loss::input_line].events == 3);
  const auto with_tree = [](const std::string& text) {
    return error_of(meta + objects + functions + "\"trace_tree\":" + text + "," + strings);
  };
  for (const char* text : {"[1,0,0,0,[2,1]]", "[[]]", "[1,0,0,0,5]", "[1,0,0,0,[],[]]", "7",
                           "[1,0,\"x\"]", "[1.5]", "[1,0,0,0"})
    CHECK_MESSAGE(!with_tree(text).empty(), text);
  CHECK(with_tree("[1,0,0,99999999999999999999,[]]").find("64 bits") != std::string::npos);
  CHECK(error_of(R"({"snapshot":{"meta":{}},"nodes":[1]})").find("\"self_size\"") !=
        std::string::npos);
  CHECK(error_of(meta + R"("nodes":[1,0,1,9223372036854775807,0,1,0,1,0,1,1,0,1,0]})")
            .find("64 bits") != std::string::npos);
  CHECK(error_of(meta + tree + strings).find("strings come before") != std::string::npos);
  const std::string deep = [] {
    std::string text = "[1,0,0,0,[";
    for (int i = 2; i < 50000; ++i) text += std::to_string(i) + ",1,1,1,[";
    return text + std::string(50000, ']');
  }();
  const Profile q =
      read_text(meta + objects + functions + "\"trace_tree\":" + deep + "," + strings);
  CHECK(q.total(column(q, "alloc_space")) == 50000 - 2);
}

TEST_CASE("v8: public samples") {
  const auto folder = corpus("v8");
  if (!folder) return;
  const std::string text = file_text(*folder / "node-10.heapprofile");
  CHECK(text.size() == 13731);
  CHECK(recognised(text) == "v8-heapprofile");
  const Profile p = read_text(text);
  CHECK(p.total(0) == 525704);
  CHECK(p.touched().size() == 11);
  CHECK(p.types.size() == 1);
  const Stacks all = stacks(p);
  const auto leaf = [&](std::string_view name) {
    for (const auto& [path, bytes] : all)
      if (path.ends_with(name)) return bytes;
    return int64_t{0};
  };
  CHECK(leaf(";pmessageHandler") == 164072);
  CHECK(leaf(";cloneObject;cloneArray") == 65568);
  CHECK(leaf("forEach;(anonymous document.js:1849)") == 32800);
  CHECK(p.losses.lost_events() == 0);
}
