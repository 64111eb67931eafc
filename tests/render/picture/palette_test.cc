// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/palette.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "core/error.h"
#include "palettes/palettes.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string with(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string error_of(std::string_view text) {
  try {
    parse_palette(text, "my.json");
  } catch (const Error& error) {
    CHECK(error.exit_code == ExitCode::usage);
    return error.what();
  }
  return "no error";
}

std::string mem() { return std::string(embedded_palettes()[1].text); }

}  // namespace

TEST_CASE("code comes first, and each file has the name it claims") {
  CHECK(embedded_palettes().front().name == "code.json");
  for (const EmbeddedFile& file : embedded_palettes())
    CHECK(parse_palette(file.text, "").name + ".json" == file.name);
  CHECK(embedded_palettes().size() >= 8);
}

TEST_CASE("black text is readable on every colour that any frame may get") {
  for (const EmbeddedFile& file : embedded_palettes()) {
    const Palette palette = parse_palette(file.text, "");
    CAPTURE(palette.name);
    CHECK(contrast(palette.match, {}) >= 4.5);
    for (size_t kind = 0; kind < box_kinds; ++kind) {
      CHECK(contrast(palette.ranges[kind].low, {}) >= 4.5);
      for (int i = 0; i < 200; ++i)
        CHECK(contrast(palette.colour("f" + std::to_string(i), static_cast<BoxKind>(kind)), {}) >=
              4.5);
    }
  }
}

TEST_CASE("found boxes and warnings stand out from functions in every palette") {
  for (const EmbeddedFile& file : embedded_palettes()) {
    const Palette palette = parse_palette(file.text, "");
    CAPTURE(palette.name);
    const auto far = [](Rgb a, Rgb b) {
      return abs(a.red - b.red) + abs(a.green - b.green) + abs(a.blue - b.blue) > 60;
    };
    const ColourRange user = palette.ranges[static_cast<size_t>(BoxKind::user)];
    const ColourRange lost = palette.ranges[static_cast<size_t>(BoxKind::lost)];
    CHECK(far(palette.match, user.low));
    CHECK(far(palette.match, user.high));
    CHECK(far(palette.match, lost.low));
    CHECK(far(lost.low, user.low));
    CHECK(far(lost.high, user.high));
  }
}

TEST_CASE("contrast is that of WCAG 2") {
  CHECK(contrast({0, 0, 0}, {255, 255, 255}) == doctest::Approx(21));
  CHECK(contrast({255, 255, 255}, {255, 255, 255}) == doctest::Approx(1));
  CHECK(contrast({0x77, 0x77, 0x77}, {255, 255, 255}) == doctest::Approx(4.48).epsilon(0.002));
}

TEST_CASE("a name has one colour, between the two of its kind; names differ") {
  const Palette palette = palette_by_name("mem");
  CHECK(palette.colour("malloc", BoxKind::user) == palette.colour("malloc", BoxKind::user));
  // Pinned, so that pictures of two versions can be compared.
  CHECK(hex(palette.colour("malloc", BoxKind::user)) == "#8ad59b");
  const ColourRange range = palette.ranges[0];
  std::set<std::string> colours;
  for (int i = 0; i < 1000; ++i) {
    const Rgb colour = palette.colour("function_" + std::to_string(i), BoxKind::user);
    CHECK(colour.red >= range.low.red);
    CHECK(colour.red <= range.high.red);
    CHECK(colour.blue >= range.low.blue);
    CHECK(colour.blue <= range.high.blue);
    colours.insert(hex(colour));
  }
  CHECK(colours.size() > 500);
}

TEST_CASE("losses and cut stacks have their own colours, other notes do not") {
  CHECK(box_kind("[lost: ring buffer full]", FrameKind::note) == BoxKind::lost);
  CHECK(box_kind("[truncated: too deep]", FrameKind::note) == BoxKind::lost);
  CHECK(box_kind("[anon]", FrameKind::note) == BoxKind::note);
  CHECK(box_kind("[lost: ring buffer full]", FrameKind::user) == BoxKind::user);
  CHECK(box_kind("f", FrameKind::process) == BoxKind::process);
}

TEST_CASE("a palette by its name, by its file, and neither") {
  CHECK(palette_by_name("leak").name == "leak");
  const std::string path = "palette_test.json";
  std::ofstream(path) << with(mem(), "\"mem\"", "\"mine\"");
  CHECK(palette_by_name(path).name == "mine");
  std::remove(path.c_str());
  CHECK_THROWS_WITH_AS(palette_by_name(path), "palette palette_test.json: the file cannot be read",
                       Error);
  CHECK_THROWS_WITH_AS(palette_by_name("/"), doctest::Contains("no palette is called '/'"), Error);
  CHECK_THROWS_WITH_AS(palette_by_name("grin"), doctest::Contains("there are code, mem, leak, "),
                       Error);
}

TEST_CASE("errors say what is wrong, and where") {
  CHECK(error_of("{") == "palette my.json: this is not a JSON object");
  CHECK(error_of("[]") == "palette my.json: this is not a JSON object");
  CHECK(error_of("{}") == "palette my.json: 'name' is missing");
  CHECK(error_of(with(mem(), "\"match\": \"#", "\"match\": \"")) ==
        "palette my.json: 'match' needs colours like \"#40c080\"");
  CHECK(error_of(with(mem(), "\"jit\": [", "\"jit\": [\"#ffffff\", ")) ==
        "palette my.json: 'jit' needs two colours");
  CHECK(error_of(with(mem(), "\"jit\"", "\"jet\"")) == "palette my.json: 'jit' is missing");
  CHECK(error_of(with(mem(), "\"jit\": [\"#", "\"jit\": [\"#10g")) ==
        "palette my.json: 'jit' needs colours like \"#40c080\"");
  CHECK(error_of(with(mem(), "\"jit\": [\"#c9d66b\"", "\"jit\": [\"#202020\"")) ==
        "palette my.json: black text is not readable on 'jit' #202020: lighten it");
  CHECK(error_of(with(mem(), "\"dark_background\": [\"#101613\"",
                      "\"dark_background\": [\"#ffffff\"")) ==
        "palette my.json: white text is not readable on 'dark_background' #ffffff");
  CHECK(error_of(with(mem(), "\"kinds\": {", "\"kinds\": 1, \"x\": {")) ==
        "palette my.json: 'kinds' needs an object");
}
