// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using namespace std::string_literals;

bool has_note(const Profile& p, std::string_view part) {
  return std::any_of(p.meta.notes.begin(), p.meta.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

// A pickle of {"traces": {"_traces": TRACES}} as objects of tracemalloc's classes.
std::string snapshot(const std::string& traces) {
  return "\x80\x04\x8c\x0btracemalloc\x8c\x08Snapshot\x93)\x81}(\x8c\x06traces"
         "\x8c\x0btracemalloc\x8c\x07_Traces\x93)\x81}\x8c\x07_traces]"s +
         traces + "sb\x8c\x0ftraceback_limitK\x03ub."s;
}

// (0, 5, (("a.py", 7),), 1)
const std::string trace = "(K\0K\x05\x8c\x04"s + "a.pyK\x07\x86\x85K\x01t";

bool is_refused(const std::string& bytes, const std::string& why) {
  return error_of(bytes, "tracemalloc").find(why) != std::string::npos;
}

}  // namespace

TEST_CASE("tracemalloc: blocks by the lines that allocated them") {
  const Profile p = read_data("tracemalloc/app.pickle", "", {.lines = true});
  const std::string cut = "[truncated: more frames than tracemalloc keeps]";
  const Stacks bytes = stacks(p);
  CHECK(bytes.at("app.py:20") == 800000);
  CHECK(bytes.at(cut + ";app.py:11;app.py:11;app.py:7") == 5033);
  CHECK(p.total(0) == 826741);
  CHECK(p.total(1) == 27);
  CHECK(has_note(p, "frames: tracemalloc.start(N) keeps N of them"));
  const Frame& frame = p.frames[p.path(p.touched().back()).back()];
  CHECK(p.strings[frame.file] == "/tmp/leaks/app.py");
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE("tracemalloc: pickles that are damaged or hold something else") {
  CHECK(recognised(snapshot("")) == "tracemalloc");
  CHECK(stacks(read_text(snapshot("(" + trace + trace + "e"))) == Stacks{{"a.py:7", 10}});
  CHECK(stacks(read_text(snapshot(trace + "a"))) == Stacks{{"a.py:7", 5}});
  const Profile odd = read_text(snapshot("(" + trace + "K\x05N(K\0K\x05)te"s));
  CHECK(stacks(odd) == Stacks{{"a.py:7", 5}, {"[no stack]", 5}});
  CHECK(odd.losses[Loss::input_line].events == 2);
  CHECK(is_refused(snapshot(""), "no trace is in it"));
  CHECK(is_refused("\x80\x04K\x05.", "not one of a tracemalloc.Snapshot"));
  CHECK(is_refused("\x80\x04", "ends in the middle"));
  CHECK(is_refused("\x80\x03K\x05.", "of protocol 3, not 4 or 5"));
  // "os.system" may be named, and is not called: REDUCE is not plain data.
  CHECK(is_refused("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.", "needs code 82"));
  for (const char* text : {"\x80\x04.", "\x80\x04t.", "\x80\x04h\x05.", "\x80\x04K\x01K\x02s.",
                           "\x80\x04K\x01K\002b."})
    CHECK(is_refused(text, "the pickle"));
  CHECK(is_refused("\x80\x04\x8a\x09"s + std::string(9, 'x') + ".", "64 bits"));
}
