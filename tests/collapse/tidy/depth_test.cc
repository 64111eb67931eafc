// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/tidy/depth.h"

#include <doctest/doctest.h>

#include <array>
#include <sstream>
#include <string>

#include "collapse/input.h"
#include "core/error.h"
#include "render/output.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

const std::string cut = "[truncated: more frames than --max-frames]";

// f1;f2;…;fN, each with the value 1.
Profile chain(uint32_t depth) {
  Profile p;
  p.types = {{"bytes", Unit::bytes}};
  StackId stack;
  for (uint32_t i = 1; i <= depth; ++i) {
    stack = p.push(stack, "f" + std::to_string(i));
    p.add(stack, std::array{int64_t{1}});
  }
  return p;
}

std::string leaf(const Profile& p, StackId stack) {
  return std::string(p.strings[p.frames[p.stacks[stack].frame].function]);
}

Profile read(const std::string& text, size_t most, unsigned threads = 1) {
  Source source = Source::of_memory(text, "text");
  return read_profile(source, "folded", {.threads = threads, .max_frames = most});
}

}  // namespace

TEST_CASE("frames beyond the limit become one, with all their values") {
  const Profile p = limit_frames(chain(10), 4);
  CHECK(p.total(0) == 10);
  CHECK(p.stacks.size() == 1 + 5);
  CHECK(leaf(p, StackId{5}) == cut);
  CHECK(p.values(StackId{5})[0] == 6);
  CHECK(p.losses[Loss::truncated_max_frames].events == 6);
  CHECK(p.meta.notes.back() ==
        "6 stacks have more than 4 frames: the last 21 are left out (--max-frames)");
  const Profile again = limit_frames(p, 4);
  CHECK(again.losses[Loss::truncated_max_frames].events == 6);
  CHECK(limit_frames(chain(10), 10).losses[Loss::truncated_max_frames].events == 0);
}

TEST_CASE("folded text is truncated while it is read") {
  const std::string text = "a;b;c;d 1\na;b;c;d 2\na;b;x 3\na;b 4\na 5\na;y;c;d;e;f 6\n";
  for (const unsigned threads : {1U, 2U}) {
    const Profile p = read(text, 2, threads);
    CHECK(p.total(0) == 21);
    CHECK(p.losses[Loss::truncated_max_frames].events == 4);
    CHECK(p.meta.notes.back() ==
          "4 stacks have more than 2 frames: the last 9 are left out (--max-frames)");
    std::ostringstream out;
    write_folded(out, p, {.header = false, .marks = false});
    CHECK(out.str() == "a 5\na;b 4\na;b;" + cut + " 6\na;y;" + cut + " 6\n");
  }
  CHECK(read(text, 6).losses[Loss::truncated_max_frames].events == 0);
  CHECK(read("a;[u8; 3];c 1\n", 1).meta.notes.back().find("the last 2 are") != std::string::npos);
}

TEST_CASE("a chain whose every frame has a value is too long as a list of stacks") {
  const Profile deep = chain(60'000);
  CHECK_THROWS_AS(require_short_lists(output_for("folded", ""), deep), Error);
  CHECK_THROWS_AS(require_short_lists(output_for("pprof", ""), deep), Error);
  CHECK_NOTHROW(require_short_lists(output_for("html", ""), deep));
  CHECK_NOTHROW(require_short_lists(output_for("json", ""), limit_frames(chain(60'000), 1000)));
  CHECK_NOTHROW(require_short_lists(output_for("json", ""), chain(9'000)));
}
