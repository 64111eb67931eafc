// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/callers_first.h"

#include <doctest/doctest.h>

#include <sstream>

#include "render/output.h"
#include "render/picture/blame.h"
#include "render/picture/code_shares.h"
#include "render/transform.h"
#include "tests/render/small_profile.h"
#include "tests/render/tree_text.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Profile turned(Profile p) { return transformed(std::move(p), {.reverse = true}, WidthOf::shown); }

RenderOptions with(Blame blame, const Profile& p) {
  RenderOptions options{.reversed = true};
  options.blame = blame;
  return resolved(options, p);
}

std::string text(const Profile& p) {
  return tree_text(p, frame_tree(p, Neighbours::by_name, width_of(p, WidthOf::shown)));
}

Profile allocations() {
  Profile p = bytes();
  add(p, {"main", "parse", "operator new", "malloc"}, 7);
  add(p, {"main", "parse"}, 30);
  add(p, {"main", "parse", "std::grow()", "operator new", "malloc"}, 5);
  add(p, {"main", "malloc", "handler", "log", "malloc"}, 11);
  add(p, {"main", "malloc"}, 2);
  add(p, {"malloc", "sysmalloc"}, 4);
  return turned(std::move(p));
}

}  // namespace

TEST_CASE("pictures with callers first begin at who called the allocator") {
  const Profile p = allocations();
  RenderOptions options = with(Blame::caller, p);
  const CallersFirst first(p, options);
  CHECK(options.blame == Blame::all);
  CHECK(text(first.profile()) ==
        "all 0(log 0(handler 0(malloc 0(main 11))) main 2 malloc 4 parse 0(main 37) "
        "std::grow() 0(parse 0(main 5)))");
  CHECK(first.profile().total(0) == p.total(0));
  CHECK(first.note() == "not drawn: 3 functions of the allocator; their callers have the figures");
  RenderOptions user = with(Blame::user, p);
  CHECK(text(CallersFirst(p, user).profile()) ==
        "all 0(log 0(handler 0(malloc 0(main 11))) main 2 malloc 4 parse 0(main 42))");
}

TEST_CASE("nothing is left out of all frames, nor of stacks that are not turned") {
  const Profile p = allocations();
  RenderOptions all = with(Blame::all, p);
  const CallersFirst drawn(p, all);
  CHECK(&drawn.profile() == &p);
  CHECK(drawn.note().empty());
  RenderOptions usual;
  usual.blame = Blame::caller;
  const CallersFirst other(p, usual);
  CHECK(&other.profile() == &p);
  CHECK(usual.blame == Blame::caller);
}

TEST_CASE("a process is not a caller, and marks move") {
  Profile p = bytes();
  const StackId app = p.push({}, "app", FrameKind::process);
  p.add(p.push(app, "malloc"), std::array<int64_t, 1>{4});
  const StackId leak = p.push(p.push(app, "f"), "malloc");
  p.add(leak, std::array<int64_t, 1>{5});
  p.marks = {{leak, VerdictKind::leak, true, 1, "leak", "f"}};
  p = turned(std::move(p));
  RenderOptions options = with(Blame::caller, p);
  const CallersFirst first(p, options);
  CHECK(text(first.profile()) == "all 0(f 0(app 5) malloc 0(app 4))");
  const Profile& drawn = first.profile();
  CHECK(drawn.strings[drawn.frames[drawn.stacks[drawn.stacks[drawn.marks.at(0).stack].caller].frame]
                          .function] == "f");
}

TEST_CASE("shares are those of the innermost code, whichever way stacks go") {
  Profile p = bytes();
  const auto put = [&](std::string_view function, std::string_view file, int64_t value) {
    const StackId main = p.push({}, "main", FrameKind::user, "/bin/app");
    const StackId inner = p.push(main, function, FrameKind::user, file);
    p.add(p.push(inner, "malloc", FrameKind::user, "/lib/libc.so.6"),
          std::array<int64_t, 1>{value});
  };
  put("f", "/lib/libz.so", 30);
  put("g", "/bin/app", 10);
  const auto sums = [](const Profile& of, bool reversed) {
    std::vector<std::pair<std::string, int64_t>> out;
    const CodeShares shares =
        code_shares(of, width_of(of, WidthOf::shown), {Blame::caller, reversed});
    CHECK(shares.outside_allocator);
    for (const CodeShare& share : shares.shares) out.emplace_back(share.path, share.sum);
    return out;
  };
  const std::vector<std::pair<std::string, int64_t>> wanted{{"/lib/libz.so", 30}, {"", 10}};
  CHECK(sums(p, false) == wanted);
  CHECK(sums(turned(p), true) == wanted);
}

TEST_CASE("all pictures say what they do not draw") {
  const Profile p = allocations();
  for (const char* format : {"svg", "html", "text"}) {
    std::ostringstream out;
    output_for(format, "").write(out, p, {.reversed = true});
    CHECK_MESSAGE((std::string(format) == "text" ||
                   out.str().find("not drawn: 3 functions of the allocator") != std::string::npos),
                  format);
    CHECK(out.str().find("sysmalloc") == std::string::npos);
  }
}
