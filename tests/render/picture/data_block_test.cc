// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/data_block.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <array>
#include <nlohmann/json.hpp>

#include "render/picture/packed.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Json = nlohmann::json;

std::string bytes_of(const std::string& base64_text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : base64_text) {
    const size_t value = digits.find(c);
    if (value == std::string_view::npos) continue;
    bits = (bits << 6U) | static_cast<uint32_t>(value);
    if ((count += 6) < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count);
  }
  return out;
}

std::string inflated(std::string packed) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK);
  std::string out(size_t{1} << 22U, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  CHECK(stream.avail_in == 0);  // one member: browsers read no second one
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

struct Written {
  Json about;
  std::string json, base64, data;
};

Written written(const Profile& p, const RenderOptions& options = {},
                const Layout* boxes = nullptr) {
  const Palette palette = palette_by_name("mem");
  const CleanStrings names = clean_strings(p);
  const DataSource source{p, options, palette, names};
  const DataNodes nodes =
      boxes != nullptr
          ? data_nodes(*boxes, {}, p)
          : data_nodes(frame_tree(p, Neighbours::by_name, width_of(p, WidthOf::shown)), p);
  Written out;
  out.json = about_json(source, nodes);
  out.about = Json::parse(out.json);
  append_data(out.base64, source, nodes);
  out.data = inflated(bytes_of(out.base64));
  return out;
}

Profile small() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"calls", Unit::count}};
  const StackId main = p.push({}, "main", FrameKind::user, "app");
  p.add(p.push(main, "g"), std::array<int64_t, 2>{300, -1});
  p.add(p.push(main, "f", FrameKind::kernel), std::array<int64_t, 2>{2, 1});
  p.add(main, std::array<int64_t, 2>{0, 5});
  return p;
}

// The colours of frames take three bytes at most; they are the palette's business.
std::string without_colours(const std::string& data, size_t begin, size_t count) {
  size_t end = begin;
  for (; count > 0; --count) {
    while (static_cast<unsigned char>(data[end]) >= 128) ++end;
    ++end;
  }
  return data.substr(0, begin) + data.substr(end);
}

}  // namespace

TEST_CASE("the data of a small profile, byte by byte") {
  using namespace std::string_literals;
  const Written w = written(small());
  const std::string expected =
      "\5\1f\0\1g\4main\3app"s  // strings
      "\3\0\2\3"s               // frames: names
      "\1\1\4\1\0\0"s           // modules, kinds
      "\4\0\0\1"s               // nodes, levels up
      "\0\2\0\1"s               // frames
      "\0\0\4\xd8\4"s           // live: 0, 0, 2, 300
      "\0\x0a\2\1"s;            // calls: 0, 5, 1, -1
  const size_t colours = w.data.find("\1\1\4\1\0\0"s) + 6;
  CHECK(without_colours(w.data, colours, 3) == expected);
}

TEST_CASE("what is said of a profile") {
  Profile p = small();
  p.meta = {.title = "a <b> & \"c\" ]]> </script><!--",
            .command = "cmd",
            .host = "h",
            .seconds = 0.25,
            .sampling = "1 in 3",
            .reconciliation = {{"r", INT64_MAX, INT64_MIN}},
            .notes = {"n\x01\xff"}};
  p.losses.add(Loss::ring_full, UINT64_MAX, -3);
  p.types[0].decimals = 2;
  p.shown = 1;
  const Written w = written(p);
  CHECK(w.json.find_first_of("<>&") == std::string::npos);
  CHECK(w.about["title"] == p.meta.title);
  CHECK(w.about["command"] == "cmd");
  CHECK(w.about["host"] == "h");
  CHECK(w.about["seconds"] == 0.25);
  CHECK(w.about["sampling"] == "1 in 3");
  CHECK(w.about["reconciliation"][0]["os"] == INT64_MIN);
  CHECK(w.about["notes"] == Json::array({"n\ufffd\ufffd"}));
  CHECK(w.about["losses"] == Json{{"ring_full", {{"events", UINT64_MAX}, {"bytes", -3}}}});
  CHECK(w.about["types"] == Json::parse(R"([{"name":"live","unit":"bytes","decimals":2},
                                            {"name":"calls","unit":"count"}])"));
  CHECK(w.about["shown"] == 1);
  CHECK(w.about["order"] == "name");
  CHECK(w.about["merged"] == 0);
}

TEST_CASE("sums beyond 2^53 are said to be large, in whatever column") {
  Profile p = small();
  CHECK(written(p).about["big"] == false);
  p.add(p.push({}, "x"), std::array<int64_t, 2>{0, -(int64_t{1} << 53U)});
  CHECK(written(p).about["big"] == true);
  Profile sum = small();
  for (const char* name : {"x", "y"})
    sum.add(sum.push({}, name), std::array<int64_t, 2>{int64_t{1} << 52U, 0});
  CHECK(written(sum).about["big"] == true);
}

TEST_CASE("merged boxes say how many frames they are") {
  const Profile p = small();
  const Layout boxes = layout(p, {.min_share = 0.5});
  const Written w = written(p, {}, &boxes);
  CHECK(w.about["merged"] == 1);
  // The nodes: count, levels up, frames (the last one is that of merged boxes), merged.
  CHECK(w.data.find(std::string("\4\0\0\1\0\1\0\2\0\0\0\1", 12)) != std::string::npos);
}

TEST_CASE("base64 as the standard has it, in lines") {
  for (const auto& [bytes, text] : {std::pair{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foobar", "Zm9vYmFy"},
                                    {"\xff\xfe\xfb", "//77"}})
    CHECK(base64(bytes) == text);
  const Written w = written(small());
  CHECK(w.base64.ends_with('\n'));
  CHECK(w.base64.find('\n') <= 120);
}

TEST_CASE("the same profile gives the same bytes, in whatever order it came") {
  Profile p = small(), q;
  q.types = p.types;
  q.push({}, "unused");
  const StackId main = q.push({}, "main", FrameKind::user, "app");
  q.add(main, std::array<int64_t, 2>{0, 5});
  q.add(q.push(main, "f", FrameKind::kernel), std::array<int64_t, 2>{2, 1});
  q.add(q.push(main, "g"), std::array<int64_t, 2>{300, -1});
  CHECK(written(p).base64 == written(q).base64);
}
