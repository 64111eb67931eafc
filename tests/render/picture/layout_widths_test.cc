// SPDX-License-Identifier: BSD-2-Clause
// What decides the width of boxes, and how many there may be.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>

#include "render/picture/layout.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Profile difference(uint32_t seed, size_t stacks) {
  std::minstd_rand random(seed);
  Profile p;
  p.types = {{"before", Unit::bytes}, {"after", Unit::bytes}};
  p.shown = 1;
  for (size_t i = 0; i < stacks; ++i) {
    StackId top;
    for (size_t depth = 1 + random() % 9; depth > 0; --depth)
      top = p.push(top, "f" + std::to_string(random() % 7));
    const auto value = [&] { return static_cast<int64_t>(random() % 1000) - 200; };
    p.add(top, std::array{value(), value()});
  }
  return p;
}

// A stack's own width, computed again.
int64_t width(WidthOf of, int64_t before, int64_t after) {
  const int64_t was = std::max<int64_t>(before, 0), is = std::max<int64_t>(after, 0);
  switch (of) {
    case WidthOf::larger:
      return std::max(was, is);
    case WidthOf::before:
      return was;
    case WidthOf::both:
      return was + is;
    case WidthOf::change:
      return std::abs(after - before);
    case WidthOf::size:
      return std::abs(after);
    case WidthOf::shown:
    case WidthOf::after:
      break;
  }
  return is;
}

int64_t total_width(const Profile& p, WidthOf of) {
  int64_t sum = 0;
  for (const StackId stack : p.touched()) sum += width(of, p.values(stack)[0], p.values(stack)[1]);
  return sum;
}

// A box's callees and its own part fill it, in the picture and in every column.
void check_boxes(const Profile& p, const Layout& l) {
  std::vector<size_t> open;
  std::vector<int64_t> filled(l.boxes.size(), 0);
  int64_t own = 0;
  bool good = true;
  for (size_t i = 0; i < l.boxes.size(); ++i) {
    const Box& box = l.boxes[i];
    open.resize(box.depth);
    if (i > 0) {
      const size_t caller = open.back();
      good = good && box.total > 0 && box.offset == l.boxes[caller].offset + filled[caller];
      filled[caller] += box.total;
    }
    open.push_back(i);
    own += box.self;
  }
  for (size_t i = 0; i < l.boxes.size(); ++i)
    good = good && l.boxes[i].total == l.boxes[i].self + filled[i];
  CHECK(good);
  CHECK(own == l.total);
  for (size_t column = 0; column < l.columns; ++column) CHECK(l.sums(0)[column] == p.total(column));
}

size_t frames(const Layout& l) {
  return static_cast<size_t>(std::count_if(l.boxes.begin(), l.boxes.end(),
                                           [](const Box& box) { return box.merged == 0; }));
}

constexpr std::array widths{WidthOf::shown, WidthOf::larger, WidthOf::before, WidthOf::after,
                            WidthOf::both,  WidthOf::change, WidthOf::size};

}  // namespace

TEST_CASE("the total is the sum of all stacks' widths, whatever they are") {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    const Profile p = difference(seed, 300);
    for (const WidthOf of : widths)
      for (const double share : {0.0, 0.01}) {
        const Layout l = layout(p, {.min_share = share, .width = of});
        CAPTURE(static_cast<int>(of));
        CHECK(l.total == total_width(p, of));
        CHECK(l.width == of);
        check_boxes(p, l);
      }
  }
}

TEST_CASE("of a stack before and after, each width") {
  Profile p;
  p.types = {{"before", Unit::bytes}, {"after", Unit::bytes}};
  p.shown = 1;
  p.add(p.push({}, "f"), std::array<int64_t, 2>{100, 30});
  const std::array<int64_t, widths.size()> expected{30, 100, 100, 30, 130, 70, 30};
  for (size_t i = 0; i < widths.size(); ++i)
    CHECK(layout(p, {.width = widths[i]}).total == expected[i]);
}

TEST_CASE("no more boxes than asked for, and nothing goes missing") {
  for (const Neighbours order : {Neighbours::by_name, Neighbours::by_width}) {
    const Profile p = difference(7, 3000);
    const Layout all = layout(p, {.order = order});
    for (const size_t most : {size_t{0}, size_t{1}, size_t{10}, size_t{500}, frames(all)}) {
      const Layout l = layout(p, {.max_boxes = most, .order = order});
      CAPTURE(most);
      CHECK(frames(l) <= most + 1);  // and the root
      CHECK(l.total == all.total);
      check_boxes(p, l);
    }
    CHECK(frames(layout(p, {.max_boxes = 500, .order = order})) > 400);
    CHECK(layout(p, {.max_boxes = frames(all), .order = order}).boxes.size() == all.boxes.size());
  }
}

TEST_CASE("fewer boxes of a layout are those of a layout with fewer boxes") {
  const Profile p = difference(7, 3000);
  for (const Neighbours order : {Neighbours::by_name, Neighbours::by_width}) {
    const Layout many = layout(p, {.max_boxes = 2000, .order = order});
    for (const LayoutOptions& options : std::initializer_list<LayoutOptions>{{.max_boxes = 2000},
                                                                             {.max_boxes = 100},
                                                                             {.max_boxes = 0},
                                                                             {.min_share = 0.01},
                                                                             {.max_depth = 3}}) {
      LayoutOptions same = options;
      same.order = order;
      same.max_boxes = std::min<size_t>(options.max_boxes, 2000);
      const Layout fewer = with_fewer_boxes(many, p, options), direct = layout(p, same);
      check_boxes(p, fewer);
      const auto places = [](const Layout& l) {
        std::vector<std::tuple<int64_t, int64_t, int64_t, uint32_t, uint32_t, uint32_t>> out;
        for (const Box& b : l.boxes)
          out.emplace_back(b.offset, b.total, b.self, b.depth, b.frame.index, b.merged);
        return out;
      };
      CHECK(places(fewer) == places(direct));
      CHECK(fewer.values == direct.values);
      CHECK(fewer.depth == direct.depth);
      CHECK(fewer.stacks == direct.stacks);
    }
  }
}

TEST_CASE("of boxes that are equally wide the first have room") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  for (int i = 0; i < 10; ++i)
    p.add(p.push({}, "f" + std::to_string(i)), std::array<int64_t, 1>{5});
  p.add(p.push({}, "wide"), std::array<int64_t, 1>{6});
  const Layout l = layout(p, {.max_boxes = 4});
  CHECK(frames(l) == 5);
  CHECK(l.boxes.back().merged == 7);
}

TEST_CASE("of boxes that are equally wide a deep stack takes no room from others") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  StackId deep;
  for (int i = 0; i < 100; ++i) deep = p.push(deep, "f" + std::to_string(i));
  p.add(deep, std::array<int64_t, 1>{5});
  p.add(p.push(p.push({}, "g"), "h"), std::array<int64_t, 1>{5});
  const Layout l = layout(p, {.max_boxes = 10});
  CHECK(frames(l) == 11);
  CHECK(std::ranges::count(l.boxes, 92U, &Box::merged) == 1);
  CHECK(std::ranges::count(l.boxes, 0U, &Box::merged) == 11);
  check_boxes(p, l);
}

TEST_CASE("sums beyond 2^53 are exact") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const int64_t large = (int64_t{1} << 60U) + 1;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"})
    p.add(p.push(p.push({}, "main"), name), std::array{large});
  for (const size_t most : {SIZE_MAX, size_t{1}}) {
    const Layout l = layout(p, {.max_boxes = most});
    CHECK(l.total == 7 * large);
    check_boxes(p, l);
  }
}
