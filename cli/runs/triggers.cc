// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/triggers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cli/runs/durations.h"
#include "collapse/inputs/text_frame.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr double growth_window = 600;  // seconds
constexpr double least_window = 60;    // seconds; a program that starts grows quickly at first
constexpr double quiet_before_next = 60;

[[noreturn]] void refuse(const std::string& text) {
  throw Error("--when '" + text +
                  "': expected 'every TIME', 'rss > BYTES', 'growth > BYTES/h' (or /s, /m, /d) or "
                  "'pressure > PERCENT', as in --when 'every 10m' or --when 'rss > 2G'",
              ExitCode::usage);
}

double percent(const std::string& text, const std::string& whole) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value > 0) || value > 100) refuse(whole);
  return value;
}

double bytes(const std::string& text) { return static_cast<double>(parse_bytes("--when", text)); }

// At least a second.
double seconds(const std::string& text, const std::string& whole) {
  const std::optional<double> value = parse_duration(text);
  if (!value || !(*value >= 1)) refuse(whole);
  return *value;
}

std::string iec(double bytes) { return iec_bytes(static_cast<int64_t>(bytes)); }

std::string in_words(Condition::Figure figure, double value) {
  if (figure == Condition::Figure::rss) return iec(value);
  if (figure == Condition::Figure::growth) return iec(value) + "/h";
  return std::to_string(static_cast<int64_t>(std::round(value))) + " %";
}

}  // namespace

Condition parse_condition(const std::string& text) {
  constexpr std::string_view every = "every ";
  if (text.starts_with(every))
    return {Condition::Figure::time,
            seconds(std::string(trimmed(std::string_view(text).substr(every.size()))), text), text};
  const size_t sign = text.find('>');
  if (sign == std::string::npos) refuse(text);
  const std::string_view figure = trimmed(std::string_view(text).substr(0, sign));
  std::string limit(trimmed(std::string_view(text).substr(sign + 1)));
  if (limit.empty()) refuse(text);
  if (figure == "rss") return {Condition::Figure::rss, bytes(limit), text};
  if (figure == "pressure") return {Condition::Figure::pressure, percent(limit, text), text};
  const std::optional<double> unit = seconds_of_unit(limit.back());
  if (figure != "growth" || !unit || limit.size() < 3 || limit[limit.size() - 2] != '/')
    refuse(text);
  limit.resize(limit.size() - 2);
  return {Condition::Figure::growth, bytes(std::string(trimmed(limit))) * 3600 / *unit, text};
}

Triggers::Triggers(const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions)
    states_.push_back(
        {.condition = condition, .next = condition.limit, .armed = true, .false_since = {}});
}

bool Triggers::asks_for(Condition::Figure figure) const {
  return std::any_of(states_.begin(), states_.end(),
                     [&](const State& state) { return state.condition.figure == figure; });
}

bool Triggers::wants_reading(double seconds) const {
  const bool any = std::any_of(states_.begin(), states_.end(), [](const State& state) {
    return state.condition.figure != Condition::Figure::time;
  });
  return any && (!judged_ || seconds >= *judged_ + 1);
}

std::string Triggers::due(double seconds) {
  std::string why;
  for (State& state : states_) {
    if (state.condition.figure != Condition::Figure::time || seconds < state.next) continue;
    while (state.next <= seconds) state.next += state.condition.limit;
    why += (why.empty() ? "" : ", ") + state.condition.text;
  }
  return why;
}

std::optional<double> Triggers::value_of(const Condition& condition) const {
  const Reading& now = readings_.back();
  if (condition.figure == Condition::Figure::rss) return now.rss;
  if (condition.figure == Condition::Figure::pressure) return now.pressure;
  const Reading& then = readings_.front();
  if (now.seconds - then.seconds < least_window) return std::nullopt;
  return (now.rss - then.rss) / (now.seconds - then.seconds) * 3600;
}

std::string Triggers::due(const Reading& reading) {
  judged_ = reading.seconds;
  readings_.push_back(reading);
  while (readings_.front().seconds < reading.seconds - growth_window) readings_.pop_front();
  std::string why;
  for (State& state : states_) {
    const Condition& condition = state.condition;
    if (condition.figure == Condition::Figure::time) continue;
    const std::optional<double> value = value_of(condition);
    if (!value || !(*value > condition.limit)) {
      if (!state.false_since) state.false_since = reading.seconds;
      state.armed |= reading.seconds - *state.false_since >= quiet_before_next;
      continue;
    }
    state.false_since.reset();
    if (!std::exchange(state.armed, false)) continue;
    why += (why.empty() ? "" : ", ") + condition.text + ": " + in_words(condition.figure, *value);
  }
  return why;
}

}  // namespace memflame
