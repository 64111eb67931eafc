// SPDX-License-Identifier: BSD-2-Clause
// --when: decides when a picture is written while a run goes on.
//
// A condition asks for a picture when it becomes true, and then again only after it was false for a
// minute. Otherwise a figure that goes up and down around its limit would fill the disk with
// pictures.
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
    growth,   // of rss in bytes per hour, over at least the last minute and at most ten minutes
    pressure  // percentage of the last ten seconds in which a task waited for memory
  };
  Figure figure = Figure::rss;
  double limit = 0;
  std::string text;  // as it was typed
};

// Throws Error(usage).
Condition parse_condition(const std::string& text);

// The figures that conditions are judged by.
struct Reading {
  double seconds = 0;  // since counting began
  double rss = 0;      // bytes
  double pressure = 0;
};

class Triggers {
 public:
  explicit Triggers(const std::vector<Condition>& conditions);

  bool asks_for(Condition::Figure figure) const;
  // Whether due() needs a reading now. Figures are judged once a second.
  bool wants_reading(double seconds) const;
  // Why a picture is due now: "every 10m", "rss > 2G: 2.1 GiB"; "" if none is due. The first
  // function judges conditions on time, the second those on figures.
  std::string due(double seconds);
  std::string due(const Reading& reading);

 private:
  struct State {
    Condition condition;
    double next = 0;                    // for a condition on time: when the next picture is due
    bool armed = true;                  // for the others: asks for a picture when it becomes true
    std::optional<double> false_since;  // none: the condition was true, or was not judged yet
  };
  std::optional<double> value_of(const Condition& condition) const;

  std::vector<State> states_;
  std::optional<double> judged_;  // when figures were last judged
  std::deque<Reading> readings_;  // of the last ten minutes, oldest first
};

}  // namespace memflame
