#include "render/output.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string error_of(std::string_view format, std::string_view path) {
  try {
    output_for(format, path);
  } catch (const Error& error) {
    CHECK(error.exit_code == ExitCode::usage);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the format, else the suffix, else SVG") {
  CHECK(output_for("", "").name == "svg");
  CHECK(output_for("", "-").name == "svg");
  CHECK(output_for("", "/dev/stdout").name == "svg");
  CHECK(output_for("", "dir.json/graph").name == "svg");
  CHECK(output_for("", ".svg").name == "svg");
  CHECK(output_for("", "x.folded").name == "folded");
  CHECK(output_for("", "a/b.c.json").name == "json");
  CHECK(output_for("json", "x.svg").name == "json");
  CHECK(output_for("folded", "x.txt").name == "folded");
  for (const Output& output : outputs()) {
    CHECK(&output_for(output.name, "") == &output);
    CHECK(!output.help.empty());
  }
}

TEST_CASE("what there is not is told with what there is") {
  CHECK(error_of("html", "") == "--format html: there are svg, folded, json");
  CHECK(error_of("", "x.png") ==
        "-o x.png: no format is written to '.png' files (there are .svg, .folded, .json); name one "
        "with --format svg, folded, json");
}

TEST_CASE("options out of range are refused before anything is measured") {
  CHECK_NOTHROW(check_render_options({}));
  for (const RenderOptions& options : std::initializer_list<RenderOptions>{{.palette = "nonsense"},
                                                                           {.width = 10},
                                                                           {.min_width = -1},
                                                                           {.min_width = 5000},
                                                                           {.font_size = 100},
                                                                           {.max_depth = 1}})
    CHECK_THROWS_AS(check_render_options(options), Error);
}
