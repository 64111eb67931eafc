// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <array>
#include <sstream>

#include "render/output.h"
#include "tests/collapse/inputs/inputs.h"
#include "tests/collapse/inputs/round_trip.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string page_of(const Profile& profile, const RenderOptions& options = {}) {
  std::ostringstream out;
  write_html(out, profile, options);
  return out.str();
}

std::string folded(const Profile& profile) {
  std::ostringstream out;
  write_folded(out, profile, {.all_values = true});
  return out.str();
}

// Difficult profiles: two states, signs, sums beyond 2^53, kinds, lines, names that are not UTF-8.
Profile hardest() {
  Profile p;
  p.types = {{"before", Unit::bytes},
             {"after", Unit::bytes},
             {"calls", Unit::count, 3, 4.5, 2},
             {"calls variance", Unit::variance}};
  p.shown = 1;
  p.meta = {.title = "T <1> ]]> & \"q\"",
            .command = "diff a b",
            .host = "h",
            .seconds = 0.3,
            .sampling = "1 in 3",
            .reconciliation = {{"VmRSS growth", INT64_MAX, INT64_MIN}},
            .notes = {"n1", "n2; n3"}};
  p.losses.add(Loss::ring_full, UINT64_MAX, -3);
  const StackId root = p.push({}, "server", FrameKind::process);
  const int64_t large = (int64_t{1} << 58U) + 1;
  StackId top = root;
  for (const std::string_view name :
       {"a;b", "\xff\xfe; \xc3", "", " 12", "漢字\n\x01", "# x", "</script>", "]]>", "f_[k]"}) {
    top = p.push(top, name, FrameKind::kernel, "/lib/\xff;x.so", "a.c", 3);
    p.add(top, std::array<int64_t, 4>{large, -5, 125, 7});
  }
  for (const FrameKind kind :
       {FrameKind::user, FrameKind::inlined, FrameKind::jit, FrameKind::unknown, FrameKind::note})
    p.add(p.push(root, "same", kind), std::array<int64_t, 4>{-large, large, 1, 0});
  p.add(p.push(root, "[lost: ring buffer full]", FrameKind::note),
        std::array<int64_t, 4>{0, 1, 0, 0});
  p.add({}, std::array<int64_t, 4>{-1, 0, 0, 0});
  return p;
}

Told without_places(const Profile& profile) {
  Told all;
  for (const auto& [path, values] : told(profile)) {
    std::string plain;
    std::istringstream lines(path);
    for (std::string line; std::getline(lines, line);)
      plain += line.substr(0, line.rfind(" | ")) + "\n";
    std::vector<int64_t>& sums = all[plain];
    sums.resize(values.size(), 0);
    for (size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
  }
  std::erase_if(all, [](const auto& one) {
    return std::all_of(one.second.begin(), one.second.end(), [](int64_t v) { return v == 0; });
  });
  return all;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

}  // namespace

TEST_CASE("a page reads back as what it was made of") {
  const Profile p = hardest();
  const std::string page = page_of(p);
  CHECK(recognised(page) == "memflame-html");
  const Profile back = read_text(page, {}, {.lines = true});
  CHECK(back.types == p.types);
  CHECK(back.shown == p.shown);
  CHECK(folded(back) == folded(p));
  CHECK(without_places(back) == without_places(p));
  CHECK(without_places(read_text(page)) == without_places(p));
  CHECK(back.total(3) == p.total(3));
  CHECK(page_of(back) == page);
  CHECK(back.losses[Loss::ring_full].events == UINT64_MAX);
  CHECK(back.meta.seconds == 0.3);
}

TEST_CASE("random profiles too") {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const Profile p = random_profile(seed, {.decimals = 2});
    const Profile back = read_text(page_of(p));
    CAPTURE(seed);
    CHECK(without_places(back) == without_places(p));
    CHECK(folded(back) == folded(p));
  }
}

TEST_CASE("the order of time comes back where it is asked for") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  p.keep_order();
  const StackId a = p.push({}, "a"), b = p.push(a, "b"), c = p.push(a, "c");
  for (const StackId stack : {b, c, b}) p.add(stack, std::array<int64_t, 1>{1});
  const std::string page = page_of(p, {.order = Neighbours::by_time});
  CHECK(read_text(page, {}, {.in_order = true}).rows() == 3);
  CHECK(read_text(page).rows() == 2);
}

TEST_CASE("a picture gives what it has to zoom to") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const StackId main = p.push({}, "main");
  p.add(p.push(main, "wide"), std::array<int64_t, 1>{1000000});
  p.add(p.push(p.push(main, "narrow"), "x"), std::array<int64_t, 1>{1});
  p.add(p.push(p.push(main, "narrow"), "y"), std::array<int64_t, 1>{1});
  p.add(p.push(p.push(main, "narrow"), "z"), std::array<int64_t, 1>{1});
  const auto read_back = [&](size_t max_boxes) {
    std::ostringstream svg;
    write_svg(svg, p, {.max_boxes = max_boxes});
    CHECK(recognised(svg.str()) == "memflame-html");
    return stacks(read_text(svg.str()));
  };
  CHECK(read_back(2) == Stacks{{"main;wide", 1000000},
                               {"main;narrow;x", 1},
                               {"main;narrow;y", 1},
                               {"main;narrow;z", 1}});
  CHECK(read_back(1) == Stacks{{"main;wide", 1000000},
                               {"main;narrow;x", 1},
                               {"main;narrow;y", 1},
                               {"main;narrow;[merged: 1 frame]", 1}});
  std::ostringstream still;
  write_svg(still, p, {.script = false});
  CHECK(error_of(still.str()).find("no figures in it") != std::string::npos);
}

TEST_CASE("pages of the first version stay readable") {
  const Profile page = read_data("memflame-html/small.html");
  const Profile picture = read_data("memflame-html/small.svg");
  const Stacks after{{"server;main;[lost: ring buffer full]", 1},
                     {"server;main;a;b", -5},
                     {"server;main;\xff", 300}};
  CHECK(stacks(page) == after);
  CHECK(page.total(0) == (int64_t{1} << 60U) + 1);
  CHECK(page.losses[Loss::ring_full].bytes == 2);
  CHECK(picture.total(1) == page.total(1));
}

TEST_CASE("damaged pages are refused") {
  const std::string page = page_of(hardest());
  CHECK(error_of(page.substr(0, page.find("mf-data"))).find("no figures") != std::string::npos);
  CHECK(error_of(page.substr(0, page.find("mf-data") + 300)).find("the middle") !=
        std::string::npos);
  CHECK(error_of(replaced(page, "mf-data\">\n", "mf-data\">\n!")).find("base64") !=
        std::string::npos);
  CHECK(error_of(replaced(page, "mf-data\">\n", "mf-data\">\nAAAA")).find("gzip") !=
        std::string::npos);
  CHECK(error_of(replaced(page, "\"types\":", "\"tapes\":")).find("what its values are") !=
        std::string::npos);
  CHECK(error_of(replaced(page, "\"variance\":3", "\"variance\":1")).find("columns of errors") !=
        std::string::npos);
  for (const char* unit : {"0", "-1", "1e999", "0e999"})
    CHECK(error_of(replaced(page, "\"varianceUnit\":4.5", std::string("\"varianceUnit\":") + unit))
              .find("columns of errors") != std::string::npos);
  for (const char* seconds : {"1e999", "0e999"})
    CHECK(error_of(replaced(page, "\"seconds\":0.3", std::string("\"seconds\":") + seconds))
              .find("seconds") != std::string::npos);
  // One column more than the figures have.
  CHECK(error_of(replaced(page, "\"types\":[", "\"types\":[{\"name\":\"x\",\"unit\":\"count\"},"))
            .find("columns of errors") != std::string::npos);
  CHECK(error_of(replaced(page, "\"merged\":0", "\"merged\":1")).find("data") != std::string::npos);
}
