// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/window.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace memflame;

namespace {

Window made_window() {
  Window window;
  window.head.id = new_window_id();
  window.head.began_ns = 1'000'000'000;
  window.head.ended_ns = 61'000'000'000;
  window.head.labels = {{"host", "a"}, {"service", "checkout \"1\"\n"}};
  window.head.figures = {{"resident_bytes", 1e9}, {"overhead_percent", 0.25}};
  window.head.top = {{.function = "f(int)",
                      .stack = "main;f(int)",
                      .inuse_bytes = 9'007'199'254'740'993,
                      .growth_bytes = -5,
                      .verdict = "leaks",
                      .bytes_per_hour = 1.5}};
  window.pprof = std::string("\x1f\x8b\n\0", 4);
  return window;
}

}  // namespace

TEST_CASE("a window's bytes give the window back") {
  const Window window = made_window();
  const Window again = window_from_bytes(to_bytes(window));
  CHECK(again.head == window.head);
  CHECK(again.pprof == window.pprof);
}

TEST_CASE("names that are not UTF-8 do not keep a window from being written") {
  Window window = made_window();
  window.head.top[0].function = "\xff";
  CHECK(head_from_json(to_json(window.head)).top[0].function == "\xef\xbf\xbd");
}

TEST_CASE("what is not a window is refused with a reason") {
  CHECK_THROWS_WITH_AS(window_from_bytes("{}"), "a window ends within its head", Error);
  CHECK_THROWS_WITH_AS(head_from_json("{}"), "the head of a window has no \"id\"", Error);
  CHECK_THROWS_AS(head_from_json("[1,2"), Error);
  CHECK_THROWS_AS(head_from_json("3"), Error);
  WindowHead head = made_window().head;
  head.id = "../../etc/passwd";
  CHECK_THROWS_WITH_AS(head_from_json(to_json(head)), "the id of a window is not 32 hex digits",
                       Error);
  head = made_window().head;
  head.ended_ns = 5;
  CHECK_THROWS_AS(head_from_json(to_json(head)), Error);
}

TEST_CASE("each window has an id of its own") { CHECK(new_window_id() != new_window_id()); }
