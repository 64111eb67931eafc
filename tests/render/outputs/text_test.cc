// SPDX-License-Identifier: BSD-2-Clause
// The flame graph in cells: who is below whom, how wide, and what was left out.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "render/output.h"
#include "render/text/cells.h"
#include "tests/render/small_profile.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string text_of(const Profile& p, const RenderOptions& options = {}) {
  std::ostringstream out;
  output_for("text", "").write(out, p, options);
  return out.str();
}

Profile small() {
  Profile p = bytes();
  add(p, {"main", "parse", "read"}, 2048);
  add(p, {"main", "parse"}, 1024);
  add(p, {"main", "write_the_report"}, 512);
  add(p, {"other"}, 512);
  return p;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("a small profile") {
  CHECK(text_of(small(), {.columns = 49}) ==
        "Icicle graph of live bytes · live 4.0 KiB (4,096 B) in 4 stacks\n"
        "lost 0\n"
        "|all 4.0 KiB                                    |\n"
        "|main 3.5 KiB                             |other|\n"
        "|parse 3.0 KiB                      |writ…|\n"
        "|read 2.0 KiB           |\n");
}

TEST_CASE("in ASCII; names cut at the left or in the middle") {
  const std::string ascii = text_of(small(), {.columns = 49, .utf8 = false});
  CHECK(ascii.starts_with("Icicle graph of live bytes | live 4.0 KiB"));
  CHECK(lines_of(ascii).at(4) == "|parse 3.0 KiB                      |writ~|");
  CHECK(lines_of(text_of(small(), {.elide = Elide::left, .columns = 49})).at(4) ==
        "|parse 3.0 KiB                      |…port|");
  CHECK(lines_of(text_of(small(), {.elide = Elide::middle, .columns = 49})).at(4) ==
        "|parse 3.0 KiB                      |wr…rt|");
}

TEST_CASE("names give up arguments, types and namespaces before letters") {
  Profile p = bytes();
  add(p, {"app::QWidgetPrivate<int>::setVisible(bool, QWidget*)"}, 1000);
  add(p, {"x"}, 1000);
  const auto box = [&](int columns, bool utf8) {
    return lines_of(text_of(p, {.columns = columns, .utf8 = utf8})).at(3);
  };
  CHECK(box(84, true).starts_with("|app::QWidgetPrivate<int>::setVisible()  "));
  CHECK(box(76, true).starts_with("|app::QWidgetPrivate<…>::setVisible() |"));
  CHECK(box(62, true).starts_with("|QWidgetPrivate…::setVisible() |"));
  CHECK(box(40, true).starts_with("|QWid…::setVisible()|"));
  CHECK(box(40, false).starts_with("|QWid~::setVisible()|"));
}

TEST_CASE("in colours, without edges") {
  const std::string text = text_of(small(), {.columns = 49, .truecolour = true});
  CHECK(text.find('|') == std::string::npos);
  CHECK(lines_of(text).at(2).starts_with("\x1B[30;48;2;"));
  CHECK(lines_of(text).at(2).ends_with("\x1B[0m"));
}

TEST_CASE("what is not shown is counted") {
  Profile p = small();
  for (const char* name : {"a", "b", "c"}) add(p, {"main", name}, 1);
  CHECK(lines_of(text_of(p)).back() ==
        "not shown: 3 frames narrower than a column or beyond 64 levels; -o graph.html has every "
        "frame");
  Profile deep = bytes();
  StackId stack;
  for (int i = 0; i < 100; ++i) stack = deep.push(stack, "f");
  deep.add(stack, std::vector<int64_t>{1000});
  const std::vector<std::string> lines = lines_of(text_of(deep));
  CHECK(lines.size() == 67);
  CHECK(lines.back().starts_with("not shown: 38 frames"));
}

TEST_CASE("names cannot control the terminal") {
  Profile p = bytes();
  add(p, {"\x1B]0;owned\x07 a\nb\tc\xC2\x9B", "\xE2\x80\xAE right", "\xE5\x90\x8D\xE5\x89\x8D"},
      1000);
  p.meta.title = "T\x1B[2J";
  p.meta.notes = {"note\x1B[2J"};
  const std::string text = text_of(p, {.title = "x\x1B[31m\r", .subtitle = "s\x1B"});
  for (const char c : text) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  CHECK(text.find("\xC2\x9B") == std::string::npos);
  CHECK(text.find("\xE2\x80\xAE") == std::string::npos);
}

TEST_CASE("each line is as wide as asked for, whatever the letters") {
  Profile p = bytes();
  add(p, {"\xE5\x90\x8D\xE5\x89\x8D\xE5\x90\x8D\xE5\x89\x8D", "e\xCC\x81tat"}, 1000);
  add(p, {"\xE5\x90\x8D\xE5\x89\x8D\xE5\x90\x8D\xE5\x89\x8D", "\xF0\x9F\x94\xA5\xF0\x9F\x94\xA5"},
      1000);
  for (int columns = 20; columns < 40; ++columns) {
    const std::vector<std::string> lines = lines_of(text_of(p, {.columns = columns}));
    REQUIRE(lines.size() == 5);
    for (size_t i = 2; i < lines.size(); ++i)
      CHECK(cells(lines[i]) == static_cast<size_t>(columns));
  }
}

TEST_CASE("nothing captured") {
  const std::string text = text_of(bytes());
  CHECK(text.find("nothing was captured") != std::string::npos);
}
