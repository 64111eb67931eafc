// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/interim.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <utility>

#include "cli/files/output_file.h"
#include "cli/runs/drawing.h"
#include "collapse/fold/diff.h"
#include "core/error.h"
#include "core/units.h"
#include "probes/run/live_run.h"

namespace memflame {

Interim::Interim(const Request& request)
    : request_(request), triggers_(request.conditions), verdicts_(request) {}

void Interim::begin(LiveRun& run) {
  if (triggers_.asks_for(Condition::Figure::pressure) && !run.memory_pressure())
    throw Error(
        "--when pressure: this kernel does not tell it (/proc/pressure/memory, or the control "
        "group's memory.pressure, cannot be read)",
        ExitCode::requirement);
}

bool Interim::look(LiveRun& run, double seconds) {
  verdicts_.look(run, seconds);
  if (again_ && !is_busy_) start(run, seconds, *std::exchange(again_, std::nullopt));
  const std::string why = due(run, seconds);
  if (why.empty()) return true;
  if (is_busy_)
    ask_again(why);
  else
    start(run, seconds, why);
  return true;
}

std::string Interim::due(LiveRun& run, double seconds) {
  std::string why = triggers_.due(seconds);
  if (!triggers_.wants_reading(seconds)) return why;
  const std::string condition =
      triggers_.due(Reading{.seconds = seconds,
                            .rss = static_cast<double>(run.resident_bytes()),
                            .pressure = run.memory_pressure().value_or(0)});
  return why.empty() || condition.empty() ? why + condition : condition + ", " + why;
}

void Interim::asked(LiveRun& run, double seconds) {
  if (is_busy_) {
    ask_again("SIGUSR1");
    return say("SIGUSR1: another picture follows when this one is written");
  }
  start(run, seconds, "SIGUSR1");
}

std::future<std::string> Interim::picture(LiveRun& run, double seconds) {
  std::future<std::string> name = waiting_.emplace_back().get_future();
  if (is_busy_)
    ask_again("memflame control");
  else
    start(run, seconds, "memflame control");
  return name;
}

void Interim::ask_again(const std::string& why) {
  if (!again_)
    again_ = why;
  else if (again_->find(why) == std::string::npos)
    *again_ += ", " + why;
}

void Interim::end(LiveRun& run, double seconds) {
  finish_writing();
  waiting_.clear();  // no picture of this run comes any more but the last one
  verdicts_.end(run, seconds);
}

void Interim::finish_writing() {
  if (writer_.joinable()) writer_.join();
}

void Interim::start(LiveRun& run, double seconds, const std::string& why) {
  finish_writing();
  Recording recording = run.so_far();
  recording.meta.seconds = seconds;
  recording.meta.notes.emplace_back(so_far_note);
  if (why != "SIGUSR1") recording.meta.notes.push_back("written because of " + why);
  is_busy_ = true;
  writer_ =
      std::jthread([this, number = ++number_, why, recording = std::move(recording),
                    judged = verdicts_.so_far(), waiting = std::exchange(waiting_, {})]() mutable {
        try {
          write(recording, judged ? &*judged : nullptr, number, why);
          const std::string name = std::filesystem::absolute(path_of(number)).string() + "\n";
          for (std::promise<std::string>& promise : waiting) promise.set_value(name);
        } catch (const std::exception& error) {
          say(why + ": " + error.what());
          for (std::promise<std::string>& promise : waiting)
            promise.set_exception(std::make_exception_ptr(Error(error.what())));
        }
        is_busy_ = false;
      });
}

// Next to the output, or in the current folder if the output is not a file.
std::string Interim::path_of(unsigned number) const {
  const std::string path = is_file(request_.output) ? request_.output
                                                    : "memflame-" + std::to_string(::getpid()) +
                                                          std::string(request_.format->suffix);
  return numbered_name(path, request_.format->suffix, number);
}

void Interim::write(Recording& recording, const JudgedRun* judged, unsigned number,
                    const std::string& why) const {
  const std::string path = path_of(number);
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f", recording.meta.seconds);
  const Profile profile =
      drawn_profile(recording, profile_of(recording, request_, false, judged), request_);
  write_output(
      path, [&](std::ostream& out) { request_.format->write(out, profile, request_.render); },
      request_.readers);
  const ValueType& type = profile.types[profile.shown];
  say("so far, after " + std::string(seconds.data()) + " s (" + why + "): " + type.name + " " +
      human(profile.total(profile.shown), type) + " on " +
      std::to_string(profile.touched().size()) + " stacks -> " + path +
      (is_file(request_.output) ? "" : ", as the output is not a file"));
  // Delete an old picture only now that the new one is complete: there are never fewer than --keep.
  if (request_.keep != 0 && number > request_.keep) remove_output(path_of(number - request_.keep));
}

// Makes a single write, so that lines of two threads do not mix.
void Interim::say(const std::string& text) const {
  std::cerr << (request_.probe.status_line ? "\r\033[K" : "") + ("memflame: " + text + "\n");
}

}  // namespace memflame
