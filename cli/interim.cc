// SPDX-License-Identifier: BSD-2-Clause
#include "cli/interim.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <iostream>

#include "cli/drawing_options.h"
#include "cli/output_file.h"
#include "core/units.h"
#include "probes/run/live_run.h"

namespace memflame {

bool Interim::look(LiveRun& run, double seconds) {
  if (again_ && !is_busy_) start(run, seconds);
  return true;
}

void Interim::asked(LiveRun& run, double seconds) {
  if (is_busy_) {
    again_ = true;
    return say("SIGUSR1: another picture follows when this one is written");
  }
  start(run, seconds);
}

void Interim::end(LiveRun&, double) {
  if (writer_.joinable()) writer_.join();
}

void Interim::start(LiveRun& run, double seconds) {
  end(run, seconds);
  again_ = false;
  ++number_;
  Recording recording = run.so_far();
  recording.meta.seconds = seconds;
  recording.meta.notes.emplace_back("so far: the run continues");
  is_busy_ = true;
  writer_ = std::jthread([this, recording = std::move(recording)]() mutable {
    try {
      write(recording);
    } catch (const std::exception& error) {
      say(std::string("SIGUSR1: ") + error.what());
    }
    is_busy_ = false;
  });
}

void Interim::write(Recording& recording) const {
  const bool beside = is_file(request_.output);
  const std::string path = numbered_name(
      beside ? request_.output
             : "memflame-" + std::to_string(::getpid()) + std::string(request_.format->suffix),
      request_.format->suffix, number_);
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f", recording.meta.seconds);
  const Profile profile =
      drawn_profile(recording, profile_of(recording, request_, false), request_);
  write_output(
      path, [&](std::ostream& out) { request_.format->write(out, profile, request_.render); },
      request_.readers);
  const ValueType& type = profile.types[profile.shown];
  say("so far, after " + std::string(seconds.data()) + " s: " + type.name + " " +
      human(profile.total(profile.shown), type) + " on " +
      std::to_string(profile.touched().size()) + " stacks -> " + path +
      (beside ? "" : ", as the output is not a file"));
}

// In one write, so that lines of two threads stay apart.
void Interim::say(const std::string& text) const {
  std::cerr << (request_.probe.status_line ? "\r\033[K" : "") + ("memflame: " + text + "\n");
}

}  // namespace memflame
