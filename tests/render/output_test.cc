// SPDX-License-Identifier: BSD-2-Clause
#include "render/output.h"

#include <doctest/doctest.h>

#include <array>

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
  CHECK(output_for("", "x.html").name == "html");
  CHECK(output_for("", "a/b.c.json").name == "json");
  CHECK(output_for("json", "x.svg").name == "json");
  CHECK(output_for("folded", "x.txt").name == "folded");
  for (const Output& output : outputs()) {
    CHECK(&output_for(output.name, "") == &output);
    CHECK(!output.help.empty());
  }
}

TEST_CASE("the longest suffix decides") {
  CHECK(output_for("", "x.pb.gz").name == "pprof");
  CHECK(output_for("", "a.b/x.pb.gz").name == "pprof");
  CHECK(error_of("", "x.gz").find("no format is written to '.gz' files") != std::string::npos);
}

TEST_CASE("what there is not is told with what there is") {
  std::string names, suffixes;
  for (const Output& output : outputs()) {
    names += (names.empty() ? "" : ", ") + std::string(output.name);
    suffixes += (suffixes.empty() ? "" : ", ") + std::string(output.suffix);
  }
  CHECK(names.starts_with("svg, html, folded, json, pprof"));
  CHECK(error_of("gif", "") == "--format gif: there are " + names);
  CHECK(error_of("", "x.gif") == "-o x.gif: no format is written to '.gif' files (there are " +
                                     suffixes + "); name one with --format " + names);
}

TEST_CASE("what a format has no place for is told") {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"calls"}, {"off", Unit::variance}};
  p.add(p.push({}, "f"), std::array<int64_t, 3>{1, 2, 3});
  const auto told = [&](std::string_view format) { return left_out(output_for(format, ""), p); };
  CHECK(told("json").empty());
  CHECK(told("pprof").empty());
  CHECK(told("folded") == std::vector<std::string>{"the columns calls"});
  p.types[0].variance = 2;
  p.types[0].decimals = 1;
  p.add(p.push({}, "f", FrameKind::kernel, "ext4", "a.c", 1), std::array<int64_t, 3>{-1, 2, 3});
  CHECK(told("svg").empty());
  CHECK(told("pprof") ==
        std::vector<std::string>{"the errors of estimates", "fractions: figures are rounded"});
  CHECK(told("json").empty());
  CHECK(told("csv") == std::vector<std::string>{"the modules of frames"});
}

TEST_CASE("names that end as marks of folded text do are told where they are read back as marked") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const auto add = [&](std::string_view name, FrameKind kind) {
    p.add(p.push({}, name, kind), std::array<int64_t, 1>{1});
  };
  const auto told = [&](std::string_view format) { return left_out(output_for(format, ""), p); };
  // The frame's mark is read.
  add("f_[k]", FrameKind::kernel);
  add("f_[k]", FrameKind::jit);
  add("f_[w]", FrameKind::user);
  add("_[k]f", FrameKind::user);
  CHECK(told("folded").empty());
  add("f_[j]", FrameKind::user);
  CHECK(told("folded").size() == 1);
  CHECK(told("folded")[0].starts_with("names that end as its marks do"));
  for (const char* format : {"json", "pprof", "speedscope", "csv", "svg"})
    CHECK(told(format).empty());
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
