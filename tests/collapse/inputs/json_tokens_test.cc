// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/text/json_tokens.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Kind = JsonTokens::Kind;

// All tokens as one text: brackets, k:key, "string", numbers and words.
std::string tokens(const std::string& text) {
  Source source = Source::of_memory(text, "text");
  JsonTokens json(source);
  std::string all;
  while (true) {
    switch (json.next()) {
      case Kind::begin_object:
        all += "{";
        break;
      case Kind::end_object:
        all += "}";
        break;
      case Kind::begin_array:
        all += "[";
        break;
      case Kind::end_array:
        all += "]";
        break;
      case Kind::key:
        all += std::string(json.text()) + ":";
        break;
      case Kind::string:
        all += "\"" + std::string(json.text()) + "\" ";
        break;
      case Kind::number:
      case Kind::word:
        all += std::string(json.text()) + " ";
        break;
      case Kind::end:
        return all;
    }
  }
}

std::string refusal(const std::string& text) {
  try {
    tokens(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::optional<int64_t> integer(const std::string& text) {
  Source source = Source::of_memory(text, "text");
  JsonTokens json(source);
  return json.take_integer();
}

}  // namespace

TEST_CASE("JSON as tokens") {
  CHECK(tokens(" { \"a\" : [ 1 , -2.5e3,true,null , {} , [] ] ,\n\"b\":\"c\" } \n") ==
        "{a:[1 -2.5e3 true null {}[]]b:\"c\" }");
  CHECK(tokens("7") == "7 ");
  CHECK(tokens("[]") == "[]");
  CHECK(tokens("\"\"") == "\"\" ");
}

TEST_CASE("strings of JSON") {
  CHECK(tokens(R"("a\"\\\/\b\f\n\r\tz")") == "\"a\"\\/\b\f\n\r\tz\" ");
  CHECK(tokens(R"("\u0041\u00e9\u20ac\ud83d\ude00")") == "\"A\u00e9\u20ac\U0001F600\" ");
  CHECK(tokens(R"("\ud83d|\ude00|\ud83d\n|\ud83d\u0041|\ud83d\ud83d\ude00")") ==
        "\"\ufffd|\ufffd|\ufffd\n|\ufffdA|\ufffd\U0001F600\" ");
  CHECK(tokens("\"\xff\x01\"") == "\"\xff\x01\" ");
  const std::string large(700000, 'x');
  CHECK(tokens("[\"" + large + "\",\"" + large + "\"]") ==
        "[\"" + large + "\" \"" + large + "\" ]");
}

TEST_CASE("integers of JSON") {
  CHECK(integer("9223372036854775807") == INT64_MAX);
  CHECK(integer("-9223372036854775808") == INT64_MIN);
  CHECK(integer("12.0") == 12);
  CHECK(integer("1.5e3") == 1500);
  CHECK_FALSE(integer("1.5").has_value());
  CHECK_FALSE(integer("\"1\"").has_value());
  CHECK_FALSE(integer("[1]").has_value());
  CHECK_FALSE(integer("1e-400").has_value());
  CHECK(integer("0e999") == 0);
  CHECK(integer("9007199254740993.0") == 9007199254740993);
  CHECK_THROWS_AS(integer("9223372036854775808"), Error);
  CHECK_THROWS_AS(integer("1e19"), Error);
  CHECK_THROWS_AS(integer("1e999"), Error);
}

TEST_CASE("what is not JSON is refused where it is wrong") {
  CHECK(refusal("[1,2") == "text: the JSON ends in the middle, at byte 4");
  CHECK(refusal("[1 2]") == "text: this is not JSON: '2' at byte 3");
  for (const char* text :
       {"",        "{",        "[",         "\"",         "\"a\\", "\"\\u12",
        "\"\\x\"", "{\"a\"",   "{\"a\":",   "{\"a\":1,}", "{1:2}", "[1,]",
        "[,1]",    "[1}",      "{]",        "[1]]",       "1 2",   "nul",
        "truee",   "{\"a\":}", "{\"a\",1}", "\xff",       "[tru",  "{\"a\":1 \"b\"}"})
    CHECK_MESSAGE(!refusal(text).empty(), text);
}

TEST_CASE("what is not a number of JSON is refused") {
  CHECK(refusal("[1-2]") == "text: this is not JSON: '1-2' at byte 4");
  for (const char* text : {"1.2.3", "-", "1.", "1e", "1e+", "--1", "01", "-01", "1+1", "1e1.5"})
    CHECK_MESSAGE(!refusal(text).empty(), text);
  for (const char* text : {"0", "-0", "0.5", "10", "-1.5e-3", "1E+05", "0e0"})
    CHECK(tokens(text) == std::string(text) + " ");
}

TEST_CASE("values can be skipped, and depth costs no stack") {
  Source source = Source::of_memory(R"([{"a":[1,{"b":2}]},"x",[[]],3])");
  JsonTokens json(source);
  REQUIRE(json.next() == Kind::begin_array);
  json.skip_value();
  json.skip_value();
  CHECK(json.take_string().empty());
  CHECK(json.take_integer() == 3);
  CHECK(json.next() == Kind::end_array);
  const std::string deep(1000000, '[');
  CHECK(refusal(deep).find("ends in the middle") != std::string::npos);
  CHECK(tokens(deep + std::string(1000000, ']')).size() == 2000000);
}

TEST_CASE("the beginning of a JSON text, without its blanks") {
  CHECK(begins_as_json(" { \"a\" :\n1", "{\"a\":"));
  CHECK(begins_as_json("{\"a\":", "{\"a\":"));
  CHECK_FALSE(begins_as_json("{\"a\"", "{\"a\":"));
  CHECK_FALSE(begins_as_json("{\"b\":", "{\"a\":"));
}
