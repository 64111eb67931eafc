// SPDX-License-Identifier: BSD-2-Clause
// When a picture is written while a run goes on, without anybody asking: --when.
//
// A condition asks for a picture when it becomes true, and again only after it has been false for a
// minute: figures that go up and down around a limit would fill the disk with pictures.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace memflame {

// "every 10m", "rss > 2G", "growth > 100M/h", "pressure > 10".
struct Condition {
  enum class Figure : uint8_t {
    time,     // the limit is the seconds between two pictures
    rss,      // resident memory of all watched processes, in bytes
    growth,   // of it, in bytes an hour, over the last ten minutes or what there is of them
    pressure  // percent of the last ten seconds in which a task waited for memory
  };
  Figure figure = Figure::rss;
  double limit = 0;
  std::string text;  // as it was typed
};

// Throws Error(usage).
Condition parse_condition(const std::string& text);

// What conditions are judged by.
struct Reading {
  double seconds = 0;  // since counting began
  double rss = 0;      // bytes
  double pressure = 0;
};

class Triggers {
 public:
  explicit Triggers(const std::vector<Condition>& conditions);

  bool asks_for(Condition::Figure figure) const;
  // Figures are judged once a second; then a reading is needed.
  bool wants_reading(double seconds) const;
  // Why a picture is due now: "every 10m", "rss > 2G: 2.1 GiB"; "" if none is. The first is about
  // time alone, the second about everything else.
  std::string due(double seconds);
  std::string due(const Reading& reading);

 private:
  struct State {
    Condition condition;
    double next = 0;  // of those about time: when the next picture is due
    bool armed = true;
    std::optional<double> false_since;  // none: it holds
  };
  std::optional<double> value_of(const Condition& condition) const;

  std::vector<State> states_;
  std::optional<double> judged_;  // when figures were last judged
  std::deque<Reading> readings_;  // of the last ten minutes
};

}  // namespace memflame
