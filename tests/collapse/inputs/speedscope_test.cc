// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "collapse/text/json_number.h"
#include "render/output.h"
#include "tests/collapse/inputs/inputs.h"
#include "tests/collapse/inputs/round_trip.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// A document with frames f0, f1, … and the given profiles.
std::string document(const std::string& profiles) {
  return R"({"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[)" +
         profiles +
         R"(],"shared":{"frames":[{"name":"main","file":"a.c","line":3},{"name":"f"},
           {"name":"g","col":4}]},"activeProfileIndex":0,"name":"of a test","exporter":"x"})";
}

std::string sampled(const std::string& unit, const std::string& samples, const std::string& weights,
                    const std::string& name = "one") {
  return R"({"type":"sampled","name":")" + name + R"(","unit":")" + unit +
         R"(","startValue":0,"endValue":9,"samples":)" + samples + R"(,"weights":)" + weights + "}";
}

std::string evented(const std::string& events, const std::string& unit = "nanoseconds") {
  return R"({"type":"evented","name":"thread 1","unit":")" + unit +
         R"(","startValue":0,"endValue":100,"events":[)" + events + "]}";
}

std::string event(char type, int frame, const std::string& at) {
  return std::string(R"({"type":")") + type + R"(","frame":)" + std::to_string(frame) +
         R"(,"at":)" + at + "}";
}

std::string written(const Profile& profile, bool lines = false) {
  std::ostringstream out;
  write_speedscope(out, profile, {.lines = lines});
  return out.str();
}

bool has_note(const Profile& profile, const std::string& text) {
  for (const std::string& note : profile.meta.notes)
    if (note.find(text) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("samples with weights") {
  const Profile p = read_text(document(sampled("bytes", "[[0,1],[0],[0,1]]", "[10,5,1]")));
  CHECK(p.types == std::vector<ValueType>{{"bytes", Unit::bytes}});
  CHECK(stacks(p) == Stacks{{"main;f", 11}, {"main", 5}});
  CHECK(p.meta.title == "of a test");
  const Profile lines = read_text(document(sampled("none", "[[0]]", "[1]")), {}, {.lines = true});
  CHECK(told(lines).count("main | 0 |  | a.c:3\n") == 1);
  CHECK(lines.types[0].unit == Unit::count);
  CHECK(read_text(document(sampled("none", "[[0]]", "[1]")), {},
                  {.type = ValueType{"pages", Unit::pages}})
            .types[0]
            .unit == Unit::pages);
}

TEST_CASE("weights before their samples, and frames before or behind") {
  const Profile p = read_text(
      R"({"shared":{"frames":[{"name":"a"}]},"exporter":"x","profiles":[{"weights":[1,2],
         "samples":[[0],[0,0]],"type":"sampled","unit":"bytes","name":"n"}]})");
  CHECK(stacks(p) == Stacks{{"a", 1}, {"a;a", 2}});
}

TEST_CASE("events: what is open takes the time") {
  const Profile p = read_text(document(
      evented(event('O', 0, "10") + "," + event('O', 1, "12") + "," + event('C', 1, "20") + "," +
              event('C', 0, "21") + "," + event('O', 2, "50") + "," + event('C', 2, "57"))));
  CHECK(stacks(p) == Stacks{{"main", 3}, {"main;f", 8}, {"g", 7}});
  CHECK(p.types[0].unit == Unit::nanoseconds);
}

TEST_CASE("events that do not fit are counted") {
  const Profile p = read_text(
      document(evented(event('O', 0, "10") + "," + event('C', 1, "20") + "," + event('O', 1, "15") +
                       "," + event('X', 1, "15") + "," + event('O', 7, "30"))));
  CHECK(stacks(p) == Stacks{{"main", 10}, {"main;f", 10}, {"main;f;[unknown]", 70}});
  for (const char* text :
       {"closes while another", "earlier than the one before", "neither open nor close",
        "a frame that is not there", "still open at the end"})
    CHECK_MESSAGE(has_note(p, text), text);
}

TEST_CASE("comments that contradict each other") {
  const std::string text = document(sampled("bytes", "[[0]]", "[1]"));
  const std::string comments = R"({"memflame":["# memflame folded unit=bytes value=live total=1",)"
                               R"("# memflame folded unit=pages value=gained total=1"],)";
  CHECK(error_of(comments + text.substr(1)).starts_with("text: texts of live"));
}

TEST_CASE("several profiles: each has its root; several units: each has its column") {
  const Profile p = read_text(document(sampled("bytes", "[[0]]", "[1]", "thread 1") + "," +
                                       sampled("bytes", "[[0]]", "[2]", "thread 2") + "," +
                                       sampled("seconds", "[[0]]", "[3]", "thread 1")));
  CHECK(stacks(p, "bytes") == Stacks{{"thread 1;main", 1}, {"thread 2;main", 2}});
  CHECK(stacks(p, "nanoseconds") == Stacks{{"thread 1;main", 3000000000}});
}

TEST_CASE("fractions stay exact") {
  const auto read = [](const std::string& unit, const std::string& weights) {
    return read_text(document(sampled(unit, "[[0],[0,1]]", weights)));
  };
  Profile p = read("none", "[0.5, 12.125]");
  CHECK(p.types[0].decimals == 3);
  CHECK(stacks(p) == Stacks{{"main", 500}, {"main;f", 12125}});
  p = read("milliseconds", "[0.5, 1e-3]");
  CHECK(p.types[0].decimals == 0);
  CHECK(stacks(p) == Stacks{{"main", 500000}, {"main;f", 1000}});
  p = read("microseconds", "[12.340000000000001, 1]");
  CHECK(stacks(p)["main"] == 12340000000000);  // of 10^-9 ns
  CHECK(has_note(p, "rounded"));
  CHECK(p.types[0].decimals == 9);
  CHECK(read("none", "[9223372036854775807, 0]").total(0) == INT64_MAX);
  p = read("none", "[922337203685477580, 0.5]");
  CHECK(p.types[0].decimals == 0);
  CHECK(has_note(p, "rounded"));
  for (const char* weights : {"[9223372036854775808, 0]", "[1e19, 0]", "[1e300, 1e300]"})
    CHECK(error_of(document(sampled("none", "[[0],[0]]", weights))).find("64 bits") !=
          std::string::npos);
}

TEST_CASE("what is not there is counted") {
  const Profile p = read_text(
      document(sampled("bytes", "[[0,9],[-1],[],[0]]", "[1,2,4]") + R"(,{"type":"odd"})"));
  CHECK(stacks(p) == Stacks{{"one;main;[unknown]", 1}, {"one;[unknown]", 2}, {"one", 4}});
  for (const char* text : {"a frame that is not there", "not as many samples as weights",
                           "neither sampled nor evented"})
    CHECK_MESSAGE(has_note(p, text), text);
}

TEST_CASE("no document, no profiles") {
  const std::string whole = document(sampled("bytes", "[[0]]", "[1]"));
  for (size_t size = 0; size < whole.size(); ++size)
    CHECK(error_of(whole.substr(0, size), "speedscope") != "");
  CHECK(error_of(whole.substr(0, whole.size() - 1)).find("ends in the middle") !=
        std::string::npos);
  CHECK(error_of(document("")) == "text: it has no profiles");
  CHECK(error_of("[[1]]", "speedscope") == "text: it has no profiles");
  const std::string deep(1000000, '[');
  CHECK(error_of(deep, "speedscope").find("ends in the middle") != std::string::npos);
}

TEST_CASE("recognition") {
  const std::string whole = document(sampled("bytes", "[[0]]", "[1]"));
  CHECK(recognised(whole) == "speedscope");
  CHECK(recognised("\n " + whole.substr(0, 200)) == "speedscope");
  CHECK(recognised("see speedscope.app/file-format-schema.json 1\n") == "folded");
  CHECK(recognised(R"({"head":{"callFrame":{}}})") != "speedscope");
}

TEST_CASE("what is written is a document that reads back the same") {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    Profile p = random_profile(seed, {.negative = false, .decimals = 2});
    const std::string text = written(p, true);
    CAPTURE(seed);
    CHECK(nlohmann::json::parse(text)["profiles"].size() == 3);
    const Profile back = read_text(text, {}, {.lines = true});
    CHECK(told(back) == told(p));
    CHECK(back.types == p.types);
    CHECK(back.shown == p.shown);
    CHECK(back.meta.title == p.meta.title);
    CHECK(back.meta.notes == p.meta.notes);
    CHECK(back.losses[Loss::ring_full].events == 3);
    CHECK(written(back, true) == text);
  }
}

TEST_CASE("the document for speedscope itself") {
  Profile p;
  p.types = {{"v", Unit::variance}, {"live", Unit::pages}, {"used", Unit::bytes}};
  p.shown = 2;
  const StackId main = p.push({}, "main");
  p.add(p.push(main, "f", FrameKind::kernel, "ext4"), std::array<int64_t, 3>{1, 2, INT64_MAX});
  p.add(main, std::array<int64_t, 3>{0, -2, 0});
  const auto json = nlohmann::json::parse(written(p));
  CHECK(json["exporter"] == "memflame");
  CHECK(json["activeProfileIndex"] == 1);
  CHECK(json["shared"]["frames"][1] ==
        nlohmann::json::parse(R"({"name":"f","module":"ext4","kind":"kernel"})"));
  CHECK(json["profiles"][0]["unit"] == "none");
  CHECK(json["profiles"][0]["samples"] == nlohmann::json::parse("[[0,1]]"));
  CHECK(json["profiles"][0]["weights"] == nlohmann::json::parse("[2]"));
  CHECK(json["profiles"][1]["endValue"] == INT64_MAX);
  CHECK(
      left_out(output_for("speedscope", ""), p) ==
      std::vector<std::string>{"figures beyond 2^53, which its readers round", "negative figures"});
}

TEST_CASE("numbers of JSON") {
  const auto scaled = [](std::string_view text, int decimals) {
    JsonNumber number;
    REQUIRE(parse_json_number(text, number));
    int64_t value = 0;
    bool rounded = false;
    if (!number.scaled(decimals, value, rounded)) return std::string("too large");
    return std::to_string(value) + (rounded ? "~" : "");
  };
  CHECK(scaled("0", 3) == "0");
  CHECK(scaled("-12.5e-1", 2) == "-125");
  CHECK(scaled("1.25", 1) == "13~");
  CHECK(scaled("-1.25", 1) == "-13~");
  CHECK(scaled("1.24", 1) == "12~");
  CHECK(scaled("1.0000000000000000000001", 0) == "1~");
  CHECK(scaled("100000000000000000000e-20", 0) == "1");
  CHECK(scaled("1e-99999999999999999999", 9) == "0~");
  CHECK(scaled("1e99999999999999999999", 0) == "too large");
  CHECK(scaled("-0.0", 5) == "0");
  CHECK(scaled("-9223372036854775808", 0) == "-9223372036854775808");
  CHECK(scaled("-9223372036854775809", 0) == "too large");
  CHECK(scaled("9223372036854775807.9", 0) == "9223372036854775807~");
  JsonNumber number;
  for (const char* text :
       {"", "-", "1.", ".5", "1e", "0x1", "+1", "1e+", "nan", "1 ", "01", "1-2", "1.2.3"})
    CHECK_MESSAGE(!parse_json_number(text, number), text);
}
