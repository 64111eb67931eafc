// SPDX-License-Identifier: BSD-2-Clause
// PNG and PDF: whole files of the right size, whatever the names are.
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <string_view>

#include "core/error.h"
#include "render/output.h"
#include "render/outputs/raster_library.h"
#include "tests/render/small_profile.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

#ifdef MEMFLAME_SANITIZED
// What fontconfig keeps until the end of the process is not reachable for LeakSanitizer.
extern "C" const char* __lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig"; }
#endif

namespace {

std::string drawn(std::string_view format, const Profile& p, const RenderOptions& options = {}) {
  std::ostringstream out;
  output_for(format, "").write(out, p, options);
  return out.str();
}

Profile small() {
  Profile p = bytes();
  add(p, {"main", "parse"}, 3000);
  add(p, {"main", "write"}, 1000);
  return p;
}

uint32_t big_endian(std::string_view text, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(text.at(at + i));
  return value;
}

std::string size_refused(double width, double height) {
  try {
    raster_size(RasterForm::png, width, height);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a PNG has two pixels for each of the SVG's, and is the same each time") {
  const std::string png = drawn("png", small(), {.width = 600});
  CHECK(png.starts_with("\x89PNG\r\n\x1A\n"));
  CHECK(png.substr(png.size() - 8, 4) == "IEND");
  CHECK(big_endian(png, 16) == 1200);
  const std::string svg = drawn("svg", small(), {.width = 600, .script = false});
  const size_t at = svg.find(" height=\"") + 9;
  CHECK(big_endian(png, 20) == std::floor(2 * std::stod(svg.substr(at, 20))));
  CHECK(drawn("png", small(), {.width = 600}) == png);
}

TEST_CASE("text and boxes are drawn") {
  const auto with_name = [](std::string_view name) {
    Profile p = bytes();
    add(p, {name}, 1000);
    return drawn("png", p);
  };
  CHECK(with_name("first") != with_name("other"));
}

TEST_CASE("a PDF") {
  const std::string pdf = drawn("pdf", small(), {.width = 600});
  CHECK(pdf.starts_with("%PDF-1."));
  CHECK(pdf.find("%%EOF") != std::string::npos);
  // Since 1.18 cairo packs what says so.
  if (pdf.find("/ObjStm") == std::string::npos)
    CHECK(pdf.find("/MediaBox [ 0 0 450 ") != std::string::npos);
}

TEST_CASE("large pictures are drawn smaller, or refused with what helps") {
  CHECK(raster_size(RasterForm::png, 1200, 500).width == 2400);
  const RasterSize tall = raster_size(RasterForm::png, 1200, 30000);
  CHECK(tall.height <= 32767);
  CHECK(tall.width * tall.height <= 1U << 26);
  CHECK(std::abs(tall.width / tall.height - 1200.0 / 30000) < 0.001);
  CHECK(size_refused(1200, 311300)
            .starts_with("a picture of 1,200 × 311,300 px is too large for a PNG: merge"));
  CHECK(size_refused(1200, 311300).find("--minwidth") != std::string::npos);
  CHECK(size_refused(1200, 60000).empty());
  CHECK(raster_size(RasterForm::pdf, 1200, 311300).height == doctest::Approx(14400));
}

TEST_CASE("hostile names are drawn as text") {
  Profile p = bytes();
  for (const std::string_view name :
       {"</text><image href=\"file:///etc/passwd\"/>",
        "<!ENTITY x SYSTEM \"file:///etc/passwd\">&x;", "\x1B]0;title\x07\xFF\xFE",
        "@import url(http://localhost/);", "\xE2\x80\xAE right to left", "]]></svg><svg>", ""})
    add(p, {"main", name}, 1000);
  add(p, {"main", std::string(1 << 20, 'x')}, 1000);
  p.meta.title = "</title><script>alert(1)</script>";
  p.meta.notes = {"&lol;<use href=\"#x\"/>"};
  CHECK(drawn("png", p).starts_with("\x89PNG"));
  CHECK(drawn("pdf", p).starts_with("%PDF"));
}

TEST_CASE("deep stacks are refused by the PNG, and not cut") {
  Profile p = bytes();
  StackId stack;
  for (int i = 0; i < 8000; ++i) stack = p.push(stack, "f");
  p.add(stack, std::vector<int64_t>{1000});
  CHECK_THROWS_AS(drawn("png", p, {.max_boxes = 10000}), Error);
}

TEST_CASE("an SVG that cannot be read is an error") {
  CHECK_THROWS_AS(draw_raster(RasterForm::png, "<svg", [](std::string_view) { return true; }),
                  Error);
}
