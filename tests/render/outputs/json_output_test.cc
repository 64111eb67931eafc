// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "collapse/input.h"
#include "render/output.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Json = nlohmann::json;

std::string text(const Profile& p, const RenderOptions& options = {}) {
  std::ostringstream out;
  write_json(out, p, options);
  return out.str();
}

Profile example() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  const StackId main = p.push(p.push({}, "server", FrameKind::process), "main");
  p.add(p.push(main, "g"), std::array<int64_t, 2>{-5, 1});
  p.add(p.push(main, "f", FrameKind::user, "lib", "a.c", 1), std::array<int64_t, 2>{4096, 2});
  p.add(p.push(main, "f", FrameKind::user, "lib", "a.c", 2), std::array<int64_t, 2>{1, 1});
  p.meta = {.title = "T",
            .command = "memflame alloc -p 1",
            .host = "h",
            .seconds = 0.25,
            .reconciliation = {{"VmRSS growth", INT64_MAX, INT64_MIN},
                               {"[heap] growth", 1, std::nullopt}},
            .notes = {"n1", "n2"}};
  p.losses.add(Loss::ring_full, UINT64_MAX, -3);
  return p;
}

}  // namespace

TEST_CASE("the document is as promised") {
  const Json json = Json::parse(text(example()));
  CHECK(json["format"] == "memflame-profile");
  CHECK(json["version"] == 1);
  CHECK(json["title"] == "T");
  CHECK(json["command"] == "memflame alloc -p 1");
  CHECK(json["host"] == "h");
  CHECK(json["seconds"] == 0.25);
  CHECK(json["shown"] == 0);
  CHECK(json["estimated"] == false);
  CHECK(json["sampling"] == "");
  CHECK(json["value_types"] == Json::parse(R"([{"name":"live","unit":"bytes"},
                                               {"name":"live-count","unit":"count"}])"));
  CHECK(json["places"] == Json::parse(R"([{"kind":"user","module":"lib","file":"a.c","line":1},
                        {"kind":"user","module":"lib","file":"a.c","line":2},
                        {"kind":"process"}])"));
  CHECK(json["stacks"] ==
        Json::parse(R"([{"frames":["server","main","f"],"places":[3,0,1],"values":[4096,2]},
                        {"frames":["server","main","f"],"places":[3,0,2],"values":[1,1]},
                        {"frames":["server","main","g"],"places":[3,0,0],"values":[-5,1]}])"));
  CHECK(json["reconciliation"] ==
        Json::parse(R"([{"name":"VmRSS growth","captured":9223372036854775807,
                         "os":-9223372036854775808},
                        {"name":"[heap] growth","captured":1,"os":null}])"));
  CHECK(json["notes"] == Json::parse(R"(["n1","n2"])"));
  CHECK(json["losses"].size() == loss_info.size());
  CHECK(json["losses"]["ring_full"]["events"] == UINT64_MAX);
  CHECK(json["losses"]["ring_full"]["bytes"] == -3);
  CHECK(json["losses"]["free_miss"]["events"] == 0);
  CHECK(json.size() == 15);
}

TEST_CASE("an empty profile is a document too") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const Json json = Json::parse(text(p));
  CHECK(json["stacks"] == Json::array());
  CHECK(json["notes"] == Json::array());
  CHECK(json["title"] == "");
}

TEST_CASE("hostile names stay names, and what is replaced is counted") {
  Profile p;
  p.types = {{"li\"ve", Unit::bytes}};
  const std::string name = "a;b\"],\"values\":[9],\\\n\x01\xff</script>\xe6\xbc\xa2";
  p.add(p.push(p.push({}, name), ""), std::array<int64_t, 1>{1});
  p.meta.notes = {"\x02\""};
  const Json json = Json::parse(text(p, {.title = "\"\\"}));
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(json["stacks"][0]["frames"] ==
        Json({"a;b\"],\"values\":[9],\\" + bad + bad + bad + "</script>\xe6\xbc\xa2", ""}));
  CHECK(json["stacks"][0]["values"] == Json({1}));
  CHECK(json["losses"]["replaced_bytes"]["events"] == 4);
  CHECK(json["title"] == "\"\\");
  CHECK(json["value_types"][0]["name"] == "li\"ve");
}

TEST_CASE("the order of insertion does not show") {
  Profile a, b;
  a.types = b.types = {{"live", Unit::bytes}};
  for (const char* name : {"x", "y", "a"}) a.add(a.push({}, name), std::array<int64_t, 1>{1});
  for (const char* name : {"a", "x", "y"}) b.add(b.push({}, name), std::array<int64_t, 1>{1});
  CHECK(text(a) == text(b));
}

TEST_CASE("estimates say so, and how far off each frame may be") {
  Profile p;
  p.types = {
      {"live variance", Unit::variance}, {"calls", Unit::count}, {"live", Unit::bytes, 0, 4.0}};
  p.shown = 2;
  p.meta.sampling = "1 in 10 allocations";
  const StackId main = p.push({}, "main");
  const auto add = [&](StackId stack, int64_t bytes, int64_t variance) {
    p.add(stack, std::array<int64_t, 3>{variance, 1, bytes});
  };
  add(p.push(p.push(main, "f"), "g"), 100, 9);
  add(p.push(main, "f"), 50, 16);
  add(p.push(p.push(main, "f g"), "g"), 7, 0);  // sorts after "f" with its callees
  add(p.push({}, "main2"), 10, 144);
  const Json json = Json::parse(text(p));
  CHECK(json["estimated"] == true);
  CHECK(json["sampling"] == "1 in 10 allocations");
  CHECK(json["value_types"] == Json::parse(R"([{"name":"calls","unit":"count"},
                                               {"name":"live","unit":"bytes"}])"));
  CHECK(json["shown"] == 1);
  CHECK(json["stacks"] == Json::parse(R"([
    {"frames":["main","f"],"values":[1,50],"self_error":[0,8],"error":[10,10]},
    {"frames":["main","f","g"],"values":[1,100],"self_error":[0,6],"error":[10,10,6]},
    {"frames":["main","f g","g"],"values":[1,7],"self_error":[0,0],"error":[10,0,0]},
    {"frames":["main2"],"values":[1,10],"self_error":[0,24],"error":[24]}])"));
}

TEST_CASE("verdicts are written with their stacks, and read back in their order") {
  Profile p = example();
  const StackId g = p.touched()[0], f = p.touched()[1];
  p.marks = {{g, VerdictKind::leak, true, 19557.6, "leak: \"2 %\"\n", "g"},
             {f, VerdictKind::cache, false, 0, "cache or pool", "f"}};
  const Json json = Json::parse(text(p));
  size_t found = 0;
  for (const Json& stack : json["stacks"]) {
    if (!stack.contains("verdict")) continue;
    ++found;
    const Json& verdict = stack["verdict"];
    CHECK(verdict["label"] == stack["frames"].back());
    if (verdict["label"] != "g") continue;
    CHECK(verdict["kind"] == "leak");
    CHECK(verdict["marked"] == 1);
    CHECK(verdict["bytes_per_second"] == 19558);
  }
  CHECK(found == 2);
  Source source = Source::of_memory(text(p), "x.json");
  const Profile read = read_profile(source, "", {});
  REQUIRE(read.marks.size() == 2);
  CHECK(read.marks[0].kind == VerdictKind::leak);
  CHECK(read.marks[0].is_drawn);
  CHECK(read.marks[0].label == "g");
  CHECK(read.values(read.marks[0].stack)[0] == -5);
  CHECK(read.marks[1].kind == VerdictKind::cache);
  CHECK(!read.marks[1].is_drawn);
}
