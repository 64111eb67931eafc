// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/controlled.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <iostream>
#include <utility>
#include <vector>

#include "core/caller.h"
#include "core/error.h"
#include "core/secrets.h"
#include "core/units.h"
#include "probes/run/live_run.h"
#include "probes/system/procfs.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

constexpr size_t longest_fact = 1000;  // bytes; a command line may have megabytes
constexpr size_t most_processes = 10;

std::string fact_line(const std::string& name, const std::string& fact) {
  uint64_t replaced = 0;
  const std::string clean = clean_text(fact.substr(0, longest_fact), replaced);
  return name + ": " + clean + (fact.size() > longest_fact ? "…" : "") + "\n";
}

std::string moment_in_words(std::time_t time) {
  std::tm parts{};
  std::array<char, 64> text{};
  ::gmtime_r(&time, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

// "812 (server), 815 (worker)"
std::string processes_in_words(const std::vector<pid_t>& pids) {
  if (pids.empty()) return "none";
  std::string text;
  for (size_t i = 0; i < pids.size() && i < most_processes; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(pids[i]) + " (" + read_comm(pids[i]) + ")";
  if (pids.size() > most_processes)
    text += " and " + std::to_string(pids.size() - most_processes) + " more";
  return text;
}

std::future<std::string> at_once(std::string text) {
  std::promise<std::string> promise;
  promise.set_value(std::move(text));
  return promise.get_future();
}

}  // namespace

void Controlled::begin(LiveRun& run) {
  watcher_.begin(run);
  began_ = std::time(nullptr);
  try {
    server_.emplace(caller().uid);
  } catch (const Error& error) {
    if (request_.probe.start_paused)
      throw Error(std::string("--start-paused: ") + error.what() + ", so nothing could resume it",
                  ExitCode::failure);
    std::cerr << "memflame: " << error.what() << "; the run goes on without it\n";
  }
  if (request_.probe.start_paused)
    std::cerr << "memflame: paused; 'memflame control " << ::getpid()
              << " resume' lets counting begin\n";
}

bool Controlled::resumes(LiveRun& run) {
  server_->serve([&](const ControlRequest& request) { return answer_paused(request, run); });
  if (is_resumed_) began_ = std::time(nullptr);
  return is_resumed_;
}

bool Controlled::look(LiveRun& run, double seconds) {
  if (server_)
    server_->serve([&](const ControlRequest& request) { return answer(request, run, seconds); });
  return watcher_.look(run, seconds);
}

void Controlled::end(LiveRun& run, double seconds) {
  watcher_.end(run, seconds);
  if (server_) server_->finish();
}

std::future<std::string> Controlled::answer(const ControlRequest& request, LiveRun& run,
                                            double seconds) {
  switch (request.word) {
    case ControlRequest::Word::snapshot:
      return watcher_.picture(run, seconds);
    case ControlRequest::Word::mark: {
      watcher_.mark(request.name, seconds);
      std::array<char, 32> time{};
      std::snprintf(time.data(), time.size(), "%.3f", seconds);
      return at_once("mark '" + request.name + "' at " + time.data() + " s\n");
    }
    case ControlRequest::Word::resume:
      throw Error("this run is not paused: it counts");
    case ControlRequest::Word::status:
      break;
  }
  return at_once(status(run, seconds));
}

std::future<std::string> Controlled::answer_paused(const ControlRequest& request,
                                                   const LiveRun& run) {
  if (request.word == ControlRequest::Word::status) return at_once(status(run, std::nullopt));
  if (request.word != ControlRequest::Word::resume)
    throw Error("this run is paused, and has counted nothing yet; 'resume' lets it begin");
  if (std::exchange(is_resumed_, true)) throw Error("this run is resumed already");
  return at_once("resumed\n");
}

// `seconds`: none while it is paused.
std::string Controlled::status(const LiveRun& run, std::optional<double> seconds) const {
  const std::string command = meta_of(request_).command;
  std::string probes = request_.first.empty() ? request_.command : request_.first;
  for (const ProbeRun& beside : request_.beside) probes += "," + std::string(beside.probe->name);
  std::array<char, 32> time{"0.0 s"};
  if (seconds) std::snprintf(time.data(), time.size(), "%.1f s", *seconds);
  const Losses losses = run.losses();
  return fact_line("pid", std::to_string(::getpid())) +
         fact_line("command", command.empty() ? "hidden (--anonymise)" : without_secrets(command)) +
         fact_line("watched now", processes_in_words(run.living())) + fact_line("probes", probes) +
         fact_line("output", request_.output.empty() ? "-" : request_.output) +
         fact_line("counting since", seconds ? moment_in_words(began_) : "not yet: paused") +
         fact_line("counting for", time.data()) +
         fact_line("resident memory", iec_bytes(run.resident_bytes())) +
         fact_line("lost events", with_commas(static_cast<int64_t>(losses.lost_events())));
}

}  // namespace memflame
