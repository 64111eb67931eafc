// SPDX-License-Identifier: BSD-2-Clause
#include "render/text/clean_text.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string cleaned(std::string_view text, uint64_t expected_replaced) {
  uint64_t replaced = 0;
  std::string clean = clean_text(text, replaced);
  CHECK(replaced == expected_replaced);
  return clean;
}

const std::string bad = "\xEF\xBF\xBD";

}  // namespace

TEST_CASE("text stays as it is") {
  for (const std::string_view text :
       {"", "operator<(A const&)", "na\xc3\xafve \xe6\xbc\xa2 \xf0\x9f\x94\xa5",
        "\xf4\x8f\xbf\xbd"})
    CHECK(cleaned(text, 0) == text);
}

TEST_CASE("plain text is printable ASCII, whatever stands beside it") {
  CHECK(is_plain_text(""));
  CHECK(is_plain_text(" operator<(A const&)~"));
  const std::string plain(17, '~');
  for (size_t at = 0; at < plain.size(); ++at)
    for (const int byte : {0, 1, 0x1F, 0x7F, 0x80, 0x9F, 0xA0, 0xFE, 0xFF})
      for (const char beside : {'~', ' ', '\0', '\xff'}) {
        std::string text = plain;
        text[(at + 1) % text.size()] = beside;
        text[at] = static_cast<char>(byte);
        CHECK_FALSE(is_plain_text(text));
        text[at] = 'a';
        CHECK(is_plain_text(text) == (beside == '~' || beside == ' '));
      }
}

TEST_CASE("each byte that is not text is replaced and counted") {
  CHECK(cleaned("a\xff\xfe", 2) == "a" + bad + bad);
  CHECK(cleaned("cut \xe6\xbc", 2) == "cut " + bad + bad);
  CHECK(cleaned("overlong \xc0\xaf", 2) == "overlong " + bad + bad);
  CHECK(cleaned("overlong \xe0\x80\xaf", 3) == "overlong " + bad + bad + bad);
  CHECK(cleaned("surrogate \xed\xa0\x80", 3) == "surrogate " + bad + bad + bad);
  CHECK(cleaned("too large \xf4\x90\x80\x80", 4) == "too large " + bad + bad + bad + bad);
  CHECK(cleaned(std::string_view("\0\n\t\x1b\x7f", 5), 5) == bad + bad + bad + bad + bad);
  CHECK(cleaned("C1 \xc2\x85", 2) == "C1 " + bad);
  CHECK(cleaned("no character \xef\xbf\xbe \xef\xbf\xbf", 6) == "no character " + bad + " " + bad);
  CHECK(cleaned("turned \xe2\x80\xae, \xe2\x81\xa6", 6) == "turned " + bad + ", " + bad);
}

TEST_CASE("all strings of a profile") {
  Profile p;
  p.push({}, "f\x01", FrameKind::user, "lib\xff");
  p.push({}, "g");
  const CleanStrings clean = clean_strings(p);
  CHECK(clean.replaced == 2);
  CHECK(clean[p.strings.intern("f\x01")] == "f" + bad);
  CHECK(clean[p.strings.intern("g")] == "g");
  CHECK(replaced_bytes(p) == 2);
}

TEST_CASE("escapes") {
  std::string xml;
  append_xml(xml, R"(<a b="c">&amp;]]>'\)");
  CHECK(xml == R"(&lt;a b=&quot;c&quot;&gt;&amp;amp;]]&gt;'\)");
  std::string json;
  append_json(json, R"(say "\n")");
  CHECK(json == R"(say \"\\n\")");
}

TEST_CASE("numbers read back as the same number") {
  CHECK(number_text(60.02) == "60.02");
  CHECK(number_text(0.1 + 0.2) == "0.30000000000000004");
  CHECK(number_text(0) == "0");
  CHECK(number_text(1.0 / 0.0) == "0");
}

TEST_CASE("letters are not torn") {
  const std::string_view text = "e\xcc\x81x\xf0\x9f\x94\xa5z";  // e + accent, x, an emoji, z
  CHECK(letters(text) == 4);
  CHECK(first_letters(text, 1) == "e\xcc\x81");
  CHECK(first_letters(text, 3) == "e\xcc\x81x\xf0\x9f\x94\xa5");
  CHECK(first_letters(text, 9) == text);
  CHECK(letters("") == 0);
}
