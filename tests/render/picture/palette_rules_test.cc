// SPDX-License-Identifier: BSD-2-Clause
// Palettes with rules, owners of code, and colours that are kept.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "palettes/palettes.h"
#include "render/picture/legend.h"
#include "render/picture/palette.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string with_rules(const std::string& rules) {
  std::string text(embedded_palettes()[1].text);
  const size_t at = text.find("\"kinds\"");
  return text.insert(at, "\"rules\": " + rules + ", ");
}

std::string error_of(const std::string& rules) {
  try {
    parse_palette(with_rules(rules), "my.json");
  } catch (const Error& error) {
    CHECK(error.exit_code == ExitCode::usage);
    return error.what();
  }
  return "no error";
}

std::string legend_of(const char* palette, std::string_view name, BoxKind kind = BoxKind::user) {
  const Palette read = palette_by_name(palette);
  const size_t rule = read.rule_of(name, kind, Owner::unknown);
  return rule < read.rules.size() ? read.rules[rule].legend : "";
}

// application 4000, library 3000, allocator below both, kernel 1000, what was lost 16.
Profile owners() {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const auto add = [&](StackId stack, int64_t value) { p.add(stack, std::array{value}); };
  const StackId main =
      p.push(p.push({}, "server", FrameKind::process), "main", FrameKind::user, "/bin/server");
  const StackId library = p.push(main, "inflate", FrameKind::user, "/lib/libz.so.1.2");
  add(p.push(main, "malloc", FrameKind::user, "/lib/libc.so.6"), 4000);
  add(p.push(library, "malloc", FrameKind::user, "/lib/libc.so.6"), 3000);
  return p;
}

}  // namespace

TEST_CASE("the palettes of flamegraph.pl are there, and some more") {
  for (const char* name :
       {"code",  "hot",  "mem",  "io",     "wakeup", "chain",  "java", "js",     "perl",  "red",
        "green", "blue", "aqua", "yellow", "purple", "orange", "rust", "python", "owner", "diff"})
    CHECK(palette_by_name(name).name == name);
}

TEST_CASE("black text is readable on the colours of all rules") {
  for (const EmbeddedFile& file : embedded_palettes())
    for (const ColourRule& rule : parse_palette(file.text, "").rules) {
      CAPTURE(file.name);
      CAPTURE(rule.legend);
      CHECK(contrast(rule.range.low, {}) >= 4.5);
      CHECK(!rule.legend.empty());
    }
}

TEST_CASE("rules tell languages apart") {
  CHECK(legend_of("java", "java/lang/String.hashCode") == "Java");
  CHECK(legend_of("java", "Lorg/mozilla/Foo;:::bar") == "Java");
  CHECK(legend_of("java", "JVM::compile") == "C++");
  CHECK(legend_of("java", "write") == "");
  CHECK(legend_of("js", "LazyCompile:~f /app/server.js", BoxKind::jit) == "JavaScript");
  CHECK(legend_of("js", "Builtin:ArrayMap", BoxKind::jit) == "");
  CHECK(legend_of("js", "v8::internal::Heap") == "C++");
  CHECK(legend_of("js", "f /app/node_modules/x.js", BoxKind::jit) == "node_modules");
  CHECK(legend_of("perl", "Perl_sv_setsv") == "interpreter");
  CHECK(legend_of("perl", "Foo::bar") == "Perl");
  CHECK(legend_of("python", "/usr/lib/python3.11/json/decoder.py:decode") == "standard library");
  CHECK(legend_of("python", "/venv/lib/python3.11/site-packages/numpy/x.py:f") == "packages");
  CHECK(legend_of("python", "app.py:main") == "Python");
  CHECK(legend_of("python", "PyObject_Malloc") == "interpreter");
  CHECK(legend_of("rust", "alloc::vec::Vec<T>::push") == "standard library");
  CHECK(legend_of("rust", "<alloc::vec::Vec<T> as core::ops::Drop>::drop") == "standard library");
  CHECK(legend_of("rust", "app::parse") == "Rust");
  CHECK(legend_of("chain", "schedule_[w]") == "woken by");
}

TEST_CASE("rules without a kind leave kernel functions and merged boxes alone") {
  CHECK(legend_of("java", "java/lang/X", BoxKind::kernel) == "");
  CHECK(legend_of("rust", "a::b", BoxKind::merged) == "");
}

TEST_CASE("errors in rules say what is wrong") {
  CHECK(error_of("1") == "palette my.json: 'rules' needs a list");
  CHECK(error_of("[1]") == "palette my.json: each of 'rules' needs an object");
  CHECK(error_of(R"([{"match": "x"}])") == "palette my.json: 'colours' is missing");
  CHECK(error_of(R"([{"colours": ["#ffffff", "#ffffff"]}])") ==
        "palette my.json: each of 'rules' needs 'match', 'owner' or 'kind'");
  CHECK(error_of(R"([{"match": "(", "colours": ["#ffffff", "#ffffff"]}])")
            .starts_with("palette my.json: '(' is not a regular expression: "));
  CHECK(error_of(R"([{"match": "x", "colours": ["#000000", "#ffffff"]}])") ==
        "palette my.json: black text is not readable on 'colours' #000000: lighten it");
  CHECK(error_of(R"([{"owner": "me", "colours": ["#ffffff", "#ffffff"]}])") ==
        "palette my.json: no owner is called 'me'");
  CHECK(error_of(R"([{"kind": "me", "colours": ["#ffffff", "#ffffff"]}])") ==
        "palette my.json: no kind of frames is called 'me'");
}

TEST_CASE("whose code it is") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const auto owner = [&](std::string_view name, FrameKind kind, std::string_view module) {
    const StackId stack = p.push({}, name, kind, module);
    return owner_of(p, p.frames[p.stacks[stack].frame]);
  };
  CHECK(owner("main", FrameKind::user, "/bin/app") == Owner::application);
  CHECK(owner("main", FrameKind::inlined, "") == Owner::application);
  CHECK(owner("inflate", FrameKind::user, "/usr/lib/libz.so.1.2.13") == Owner::library);
  CHECK(owner("f", FrameKind::user, "/x/plugin.so") == Owner::library);
  CHECK(owner("clock_gettime", FrameKind::user, "[vdso]") == Owner::library);
  CHECK(owner("f", FrameKind::user, "/x/my.so.d/app") == Owner::application);
  CHECK(owner("malloc", FrameKind::user, "/usr/lib/libc.so.6") == Owner::allocator);
  CHECK(owner("operator new(unsigned long)", FrameKind::user, "") == Owner::allocator);
  CHECK(owner("do_anonymous_page", FrameKind::kernel, "") == Owner::kernel);
  CHECK(owner("LazyCompile", FrameKind::jit, "") == Owner::jit);
  CHECK(owner("0x1234", FrameKind::unknown, "") == Owner::unknown);
  CHECK(owner("[libz.so+0x1]", FrameKind::unknown, "/lib/libz.so") == Owner::library);
  CHECK(owner("malloc", FrameKind::process, "") == Owner::unknown);
}

TEST_CASE("shares by the innermost frame, or the one outside the allocator") {
  Profile p = owners();
  const Palette palette = palette_by_name("mem");
  CodeShares shares = code_shares(p, width_of(p, WidthOf::shown));
  CHECK(shares.outside_allocator);
  std::vector<LegendEntry> entries = code_legend(p, palette, shares);
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].label == "who called the allocator:");
  CHECK(entries[1].label == "application 57.1 %");
  CHECK(entries[1].tooltip == "application: 3.9 KiB (4,000 B), 57.1 % of all");
  CHECK(entries[2].label == "libz.so.1.2 42.9 %");
  CHECK(entries[2].tooltip == "/lib/libz.so.1.2: 2.9 KiB (3,000 B), 42.9 % of all");
  // Lost bytes belong to no owner, and do not change the other stacks.
  p.add(p.push({}, "[lost: ring buffer full]", FrameKind::note), std::array<int64_t, 1>{16});
  p.add(p.push({}, "fault", FrameKind::kernel), std::array<int64_t, 1>{1000});
  // Nobody is known to have called it.
  p.add(p.push({}, "malloc", FrameKind::user, "/lib/libc.so.6"), std::array<int64_t, 1>{8});
  shares = code_shares(p, width_of(p, WidthOf::shown));
  CHECK(shares.outside_allocator);
  std::vector<std::pair<Owner, int64_t>> sums;
  for (const CodeShare& share : shares.shares) sums.emplace_back(share.owner, share.sum);
  CHECK(sums == std::vector<std::pair<Owner, int64_t>>{{Owner::application, 4000},
                                                       {Owner::library, 3000},
                                                       {Owner::kernel, 1000},
                                                       {Owner::unknown, 16},
                                                       {Owner::allocator, 8}});
  entries = code_legend(p, palette_by_name("owner"), shares);
  CHECK(entries[1].colour.has_value());
}

TEST_CASE("the share of code that no allocator was called by") {
  Profile p;
  p.types = {{"resident", Unit::bytes}};
  p.add(p.push({}, "f", FrameKind::user, "app"), std::array<int64_t, 1>{1});
  const CodeShares shares = code_shares(p, width_of(p, WidthOf::shown));
  CHECK(!shares.outside_allocator);
  CHECK(code_legend(p, palette_by_name("code"), shares).at(0).label == "whose code:");
}

TEST_CASE("the largest libraries are named, the others counted") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  for (int64_t i = 1; i <= 8; ++i)
    p.add(p.push({}, "f", FrameKind::user, "/lib/lib" + std::to_string(i) + ".so"),
          std::array<int64_t, 1>{i * 100});
  std::vector<std::string> labels;
  for (const LegendEntry& entry :
       code_legend(p, palette_by_name("code"), code_shares(p, width_of(p, WidthOf::shown))))
    labels.push_back(entry.label);
  CHECK(labels == std::vector<std::string>{"whose code:", "lib8.so 22.2 %", "lib7.so 19.5 %",
                                           "lib6.so 16.7 %", "lib5.so 13.9 %", "lib4.so 11.1 %",
                                           "lib3.so 8.3 %", "application 0.0 %",
                                           "2 other libraries 8.3 %"});
}

TEST_CASE("a library has one colour: in each picture, for each version, in each folder") {
  const Palette palette = palette_by_name("code");
  const auto colour = [&](std::string_view path) {
    return palette.colour("f", BoxKind::user, {Owner::library, path});
  };
  CHECK(colour("/usr/lib/libz.so.1.2.13") == colour("/opt/libz.so.1"));
  CHECK(colour("libc.so.6") == colour("/lib/libc-2.31.so"));
  CHECK(colour("/lib/libgtk-3.so.0") == colour("/lib/libgtk-3.so.0.2404.29"));
  CHECK(colour("libz.so") != colour("libm.so"));
  CHECK(colour("libz.so") != palette.colour("f", BoxKind::user, {Owner::application}));
  // Pale for each of them: it has no name to be told apart by.
  CHECK(palette.colour("[libz.so+0x1]", BoxKind::unknown, {Owner::library, "libz.so"}) ==
        palette.colour("[libz.so+0x1]", BoxKind::unknown, {Owner::unknown}));
  CHECK(!palette_by_name("mem").library("libz.so").has_value());
}

TEST_CASE("a picture without shares says whose code has which colour") {
  const std::vector<LegendEntry> entries = code_colours(palette_by_name("code"));
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].label == "application");
  CHECK(entries[0].colour.has_value());
  CHECK(code_colours(palette_by_name("mem")).empty());
}

TEST_CASE("'libraries' of a palette file") {
  const auto error = [](const std::string& value) {
    std::string text(embedded_palettes()[1].text);
    text.insert(text.find("\"kinds\""), "\"libraries\": " + value + ", ");
    try {
      parse_palette(text, "my.json");
    } catch (const Error& failed) {
      return std::string(failed.what());
    }
    return std::string();
  };
  CHECK(error("1") == "palette my.json: 'libraries' needs a list of pairs of colours");
  CHECK(error("[1]") == "palette my.json: 'libraries' needs two colours");
  CHECK(error(R"([["#000000", "#ffffff"]])") ==
        "palette my.json: black text is not readable on 'libraries' #000000: lighten it");
  CHECK(error("[]").empty());
}

// As people see a colour who lack one kind of cones: Viénot, Brettel and Mollon 1999, on linear
// light.
TEST_CASE("whose code it is can be told without red or green cones") {
  const Palette palette = palette_by_name("code");
  using Light = std::array<double, 3>;
  const auto linear = [](uint8_t channel) { return std::pow(channel / 255.0, 2.2); };
  const auto seen = [&](Rgb colour, bool lacks_red) {
    const double r = linear(colour.red), g = linear(colour.green), b = linear(colour.blue);
    return lacks_red ? Light{0.11238 * r + 0.88762 * g, 0.11238 * r + 0.88762 * g,
                             0.00401 * r - 0.00401 * g + b}
                     : Light{0.29275 * r + 0.70725 * g, 0.29275 * r + 0.70725 * g,
                             -0.02234 * r + 0.02234 * g + b};
  };
  const auto middle_of = [](const ColourRange& range) {
    return Rgb{static_cast<uint8_t>((range.low.red + range.high.red) / 2),
               static_cast<uint8_t>((range.low.green + range.high.green) / 2),
               static_cast<uint8_t>((range.low.blue + range.high.blue) / 2)};
  };
  const Rgb application = middle_of(palette.ranges[static_cast<size_t>(BoxKind::user)]);
  for (const bool lacks_red : {true, false}) {
    const auto distance = [&](Rgb a, Rgb b) {
      const Light x = seen(a, lacks_red), y = seen(b, lacks_red);
      return std::abs(x[0] - y[0]) + std::abs(x[1] - y[1]) + std::abs(x[2] - y[2]);
    };
    CHECK(distance(application, palette.match) > 0.2);
    for (const BoxKind pale : {BoxKind::kernel, BoxKind::jit, BoxKind::unknown})
      CHECK(distance(application, middle_of(palette.ranges[static_cast<size_t>(pale)])) > 0.3);
    for (const ColourRule& rule : palette.rules)
      CHECK(distance(application, middle_of(rule.range)) > 0.3);
    for (const ColourRange& library : palette.libraries) {
      CAPTURE(hex(library.low));
      CHECK(distance(application, middle_of(library)) > 0.1);
    }
  }
}

TEST_CASE("shares add up to 100 %") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  p.add(p.push({}, "f", FrameKind::user, "app"), std::array<int64_t, 1>{1});
  p.add(p.push({}, "k", FrameKind::kernel), std::array<int64_t, 1>{1});
  p.add(p.push({}, "j", FrameKind::jit), std::array<int64_t, 1>{1});
  double sum = 0;
  for (const LegendEntry& entry :
       code_legend(p, palette_by_name("mem"), code_shares(p, width_of(p, WidthOf::shown))))
    if (const size_t at = entry.label.find_first_of("0123456789"); at != std::string::npos)
      sum += std::stod(entry.label.substr(at));
  CHECK(sum == doctest::Approx(100));
}

TEST_CASE("without files of frames, libraries are not told apart") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  p.add(p.push({}, "f"), std::array<int64_t, 1>{1});
  const auto entries =
      code_legend(p, palette_by_name("mem"), code_shares(p, width_of(p, WidthOf::shown)));
  CHECK(entries.at(1).label == "application or library 100.0 %");
}

TEST_CASE("names keep their colours in a file") {
  const std::string path = "palette_rules_test.map";
  std::remove(path.c_str());
  RenderOptions options{.colour_map = path};
  Palette palette = palette_of(options);
  CHECK(palette.fixed.empty());
  std::ofstream(path)
      << "main->rgb(250,200,1)\r\n\noperator->->rgb(200,210,220)\ndark->rgb(0,0,10)\n";
  palette = palette_of(options);
  CHECK(palette.fixed.size() == 3);
  CHECK(palette.colour("main", BoxKind::user) == Rgb{250, 200, 1});
  CHECK(palette.colour("operator->", BoxKind::kernel) == Rgb{200, 210, 220});
  CHECK(contrast(palette.colour("dark", BoxKind::user), {}) >= 4.5);
  Profile p;
  p.types = {{"live", Unit::bytes}};
  p.push(p.push(p.push({}, "main"), "new one"), "[lost: x]", FrameKind::note);
  const ColourMap map = extended_colour_map(palette, p);
  CHECK(map.size() == 4);
  CHECK(map.at("new one") == palette.colour("new one", BoxKind::user));
  CHECK(map.at("dark") == Rgb{0, 0, 10});
  std::ofstream(path) << colour_map_text(map);
  CHECK(read_colour_map(path) == map);
  for (const char* wrong :
       {"main", "main->red", "main->rgb(1,2)", "main->rgb(1,2,256)", "main->rgb(1,2,3,4)"}) {
    CAPTURE(wrong);
    std::ofstream(path) << "ok->rgb(1,2,3)\n" << wrong << "\n";
    CHECK_THROWS_WITH_AS(read_colour_map(path),
                         doctest::Contains("line 2 is not a palette map entry"), Error);
  }
  std::remove(path.c_str());
}
