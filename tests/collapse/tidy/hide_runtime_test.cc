// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/collapse/tidy/tidy_fixture.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// Names with ".py" are functions of that file.
void add_stack(Profile& profile, const std::vector<std::string>& names, int64_t value) {
  StackId top;
  for (const std::string& name : names)
    top = name.find(".py") != std::string::npos
              ? profile.push(top, name, FrameKind::user, "/srv/a.py", "/srv/a.py", 7)
              : profile.push(top, name, FrameKind::user, "/usr/bin/python3.11");
  profile.add(top, std::vector<int64_t>{value});
}

}  // namespace

TEST_CASE("native functions between two of Python become one frame, others stay") {
  Profile profile;
  profile.types = {{"live", Unit::bytes}};
  add_stack(profile, {"main", "loop", "f (a.py:1)", "call", "loop", "g (a.py:2)", "malloc"}, 5);
  add_stack(profile, {"main", "loop", "f (a.py:1)", "call", "malloc"}, 7);
  add_stack(profile, {"main", "loop", "f (a.py:1)", "sort", "loop", "g (a.py:2)", "malloc"}, 11);
  add_stack(profile, {"main", "loop", "f (a.py:1)", "g (a.py:2)"}, 13);
  CHECK(lines(hide_runtime(profile)) ==
        Lines{{"main;loop;f (a.py:1);[native];g (a.py:2);malloc", 16},
              {"main;loop;f (a.py:1);call;malloc", 7},
              {"main;loop;f (a.py:1);g (a.py:2)", 13}});
}

TEST_CASE("a profile without Python is left as it is") {
  const Profile profile = profile_of("main;loop;malloc 5\nmain 7\n");
  CHECK(lines(hide_runtime(profile)) == lines(profile));
}
