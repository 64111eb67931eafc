// SPDX-License-Identifier: BSD-2-Clause
// The outputs for other programs' tables and drawings: CSV and a JSON tree.
#include <doctest/doctest.h>
#include <zlib.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "core/gzip.h"
#include "render/order/ordered_stacks.h"
#include "render/output.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Json = nlohmann::json;

std::string text(std::string_view format, const Profile& p, const RenderOptions& options = {}) {
  std::ostringstream out;
  output_for(format, "").write(out, p, options);
  return out.str();
}

Profile example() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"calls", Unit::count}};
  p.types[1].decimals = 1;
  const StackId main = p.push(p.push({}, "server", FrameKind::process), "main");
  p.add(p.push(main, "g \"x\", y"), std::array<int64_t, 2>{-5, 15});
  p.add(p.push(main, "f", FrameKind::kernel, "lib", "a.c", 1), std::array<int64_t, 2>{4096, 20});
  p.add(main, std::array<int64_t, 2>{1, 1});
  return p;
}

}  // namespace

TEST_CASE("CSV: a line a stack, quoted where it has to be") {
  CHECK(text("csv", example()) ==
        "stack,live (bytes),calls (count),source\r\n"
        "server;main,1,0.1,;\r\n"
        "server;main;f_[k],4096,2.0,;;a.c:1\r\n"
        "\"server;main;g \"\"x\"\", y\",-5,1.5,;;\r\n");
  Profile estimate;
  estimate.types = {{"of, live", Unit::bytes, 1, 4.0}, {"v", Unit::variance}};
  estimate.add(estimate.push({}, "a;b\n"), std::array<int64_t, 2>{100, 9});
  CHECK(text("csv", estimate) ==
        "stack,\"of, live (bytes)\",\"of, live ± (bytes)\"\r\na:b\xEF\xBF\xBD,100,6\r\n");
}

TEST_CASE("tree: name, value, children") {
  CHECK(Json::parse(text("tree", example(), {.title = "T"})) == Json::parse(R"(
    {"name":"T","value":4092,"self":0,"values":{"live":4092,"calls":3.6},"children":[
     {"name":"server","kind":"process","value":4092,"self":0,"values":{"live":4092,"calls":3.6},
      "children":[{"name":"main","value":4092,"self":1,"values":{"live":4092,"calls":3.6},
       "children":[
        {"name":"f","kind":"kernel","module":"lib","file":"a.c","line":1,"value":4096,"self":4096,
         "values":{"live":4096,"calls":2.0}},
        {"name":"g \"x\", y","value":-5,"self":-5,"values":{"live":-5,"calls":1.5}}]}]}]})"));
  Profile empty;
  empty.types = {{"live", Unit::bytes}};
  CHECK(Json::parse(text("tree", empty)) ==
        Json::parse(R"({"name":"all","value":0,"self":0,"values":{"live":0}})"));
  Profile siblings;
  siblings.types = {{"live", Unit::bytes}};
  for (const char* a : {"a", "b"})
    for (const char* b : {"c", "d"})
      siblings.add(siblings.push(siblings.push({}, a), b), std::array<int64_t, 1>{1});
  const Json json = Json::parse(text("tree", siblings));
  CHECK(json["children"][1]["children"][1]["name"] == "d");
  CHECK(json["children"][0]["value"] == 2);
}

TEST_CASE("a million frames deep") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  StackId top;
  for (size_t i = 0; i < scaled(1'000'000); ++i) top = p.push(top, "f");
  p.add(top, std::array<int64_t, 1>{1});
  for (const char* format : {"tree", "speedscope", "csv", "pprof"}) CHECK(!text(format, p).empty());
}

TEST_CASE("the order of stacks is that of their names") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const auto add = [&](const char* a, const char* b) {
    p.add(p.push(p.push({}, a), b), std::array<int64_t, 1>{1});
  };
  add("b", "y");
  add("a-", "x");
  add("a", "z");
  add("b", "x");
  p.push(p.push({}, "unused"), "too");
  std::string order;
  for (const StackId stack : ordered_stacks(p))
    order += std::string(p.strings[p.frames[p.stacks[stack].frame].function]) + " ";
  CHECK(order == "a z a- x b x y ");
  p.add({}, std::array<int64_t, 1>{1});
  CHECK(ordered_stacks(p)[0] == StackId{});
  CHECK(ordered_stacks(p).size() == 8);
}

TEST_CASE("gzip is the same for the same bytes") {
  const auto packed = [](size_t piece) {
    std::ostringstream out;
    Gzip gzip(out);
    const std::string bytes(300000, 'x');
    for (size_t at = 0; at < bytes.size(); at += piece) gzip.write({&bytes[at], piece});
    gzip.finish();
    return out.str();
  };
  CHECK(packed(300000) == packed(1000));
  CHECK(packed(1000).starts_with("\x1f\x8b"));
}

TEST_CASE("gzip in pieces is one member, whoever packs it") {
  std::string text;
  for (uint32_t i = 0; text.size() < 7'000'000; ++i) text += std::to_string(i * 2654435761U) + ";";
  for (const size_t size : {size_t{0}, size_t{5}, size_t{2} << 20U, text.size()}) {
    const std::string bytes = text.substr(0, size);
    const std::string packed = gzip_packed(bytes, 1);
    CHECK(gzip_packed(bytes, 2) == packed);
    CHECK(gzip_packed(bytes, 9) == packed);
    z_stream stream{};
    REQUIRE(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK);
    std::string back(size + 1, '\0'), in = packed;
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(back.data());
    stream.avail_out = static_cast<uInt>(back.size());
    CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
    CHECK(stream.avail_in == 0);
    back.resize(stream.total_out);
    CHECK(back == bytes);
    inflateEnd(&stream);
  }
}
