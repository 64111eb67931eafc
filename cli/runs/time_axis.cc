// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/time_axis.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

namespace memflame {
namespace {

// The shares of a processor that looks and surveys may take: 5 % together.
constexpr double look_share = 0.02;
constexpr double survey_share = 0.03;

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::string with_tenths(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", seconds);
  return text.data();
}

}  // namespace

std::optional<Look> TimeAxis::look(LiveRun& run, double seconds) {
  if (seconds < next_look_) return std::nullopt;
  const bool survey = surveys_ && seconds >= next_survey_;
  Look look = take(run, survey);
  const auto plan = [&](double cost, double share, double& longest) {
    const double wait = std::max(interval_, cost / share);
    longest = std::max(longest, wait);
    return seconds + wait;
  };
  next_look_ = plan(look_cost_, look_share, longest_look_);
  if (survey) next_survey_ = plan(survey_cost_, survey_share, longest_survey_);
  return look;
}

Look TimeAxis::last(LiveRun& run) { return take(run, surveys_); }

Look TimeAxis::take(LiveRun& run, bool survey) {
  const double before = processor_seconds();
  Look look = run.look(tables_, survey);
  const double cost = processor_seconds() - before;
  if (survey)
    survey_cost_ = std::max(0.0, cost - look_cost_);
  else
    look_cost_ = cost;
  return look;
}

std::string TimeAxis::in_words() const {
  std::string text;
  // A little more is not worth a word.
  if (longest_look_ > 2 * interval_)
    text = "looked every " + with_tenths(longest_look_) + " at the slowest, not every " +
           with_tenths(interval_) + ": there are many stacks";
  if (longest_survey_ > 2 * std::max(interval_, longest_look_))
    text += (text.empty() ? "" : "; ") + std::string("read the table of blocks every ") +
            with_tenths(longest_survey_) + " at the slowest: there are many";
  return text;
}

}  // namespace memflame
