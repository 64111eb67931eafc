// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/folded_runtime.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "render/output.h"
#include "render/picture/frame_tree.h"
#include "tests/render/small_profile.h"
#include "tests/render/tree_text.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// Names with ".py" are functions of that file.
void add_script_stack(Profile& p, const std::vector<std::string>& names, int64_t value) {
  StackId top;
  for (const std::string& name : names)
    top = name.find(".py") != std::string::npos
              ? p.push(top, name, FrameKind::user, "/srv/a.py", "/srv/a.py", 7)
              : p.push(top, name, FrameKind::user, "/usr/bin/python3.11");
  p.add(top, std::vector<int64_t>{value});
}

Profile interpreted() {
  Profile p = bytes();
  add_script_stack(p, {"main", "f (a.py)", "call", "loop", "g (a.py)", "take"}, 5);
  add_script_stack(p, {"main", "f (a.py)", "sort", "loop", "g (a.py)"}, 7);
  add_script_stack(p, {"main", "f (a.py)", "call"}, 11);
  return p;
}

std::string tree_of(const Profile& p) {
  return tree_text(p, frame_tree(p, Neighbours::by_name, width_of(p, WidthOf::shown)));
}

}  // namespace

TEST_CASE("pictures fold what an interpreter does, and know all of it") {
  const Profile p = interpreted();
  const FoldedRuntime runtime(p, resolved({}, p));
  CHECK(runtime.hides());
  CHECK(tree_of(runtime.drawn()) ==
        "all 0(main 0(f (a.py) 0([native] 0(g (a.py) 7(take 5)) call 11)))");
  CHECK(tree_of(runtime.whole()) == tree_of(p));
  CHECK(runtime.whole().strings[runtime.whole().frames[runtime.native()].function] == "[native]");
}

TEST_CASE("nothing is folded on request, in the order of time, and where nothing is between") {
  const Profile p = interpreted();
  RenderOptions shown;
  shown.runtime = Runtime::shown;
  const FoldedRuntime all(p, resolved(shown, p));
  CHECK(!all.hides());
  CHECK(bool{all.native()});  // a script may fold it
  CHECK(tree_of(all.drawn()) == tree_of(p));
  RenderOptions in_time;
  in_time.order = Neighbours::by_time;
  CHECK(!FoldedRuntime(p, in_time).native());
  Profile direct = bytes();
  add_script_stack(direct, {"main", "f (a.py)", "g (a.py)"}, 5);
  CHECK(!FoldedRuntime(direct, resolved({}, direct)).native());
  // As --hide-runtime leaves it.
  Profile twice = bytes();
  add_script_stack(twice, {"main", "f (a.py)"}, 5);
  const StackId caller = twice.row(0).stack;
  const StackId between = twice.push(caller, "[native]", FrameKind::note);
  twice.add(twice.push(between, "g (a.py)", FrameKind::user, "/srv/a.py", "/srv/a.py", 7),
            std::vector<int64_t>{3});
  CHECK(!FoldedRuntime(twice, resolved({}, twice)).native());
}

TEST_CASE("a picture's head counts the stacks of the profile, folded or not") {
  const Profile p = interpreted();
  RenderOptions options;
  options.utf8 = false;
  std::ostringstream folded, all;
  write_text(folded, p, options);
  options.runtime = Runtime::shown;
  write_text(all, p, options);
  CHECK(folded.str().find("in 3 stacks") != std::string::npos);
  CHECK(all.str().find("in 3 stacks") != std::string::npos);
  CHECK(folded.str().find("[native]") != std::string::npos);
  CHECK(all.str().find("[native]") == std::string::npos);
}
