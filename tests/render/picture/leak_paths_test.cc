// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/leak_paths.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "render/picture/palette.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// main calls `cache` (9,000), and `handle` that calls `leak` (`leaked`).
Profile example(int64_t leaked) {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const StackId main = p.push({}, "main"), handle = p.push(main, "handle");
  p.add(p.push(main, "cache"), std::array<int64_t, 1>{9000});
  p.add(handle, std::array<int64_t, 1>{leaked / 2});
  const StackId leak = p.push(handle, "leak");
  p.add(leak, std::array<int64_t, 1>{leaked});
  p.marks = {{leak, VerdictKind::leak, true, 2048, "leak: 2 %", "leak"}};
  return p;
}

struct Made {
  explicit Made(const Profile& profile, double min_share = 0)
      : tree(frame_tree(profile, Neighbours::by_name, width_of(profile, WidthOf::shown))),
        boxes(layout(tree, profile, {.min_share = min_share})),
        paths(leak_paths(boxes, tree, profile)),
        lines(verdict_lines(boxes, tree, profile)) {}

  std::string name(const Profile& profile, size_t box) const {
    return boxes.boxes[box].merged != 0
               ? "merged"
               : std::string(profile.strings[profile.frames[boxes.boxes[box].frame].function]);
  }

  FrameTree tree;
  Layout boxes;
  LeakPaths paths;
  std::vector<std::string> lines;
};

}  // namespace

TEST_CASE("stripes lie one over the other, from the leaf to the process") {
  const Profile profile = example(300);
  const Made made(profile);
  REQUIRE(made.paths.stripes.size() == 3);
  const std::array<std::string, 3> names{"leak", "handle", "main"};
  for (size_t i = 0; i < 3; ++i) {
    const LeakStripe& stripe = made.paths.stripes[i];
    CHECK(made.name(profile, stripe.box) == names.at(i));
    CHECK(stripe.offset == 9000);
    CHECK(stripe.total == 300);
    CHECK(stripe.is_outlined == (i < 2));  // main is mostly cache
  }
  REQUIRE(made.paths.flags.size() == 1);
  CHECK(made.paths.flags[0].box == made.paths.stripes[0].box);
  CHECK(made.lines[made.paths.stripes[0].box] == "leak: 2 %");
  CHECK(made.lines[made.paths.stripes[2].box] == "leads to a leak: leak");
  CHECK(leak_legend(profile).size() == 1);
}

TEST_CASE("a leak that is too narrow for a box has its flag where it is merged") {
  const Profile profile = example(30);
  const Made made(profile, 0.01);
  REQUIRE(made.paths.flags.size() == 1);
  CHECK(made.name(profile, made.paths.flags[0].box) == "merged");
  CHECK(made.paths.stripes.back().total == 0);
  CHECK(made.name(profile, made.paths.stripes.back().box) == "main");
  CHECK(made.lines[made.paths.flags[0].box] == "leak: leak: 2 %");
}

TEST_CASE("other verdicts are words only") {
  Profile profile = example(300);
  profile.marks[0].is_drawn = false;
  profile.marks[0].kind = VerdictKind::cache;
  const Made made(profile);
  CHECK(made.paths.stripes.empty());
  CHECK(made.paths.flags.empty());
  CHECK(std::count(made.lines.begin(), made.lines.end(), "leak: 2 %") == 1);
  CHECK(std::count(made.lines.begin(), made.lines.end(), "") ==
        static_cast<std::ptrdiff_t>(made.lines.size()) - 1);
  CHECK(leak_legend(profile).empty());
}

TEST_CASE("the mark or its edge stands out from every colour of every palette") {
  CHECK(contrast(leak_colour, leak_edge) > 4.5);
  for (const std::string& name : palette_names()) {
    CAPTURE(name);
    const Palette palette = palette_by_name(name);
    std::vector<ColourRange> ranges(palette.ranges.begin(), palette.ranges.end());
    for (const ColourRule& rule : palette.rules) ranges.push_back(rule.range);
    for (const ColourRange& range : ranges)
      for (const Rgb colour : {range.low, range.high})
        CHECK(std::max(contrast(leak_colour, colour), contrast(leak_edge, colour)) >= 3);
  }
}
