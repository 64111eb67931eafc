// SPDX-License-Identifier: BSD-2-Clause
// Samples of `perf script` that come again are found by a hash of their lines. Lines that end in
// "\r\n" are always read one by one, so such a text must give the same.
#include <doctest/doctest.h>

#include <array>
#include <random>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr std::string_view from = "perf-script";

std::string with_carriage_returns(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out += '\r';
    out += c;
  }
  return out;
}

void check_both(const std::string& text, const ReadOptions& options = {}) {
  const std::string slow = with_carriage_returns(text);
  REQUIRE(error_of(text, from, options) == error_of(slow, from, options));
  if (!error_of(text, from, options).empty()) return;
  const Profile p = read_text(text, from, options), q = read_text(slow, from, options);
  CHECK(p.types == q.types);
  for (const ValueType& type : p.types)
    CHECK(stacks(p, type.name, true) == stacks(q, type.name, true));
  CHECK(p.meta.notes == q.meta.notes);
  CHECK(p.losses[Loss::ring_full].events == q.losses[Loss::ring_full].events);
}

// With options that change what a line means.
void check_all(const std::string& text) {
  check_both(text);
  check_both(text, {.threads = 2});
  check_both(text, {.pid = true, .tid = true, .addresses = true, .offsets = true, .lines = true});
  ReadOptions net;
  net.net = true;
  check_both(text, net);
  ReadOptions wanted;
  wanted.events = {"cycles"};
  check_both(text, wanted);
}

}  // namespace

TEST_CASE("a sample comes again with another thread, event or leaf") {
  const std::string callers = "\t56 g+0x1 (/bin/a)\n\t57 main+0x1 (/bin/a)\n\n";
  std::string text;
  for (int i = 0; i < 3; ++i)
    for (const char* header :
         {"app 7/9 [000] 1.0: 2 cycles:\n", "app 7/8 [000] 1.0: 3 cycles:\n",
          "other 7/9 [000] 1.0: 5 cycles:\n", "app 7/9 [000] 1.0: 7 faults:\n"})
      for (const char* leaf :
           {"\t55 f+0x1 (/bin/a)\n", "\t54 f+0x1 (/bin/a)\n", "\t53 h (/bin/a)\n"})
        text += std::string(header) + leaf + callers;
  check_all(text);
  const Profile p = read_text(text, from);
  CHECK(stacks(p, "cycles") == Stacks{{"app;main;g;f", 30},
                                      {"app;main;g;h", 15},
                                      {"other;main;g;f", 30},
                                      {"other;main;g;h", 15}});
  CHECK(stacks(p, "faults") == Stacks{{"app;main;g;f", 42}, {"app;main;g;h", 21}});
}

TEST_CASE("what else may stand among the frames counts each time") {
  const std::string header = "app 7/9 [000] 1.0: 2 cycles:\n";
  const std::string leaf = "\t55 f+0x1 (/bin/a)\n", caller = "\t56 main (/bin/a)\n";
  const std::array<std::string, 10> bodies{
      leaf + caller,
      leaf + "  f.c:12\n" + caller + "  main.c:7\n",
      leaf + "no frame at all\n" + caller,
      leaf + "app 7 [000] 1.5: PERF_RECORD_LOST lost 3\n" + caller,
      leaf + header + caller,
      "\t55 a->b->c (/tmp/perf-7.map)\n" + caller,
      leaf + "\t56 a->b (/tmp/perf-7.map)\n" + caller,
      leaf,
      "",
      "\n" + leaf,
  };
  std::string all;
  for (const std::string& body : bodies) {
    std::string text;
    for (int i = 0; i < 4; ++i) text += header + body + "\n";
    check_all(text);
    all += text;
  }
  check_all(all + all);
}

TEST_CASE("mixed ends of lines") {
  const std::string header = "app 7/9 [000] 1.0: 2 cycles:\n";
  const std::string frames = "\t55 f+0x1 (/bin/a)\n\t56 main (/bin/a)\n";
  const std::string plain = header + frames + "\n", other = with_carriage_returns(plain);
  const std::string half = header + frames + "\r\n";
  const std::string text = plain + other + half + plain + half + half + other + plain + plain;
  CHECK(stacks(read_text(text, from)) == Stacks{{"app;main;f", 18}});
}

TEST_CASE("a random mixture of lines") {
  std::mt19937_64 random(1);
  constexpr std::array<std::string_view, 12> lines{
      "\n",
      "\n",
      "\n",
      "app 7/9 [000] 1.0: 2 cycles:\n",
      "app 7/9 [000] 1.0: 3 kmem:kfree: ptr=0x2\n",
      "app 7/9 [000] 1.0: kmem:kmalloc: ptr=0x2 bytes_alloc=128\n",
      "\t55 f+0x1 (/bin/a)\n",
      "\t56 g+0x1 (/bin/a)\n",
      "\t57 main (/bin/a)\n",
      "  f.c:12\n",
      "odd\n",
      "\t58 a->b (/tmp/perf-7.map)\n"};
  for (int round = 0; round < 300; ++round) {
    std::string text = std::string(lines[3]) + std::string(lines[6]) + "\n";
    for (uint64_t i = random() % 60; i > 0; --i) text += lines[random() % lines.size()];
    if (round % 4 == 0) text += "cut";
    check_all(text);
    check_all(text + text);
  }
}

TEST_CASE("all recorded texts, twice") {
  for (const auto& entry : std::filesystem::directory_iterator(TEST_DATA "/inputs/perf-script")) {
    const std::string text = file_text(entry.path());
    if (text.find('\r') != std::string::npos || recognised(text) != from) continue;
    CAPTURE(entry.path());
    check_all(text + "\n" + text);
  }
}
