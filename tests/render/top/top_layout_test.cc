// SPDX-License-Identifier: BSD-2-Clause
#include "render/top/top_layout.h"

#include <doctest/doctest.h>

#include "render/text/cells.h"
#include "tests/render/top/made_top.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string shown(const TopData& data, const TopState& state, TopSize size = {80, 12},
                  bool utf8 = true) {
  return plain_text(draw_top(data, state, size, utf8));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// All lines fit, and there are as many as the screen has.
void check_size(const TopData& data, const TopState& state, TopSize size, bool utf8) {
  const TopScreenful screen = draw_top(data, state, size, utf8);
  CHECK(screen.lines.size() == size.rows);
  for (const TopLine& line : screen.lines) {
    size_t width = 0;
    for (const TopSpan& span : line) {
      width += cells(span.text);
      if (!utf8)
        for (const char letter : span.text) CHECK(static_cast<unsigned char>(letter) < 0x80);
    }
    CHECK(width <= size.columns);
  }
}

}  // namespace

TEST_CASE("the list at 80 columns") {
  CHECK("\n" + shown(made_top(), {}) == R"(
memflame top: server (1234)               collector: kernel  2 min 5 s  16:30:01
lost 0   live 12.0 MiB in 1,312 blocks   RSS 84.2 MiB   12,345 allocations/s
1 stack leaks 19.0 KiB/s
       ▼LIVE    BLOCKS  GROWTH/min 60 s     VERDICT    STACK (3)
>   11.4 MiB     1,200         0 B        █ cache      server::Cache::fill
   488.3 KiB       100   +96.0 KiB        █ leak       transcript_create
    97.7 KiB        12    -2.0 KiB        █ can't tell read_file ← main




q end  Enter callers  / search  s sort  r reverse  w picture  space hold  h help
)");
}

TEST_CASE("without UTF-8, letters of ASCII stand for all others") {
  const std::string text = shown(made_top(), {}, {100, 12}, false);
  CHECK(has(text, "      vLIVE    BLOCKS  GROWTH/min last 60 s    VERDICT    STACK (3)\n"));
  CHECK(has(text, "           @ can't tell read_file <- main\n"));
}

TEST_CASE("a wide screen has longer bars, and callers") {
  const std::string text = shown(made_top(), {}, {160, 12});
  CHECK(has(text, "leak       transcript_create ← server::SessionCache::log_in ← main\n"));
  CHECK(has(text, "                            ▂█ leak "));
}

TEST_CASE("what was lost is shown on all pages, first in its line, with the main cause") {
  TopData data = made_top();
  data.losses.add(Loss::free_miss, 5);  // not a loss
  TopState state;
  CHECK(has(shown(data, state), "\nlost 0   live"));
  data.losses.add(Loss::ring_full, 1200);
  data.losses.add(Loss::live_table_full, 34);
  for (const TopPage page : {TopPage::list, TopPage::stack, TopPage::help}) {
    state.page = page;
    for (const size_t rows : {3U, 8U, 24U})
      CHECK(has("\n" + shown(data, state, {80, rows}), "\nLOST 1,234: ring buffer full, …   live"));
  }
  CHECK(draw_top(data, state, {80, 24}, true).lines[1][0].style == TopStyle::alarm);
}

TEST_CASE("a held display says since when, and that counting goes on") {
  TopState state;
  state.is_paused = true;
  CHECK(has(shown(made_top(), state), "    PAUSED at 2 min 5 s; counting goes on\n"));
}

TEST_CASE("the head says what is estimated, and what comes late") {
  TopData data = made_top();
  data.sampling = "1 sample per 512 KiB";
  data.slower = "every 3.2 s";
  data.resident.reset();
  data.allocations_per_second.reset();
  const std::string text = shown(data, {}, {140, 12});
  CHECK(has(text,
            "KiB/s; estimated from samples (1 sample per 512 KiB); looks every 3.2 s, as they"));
  CHECK(has(text, "live 12.0 MiB in 1,312 blocks\n"));
}

TEST_CASE("rows that are not listed are summed up") {
  TopData data = made_top();
  data.other_stacks = 1'300;
  data.other_bytes = 4'096;
  data.other_blocks = 2'000;
  const std::string text = shown(data, {});
  CHECK(has(text, "\n     4.0 KiB     2,000 on 1,300 more stacks, the smallest"));
  CHECK(has(text, "STACK (1,303)"));
}

TEST_CASE("a search marks rows, and the last line says how many") {
  const TopData data = made_top();
  TopState state;
  for (const char* letter : {"/", "l", "o", "g", "_"})
    press(state, data, {TopKey::letter, letter}, 5);
  CHECK(has(shown(data, state), "\nsearch (a regular expression): log_\n"));
  CHECK(draw_top(data, state, {80, 12}, true).cursor == 35);
  press(state, data, {TopKey::enter}, 5);
  const std::string text = shown(data, state);
  CHECK(has(text, "\n>* 488.3 KiB"));
  CHECK(has(text, "\n/log_: 1 stack matches; n next, f only these, Esc ends the search\n"));
  press(state, data, {TopKey::letter, "f"}, 5);
  CHECK(has(shown(data, state), "STACK (1 of 3)"));
  CHECK_FALSE(has(shown(data, state), "read_file"));
}

TEST_CASE("a long list says where it is") {
  TopData data = made_top();
  for (uint64_t key = 10; key < 30; ++key)
    data.rows.push_back(made_row(key, 1, 1, 0, VerdictKind::kept, {"f"}));
  TopState state;
  state.message = "x";
  CHECK(has(shown(data, state), "\nx\n"));
  state.message.clear();
  press(state, data, {TopKey::end}, 7);
  settle_top(state, data, {100, 12}, true);
  CHECK(has(shown(data, state, {100, 12}), "  17-23 of 23\n"));
}

TEST_CASE("several processes, ended ones, and stacks without names") {
  TopData data = made_top();
  TopNames other = *data.rows[2].names;
  other.process = "worker (99)";
  data.rows[2].names = std::make_shared<const TopNames>(other);
  data.rows[2].has_ended = true;
  data.rows[1].names.reset();
  const std::string text = shown(data, {}, {120, 12});
  CHECK(has(text, "(ended) worker (99): read_file"));
  CHECK(has(text, "(names are being looked up)"));
  CHECK(has(text, "  transcript_create"));
}

TEST_CASE("the page of a stack has all its callers, and marks the one that matters") {
  TopData data = made_top();
  data.rows[0].bytes_error = 1'000.5;
  data.rows[0].blocks_error = 3;
  TopState state;
  state.selected = 1;
  state.page = TopPage::stack;
  CHECK("\n" + shown(data, state, {80, 17}) == R"(
memflame top: server (1234)               collector: kernel  2 min 5 s  16:30:01
lost 0   live 12.0 MiB in 1,312 blocks   RSS 84.2 MiB   12,345 allocations/s
1 stack leaks 19.0 KiB/s

488.3 KiB ± 1001 B in 100 ± 3 blocks, +96.0 KiB per minute, server (1234)
leak: so it seems
                                                        ▁▂▄█
live bytes in the last 60 s, from 0 to 488.3 KiB

Callers, innermost first; => is where the leak comes from
      malloc [libc.so.6]
  =>  transcript_create()  server.cc:7 [server]
      server::SessionCache::log_in()  server.cc:7 [server]
      main()  server.cc:7 [server]


Esc back  arrows scroll  w picture  space hold  h help
)");
  data.rows.erase(data.rows.begin());
  CHECK(has(shown(data, state, {80, 17}), "\nThis stack holds nothing any more"));
}

TEST_CASE("scrolling ends with the text") {
  const TopData data = made_top();
  TopState state;
  state.page = TopPage::help;
  press(state, data, {TopKey::end}, 7);
  settle_top(state, data, {80, 12}, true);
  const std::string text = shown(data, state);
  CHECK(has(text, "docs/top.md has more"));
  CHECK(state.scrolled < 100);
  press(state, data, {TopKey::up}, 7);
  settle_top(state, data, {80, 12}, true);
  CHECK_FALSE(has(shown(data, state), "docs/top.md has more"));
}

TEST_CASE("a file is replaced only after a question") {
  TopState state;
  state.file = "a.svg";
  ask_to_replace(state);
  CHECK(has(shown(made_top(), state), "\na.svg exists. Replace it? y or n:\n"));
}

TEST_CASE("every size has its lines, and no line is too long") {
  TopData data = made_top();
  data.other_stacks = 7;
  data.rows.push_back(
      made_row(9, 1, 1, 0, VerdictKind::kept, {"名前::関数", "e\xCC\x81t\xC3\xA9"}));
  TopState state;
  for (const TopPage page : {TopPage::list, TopPage::stack, TopPage::help}) {
    state.page = page;
    state.selected = 9;
    for (const size_t columns : {1U, 7U, 20U, 40U, 60U, 80U, 100U, 120U, 200U})
      for (const size_t rows : {1U, 2U, 3U, 8U, 9U, 24U, 50U})
        for (const bool utf8 : {false, true}) {
          TopState settled = state;
          settle_top(settled, data, {columns, rows}, utf8);
          check_size(data, settled, {columns, rows}, utf8);
        }
  }
}
