// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

const std::string names =
    ",\"ftbl\":[\"[root]\",\"0x48: malloc (in /lib/dhat.so)\",\"0x10: small (a.c:5)\","
    "\"0x10: make (a.c:9)\",\"0x20: main (a.c:7)\",\"0x30: ??? (in /lib/libx.so)\"]}";

const std::string heap =
    "{\"dhatFileVersion\":2\n,\"mode\":\"heap\",\"verb\":\"Allocated\"\n,\"bklt\":true,\"bkacc\":"
    "true"
    ",\"tu\":\"instrs\",\"Mtu\":\"Minstr\",\"tuth\":500,\"cmd\":\"./a "
    "-x\",\"pid\":21377,\"te\":1596,"
    "\"tg\":1533,\"pps\":[{\"tb\":7000,\"tbk\":7,\"tl\":101626,\"mb\":6000,\"mbk\":6,\"gb\":5000,"
    "\"gbk\":5,\"eb\":4000,\"ebk\":4,\"rb\":100,\"wb\":50,\"acc\":[-100,1,-900,0],\"fs\":[1,2,3,4]}"
    ","
    "{\"tb\":10,\"tbk\":1,\"tl\":9,\"mb\":10,\"mbk\":1,\"gb\":0,\"gbk\":0,\"eb\":10,\"ebk\":1,"
    "\"rb\":0,\"wb\":10,\"fs\":[1,5]}]" +
    names;

bool has_note(const Profile& p, std::string_view part) {
  return std::any_of(p.meta.notes.begin(), p.meta.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("dhat: all figures of a stack") {
  CHECK(recognised(heap) == "dhat");
  const Profile p = read_text(heap);
  const std::string first = "main;make;small;malloc", second = "[libx.so];malloc";
  CHECK(stacks(p) == Stacks{{first, 5000}});
  CHECK(p.types[p.shown] == ValueType{"peak", Unit::bytes});
  CHECK(stacks(p, "total") == Stacks{{first, 7000}, {second, 10}});
  CHECK(stacks(p, "total_blocks") == Stacks{{first, 7}, {second, 1}});
  CHECK(stacks(p, "max") == Stacks{{first, 6000}, {second, 10}});
  CHECK(stacks(p, "max_blocks") == Stacks{{first, 6}, {second, 1}});
  CHECK(stacks(p, "peak_blocks") == Stacks{{first, 5}});
  CHECK(stacks(p, "end") == Stacks{{first, 4000}, {second, 10}});
  CHECK(stacks(p, "end_blocks") == Stacks{{first, 4}, {second, 1}});
  CHECK(stacks(p, "read") == Stacks{{first, 100}});
  CHECK(stacks(p, "written") == Stacks{{first, 50}, {second, 10}});
  CHECK(stacks(p, "lifetime") == Stacks{{first, 101626}, {second, 9}});
  CHECK(p.types[column(p, "lifetime")].unit == Unit::count);
  CHECK(p.meta.title == "dhat");
  CHECK(p.meta.command == "dhat ./a -x");
  CHECK(has_note(p, "'peak' is at 1,533 of 1,596 instrs"));
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE("dhat: frames at one address are inlined into the last of them") {
  ReadOptions options;
  options.lines = options.addresses = true;
  const Profile p = read_text(heap, {}, options);
  const std::vector<FrameId> path = p.path(p.touched()[0]);
  REQUIRE(path.size() == 4);
  CHECK(p.frames[path[1]].kind == FrameKind::user);
  CHECK(p.frames[path[1]].line == 9);
  CHECK(p.frames[path[2]].kind == FrameKind::inlined);
  CHECK(p.frames[path[3]].kind == FrameKind::user);
  CHECK(p.strings[p.frames[path[3]].module] == "/lib/dhat.so");
  CHECK(stacks(p, "end")["0x30;malloc"] == 10);
  const std::string recursion =
      "{\"dhatFileVersion\":2,\"pps\":[{\"tb\":1,\"fs\":[4,4,4]}]" + names;
  const Profile q = read_text(recursion);
  CHECK(stacks(q, {}, true) == Stacks{{"main;main;main", 1}});
}

TEST_CASE("dhat: copies and what programs count themselves have fewer columns") {
  const Profile copy = read_text(
      "{\"dhatFileVersion\":2,\"mode\":\"copy\",\"verb\":\"Copied\",\"bklt\":false,\"bkacc\":false,"
      "\"pps\":[{\"tb\":15,\"tbk\":1,\"fs\":[4]}]" +
      names);
  CHECK(copy.types ==
        std::vector<ValueType>{{"total", Unit::bytes}, {"total_blocks", Unit::count}});
  CHECK(copy.shown == 0);
  CHECK(has_note(copy, "DHAT's mode was copy"));
  const Profile own = read_text(
      "{\"dhatFileVersion\":2,\"mode\":\"ad-hoc\",\"bsu\":\"units\",\"bksu\":\"events\","
      "\"pps\":[{\"tb\":15,\"tbk\":1,\"fs\":[4]}]" +
      names);
  CHECK(own.types[0] == ValueType{"total", Unit::count});
  CHECK(has_note(own, "'total' counts units"));
}

TEST_CASE("dhat: what Rust's dhat writes") {
  const std::string text =
      "{\"dhatFileVersion\":2,\"mode\":\"rust-ad-hoc\",\"verb\":\"Allocated\",\"bklt\":false,"
      "\"bkacc\":false,\"bu\":\"unit\",\"bsu\":\"units\",\"bksu\":\"events\",\"tu\":\"µs\",\"Mtu\":"
      "\"s\","
      "\"cmd\":\"a\",\"pid\":1,\"te\":9,\"pps\":[{\"tb\":30,\"tbk\":3,\"fs\":[1]}],"
      "\"ftbl\":[\"[root]\",\"0x55d0: <a::B as C>::f (src/main.rs:12:5)\"]}";
  const Profile p = read_text(text, "", {.lines = true});
  CHECK(stacks(p) == Stacks{{"<a::B as C>::f", 30}});
  CHECK(p.types == std::vector<ValueType>{{"total", Unit::count}, {"total_blocks", Unit::count}});
  const Frame& frame = p.frames[p.path(p.touched()[0])[0]];
  CHECK(p.strings[frame.file] == "src/main.rs");
  CHECK(frame.line == 12);
}

TEST_CASE("dhat: names may come first, and stacks may have none") {
  const Profile p = read_text(
      "{ \"dhatFileVersion\" : 2, \"ftbl\":[\"[root]\",\"0x1: f (a.c:1)\"],"
      "\"pps\":[{\"fs\":[1],\"tb\":3},{\"tb\":4}]}");
  CHECK(stacks(p) == Stacks{{"f", 3}, {"[no stack]", 4}});
}

TEST_CASE("dhat: damaged and hostile input") {
  const auto with = [](const std::string& pps) {
    return "{\"dhatFileVersion\":2,\"pps\":" + pps + names;
  };
  const Profile p = read_text(
      with("[{\"tb\":1,\"fs\":[99,-1,4294967296,\"x\",[4]]},7,{\"tb\":\"many\",\"fs\":4}]"));
  CHECK(p.total(0) == 1);
  CHECK(p.losses[Loss::input_line].events == 8);
  CHECK(error_of(with("[{\"tb\":9223372036854775808}]")).find("64 bits") != std::string::npos);
  const std::string most = "{\"tb\":9223372036854775807,\"fs\":[4]}";
  CHECK(stacks(read_text(with("[" + most + "]"))) == Stacks{{"main", INT64_MAX}});
  CHECK(error_of(with("[" + most + "," + most + "]")).find("64 bits") != std::string::npos);
  CHECK(error_of(with("[]")).find("no stack is in it") != std::string::npos);
  CHECK(error_of(with("[{\"fs\":[4]}]")).find("no figures") != std::string::npos);
  CHECK(error_of("{\"dhatFileVersion\":1}").find("known is 2") != std::string::npos);
  CHECK(error_of(heap.substr(0, heap.size() / 2)).find("ends in the middle") != std::string::npos);
  CHECK(error_of("[]", "dhat").find("not an object") != std::string::npos);
}
