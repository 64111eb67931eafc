// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <array>
#include <random>
#include <sstream>

#include "collapse/inputs/folded/folded_numbers.h"
#include "render/output.h"
#include "tests/collapse/inputs/inputs.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Profile read(const std::string& text, const ReadOptions& options = {}) {
  return read_text(text, "folded", options);
}

std::string refusal(const std::string& text, const ReadOptions& options = {}) {
  return error_of(text, "folded", options);
}

std::string folded(const Profile& profile, const RenderOptions& options = {.header = false}) {
  std::ostringstream out;
  write_folded(out, profile, options);
  return out.str();
}

// The figures that a text is read as, like "12.5 1".
std::string number(const std::string& text) {
  Decimal parsed;
  if (!parse_decimal(text, parsed)) return "none";
  return std::to_string(parsed.digits) + (parsed.decimals != 0 ? " " : "") +
         (parsed.decimals != 0 ? std::to_string(parsed.decimals) : "") +
         (parsed.rounded ? " rounded" : "");
}

}  // namespace

TEST_CASE("numbers are exact decimals") {
  CHECK(number("0") == "0");
  CHECK(number("0012") == "12");
  CHECK(number("-7") == "-7");
  CHECK(number("12.5") == "125 1");
  CHECK(number("-0.05") == "-5 2");
  CHECK(number("20.") == "20");
  CHECK(number("1.500") == "15 1");
  CHECK(number("3.000000000000") == "3");
  CHECK(number("9223372036854775807") == "9223372036854775807");
  CHECK(number("-9223372036854775808") == "-9223372036854775808");
  CHECK(number("-922337203.6854775808") == "-922337203685477581 9 rounded");
  CHECK_THROWS(number("9223372036854775808"));
  CHECK_THROWS(number("-9223372036854775809"));
  CHECK_THROWS(number("922337203685477580.81"));
  for (const char* none : {"", "-", ".", ".5", "+3", "1e9", "4KiB", "1,000", "0x10", "--1", "1.2.3",
                           "1.-2", "12 ", "\xef\xbc\x91", "inf", "nan"}) {
    CAPTURE(none);
    CHECK(number(none) == "none");
  }
}

TEST_CASE("more than nine decimals are rounded half to even, and that is said") {
  CHECK(number("0.0000000005") == "0 rounded");
  CHECK(number("0.0000000015") == "2 9 rounded");
  CHECK(number("0.0000000025") == "2 9 rounded");
  CHECK(number("0.00000000250000001") == "3 9 rounded");
  CHECK(number("-0.0000000015") == "-2 9 rounded");
  CHECK(number("1.9999999999") == "2 rounded");
  const Profile p = read("a 14.2343983248722834234\nb 1.0000000000000\n");
  CHECK(p.types[0].decimals == 9);
  CHECK(stacks(p) == Stacks{{"a", 14234398325}, {"b", 1000000000}});
  CHECK(p.meta.notes == std::vector<std::string>{"numbers of more than 9 decimals are rounded: 1"});
}

TEST_CASE("decimals are as many as are needed; figures before them grow") {
  const Profile p = read("a 12\na 12.5\nb -0.25\nb 1.0\n");
  CHECK(p.types[0].decimals == 2);
  CHECK(stacks(p) == Stacks{{"a", 2450}, {"b", 75}});
  CHECK(folded(p, {}) == "# memflame folded unit=count value=count total=25.25\na 24.5\nb 0.75\n");
  CHECK(refusal("a 9223372036854775807\nb 0.5\n")
            .starts_with("text:2: a number with that many digits does not fit in 64 bits"));
  CHECK(refusal("b 0.5\na 9223372036854775807\n")
            .starts_with("text:2: its number leaves the range of 64 bits"));
}

TEST_CASE("two numbers are before and after when every counted line has two") {
  const Profile p = read("# x\na;b 1 2\nno number\na;b 10 20\nc\t3\t4\n");
  CHECK(p.types == std::vector<ValueType>{{"before", Unit::count}, {"after", Unit::count}});
  CHECK(p.types[p.shown].name == "after");
  CHECK(stacks(p, "before") == Stacks{{"a;b", 11}, {"c", 3}});
  CHECK(stacks(p, "after") == Stacks{{"a;b", 22}, {"c", 4}});
  CHECK(p.meta.notes == std::vector<std::string>{
                            "1 line not understood (not 2 numbers at its end): line 3: 'no number'",
                            "two numbers a line are read as before and after"});
  CHECK(stacks(read("main;worker 12 345\n", {.columns = 1})) == Stacks{{"main;worker 12", 345}});
}

TEST_CASE("a text of mixed lines has one number a line, and says so") {
  const Profile p = read("main 1\nmain;worker 12 345\nmain;worker 13 1\n");
  CHECK(stacks(p) == Stacks{{"main", 1}, {"main;worker 12", 345}, {"main;worker 13", 1}});
  CHECK(p.losses[Loss::input_line].events == 2);
  REQUIRE(p.meta.notes.size() == 1);
  CHECK(p.meta.notes[0].ends_with(
      "say which with --columns), the first is line 2: 'main;worker 12 345'"));
  const Profile sure = read("main 1\nmain;worker 12 345\n", {.columns = 1});
  CHECK(sure.losses[Loss::input_line].events == 0);
  CHECK(sure.meta.notes.empty());
  const Profile two = read("main 1\nmain;worker 12 345\n", {.columns = 2});
  CHECK(stacks(two, "before") == Stacks{{"main;worker", 12}});
  CHECK(two.losses[Loss::input_line].events == 1);
  // A TAB is unambiguous.
  CHECK(stacks(read("main;worker 12\t345\n")) == Stacks{{"main;worker 12", 345}});
  // After the part from which the number of columns is guessed.
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "a;b 1 2\n";
  CHECK(refusal(text + "a;c 5\n") ==
        "text:20001: it ends in one number, all lines before it in two: say which with --columns");
}

TEST_CASE("more columns have a header or are asked for") {
  const std::string header =
      "# memflame folded unit=bytes value=live total=5 columns=\"live:bytes,calls:count\"\n";
  const Profile p = read(header + "a;worker 1\t5\t2\nb 0 1\n");
  CHECK(p.types == std::vector<ValueType>{{"live", Unit::bytes}, {"calls", Unit::count}});
  CHECK(p.shown == 0);
  CHECK(p.meta.notes.empty());
  CHECK(stacks(p, "calls") == Stacks{{"a;worker 1", 2}, {"b", 1}});
  const Profile bare = read("# memflame folded unit=bytes value=b columns=a,b,pages\nf 1 2 3\n");
  CHECK(bare.types ==
        std::vector<ValueType>{{"a", Unit::bytes}, {"b", Unit::bytes}, {"pages", Unit::pages}});
  CHECK(bare.shown == 1);
  const Profile three = read("f 1 2 3\nf 1 1 1\n", {.columns = 3});
  CHECK(stacks(three, "value3") == Stacks{{"f", 4}});
  CHECK(refusal("f 1\n", {.columns = 5000}) != "");
  for (const char* damaged : {"columns=a,a", "columns=a,c:furlongs", "columns=a,", "columns=c"}) {
    CAPTURE(damaged);
    const Profile d =
        read("# memflame folded unit=bytes value=a " + std::string(damaged) + "\nf 1\n");
    CHECK(d.losses[Loss::input_line].events == 1);
  }
  CHECK(refusal(header + "a 5 1\n# memflame folded unit=bytes value=live total=1\na 1\n") ==
        "text:3: texts of live (bytes), calls (count) and live (bytes) do not add up; collapse "
        "them one by one");
  CHECK(refusal("a 1\n" + header + "a 5 1\n") ==
        "text: there are texts of 2 and of 1 numbers a line; collapse them one by one");
}

TEST_CASE("an array's length is a part of a Rust name") {
  CHECK(stacks(read("m;f<[u8; 32]>;g 1\n")) == Stacks{{"m;f<[u8; 32]>;g", 1}});
  const auto frames = [](const std::string& line) {
    const Profile p = read(line);
    return p.path(p.touched()[0]).size();
  };
  CHECK(frames("m;f<[u8; 32]>;g 1") == 3);
  CHECK(frames("f<[[u8; 4]; 8usize]> 1") == 1);
  CHECK(frames("f<[u8; N]> 1") == 2);
  CHECK(frames("f]; 8] 1") == 2);
  CHECK(frames("[unknown]; 8] 1") == 2);
  CHECK(frames("f[; 8") == 2);
  // Also if the line before has half of the stack.
  const Profile p = read("a[x;y 1\na[x; 8] 2\na[x; 8];z 4\na[x;y 8\na[x 16\n");
  CHECK(p.touched().size() == 4);
  CHECK(p.stacks.size() == 5);
}

TEST_CASE("lines that begin like the one before, and those that do not, are the same stacks") {
  std::minstd_rand random(11);
  const auto word = [&] { return std::string(1, static_cast<char>('a' + random() % 3)); };
  for (int round = 0; round < 50; ++round) {
    Stacks expected;
    std::string text;
    for (int line = 0; line < 200; ++line) {
      std::string stack = word();
      for (size_t depth = random() % 6; depth > 0; --depth)
        stack += (random() % 8 == 0 ? "" : ";") + word();
      const auto value = static_cast<int64_t>(1 + random() % 100);
      expected[stack] += value;
      text += stack + " " + std::to_string(value) + (random() % 5 == 0 ? "\r\n" : "\n");
      if (random() % 20 == 0) text += "# comment\n\n";
    }
    CHECK(stacks(read(text)) == expected);
  }
}

TEST_CASE("threads read the same, and find the same first mistake") {
  constexpr size_t lines = scaled(200000);
  std::string text;
  for (size_t i = 0; i < lines; ++i)
    text += "main;worker;f" + std::to_string(i % 5000) + ";g" + std::to_string(i % 3) + " " +
            std::to_string(i) + (i % 7 == 0 ? ".5\n" : "\n");
  const Profile one = read(text), three = read(text, {.threads = 3});
  CHECK(one.types == three.types);
  CHECK(folded(one, {}) == folded(three, {}));
  const std::string bad =
      text + "bad line\n" + text + "f 99999999999999999999\n" + text + "worse\n";
  CHECK(refusal(bad, {.threads = 3}) ==
        "text:" + std::to_string(2 * lines + 2) + ": its number leaves the range of 64 bits");
  const Profile skipped = read(text + "bad line\n" + text + "worse\n", {.threads = 3});
  CHECK(skipped.meta.notes[0] ==
        "2 lines not understood (no number at its end), the first is line " +
            std::to_string(lines + 1) + ": 'bad line'");
}

TEST_CASE("what is written is read as it was, with all columns and decimals") {
  std::minstd_rand random(5);
  const std::string letters = "ab 1;_[]k#\r\t-.\"\\\xff\n,:";
  for (int round = 0; round < 200; ++round) {
    Profile p;
    p.types = {{"in use", Unit::bytes}, {"calls, all", Unit::count}, {"time", Unit::nanoseconds}};
    p.types[1].decimals = static_cast<uint8_t>(random() % 3);
    p.shown = random() % 3;
    for (int i = 0; i < 20; ++i) {
      StackId stack;
      for (size_t depth = 1 + random() % 3; depth > 0; --depth) {
        std::string name;
        for (size_t n = random() % 6; n > 0; --n) name += letters[random() % letters.size()];
        stack = p.push(stack, name, static_cast<FrameKind>(random() % 4));
      }
      p.add(stack, std::array<int64_t, 3>{static_cast<int64_t>(random() % 3) - 1,
                                          static_cast<int64_t>(random() % 1000),
                                          static_cast<int64_t>(random() % 50)});
    }
    for (const RenderOptions& options :
         {RenderOptions{.all_values = true}, RenderOptions{}, RenderOptions{.header = false}}) {
      const std::string once = folded(p, options);
      if (once.empty()) continue;
      const Profile back = read(once);
      if (options.header) CHECK(back.losses[Loss::input_line].events == 0);
      CHECK(folded(back, options) == once);
    }
    const Profile all = read(folded(p, {.all_values = true}));
    REQUIRE(all.types.size() == 3);
    CHECK(all.shown == p.shown);
    CHECK(all.total(0) == p.total(0));
    CHECK(all.total(2) == p.total(2));
  }
}

TEST_CASE("a text without a header has TABs behind names that end in numbers") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  p.add(p.push({}, "worker 12"), std::array<int64_t, 1>{345});
  CHECK(folded(p) == "worker 12\t345\n");
  CHECK(stacks(read(folded(p))) == Stacks{{"worker 12", 345}});
  p.add(p.push({}, "main"), std::array<int64_t, 1>{1});
  CHECK(folded(p) == "main 1\nworker 12\t345\n");
  CHECK(read(folded(p)).losses.lost_events() == 0);
}

TEST_CASE("rows are in the order of their frames, not of their bytes") {
  CHECK(folded(read("a;b-c 1\na;b;c 2\na;b 4\n")) == "a;b 4\na;b;c 2\na;b-c 1\n");
}

TEST_CASE("a stack of a million frames, and ten million bytes in a name") {
  std::string deep = "f";
  constexpr size_t frames = scaled(1'000'000);
  for (size_t i = 1; i < frames; ++i) deep += ";f";
  std::string wide;
  wide.resize(10'000'000, 'x');
  const Profile p = read(deep + " 1\n" + deep + ";g 2\n" + wide + " 3\n");
  CHECK(p.stacks.size() == frames + 3);
  CHECK(folded(read(folded(p))) == folded(p));
}

TEST_CASE("folded text is recognised by its first number, or its first 64 KiB of frames") {
  CHECK(recognised("main;f 1\n") == "folded");
  CHECK(recognised("# some header\n\nmain;f\t-1.5\r\n") == "folded");
  CHECK(recognised("# memflame folded unit=bytes value=live\n") == "folded");
  std::string deep = "main";
  while (deep.size() < 100000) deep += ";f";
  CHECK(recognised(deep + " 1\n") == "folded");
  CHECK(recognised("main;f\n") == "");
  CHECK(recognised(std::string(100000, 'x')) == "");
  CHECK(recognised(std::string(100000, ';') + '\0') == "folded");
  CHECK(recognised('\1' + std::string(100000, ';')) == "");
}
