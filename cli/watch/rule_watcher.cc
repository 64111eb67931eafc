// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/rule_watcher.h"

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "probes/processes/cgroups.h"
#include "probes/processes/procfs.h"
#include "probes/run/live_run.h"

namespace memflame {
namespace {

constexpr double looks_a_window = 12, shortest_look = 0.2, longest_look = 10;
constexpr double cgroups_interval = 5;  // seconds

double own_processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  rusage children{};
  ::getrusage(RUSAGE_CHILDREN, &children);  // they read names
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime) + seconds(children.ru_utime) +
         seconds(children.ru_stime);
}

DraftService& service_of(WindowDraft& draft, const Labels& labels) {
  for (DraftService& service : draft.services)
    if (service.labels == labels) return service;
  draft.services.push_back({.labels = labels, .sums = {}, .figures = {}});
  return draft.services.back();
}

std::vector<uint64_t> ids_of(const std::vector<CgroupName>& names) {
  if (names.empty()) return {};
  try {
    return Cgroups(names).ids();
  } catch (const Error&) {
    return {};  // gone
  }
}

}  // namespace

RuleWatcher::RuleWatcher(const WatchRule& rule, const Request& request, const RuleLinks& links)
    : rule_(rule),
      request_(request),
      links_(links),
      axis_(std::clamp(rule.window_seconds / looks_a_window, shortest_look, longest_look),
            request.probe.ages),
      labels_(rule.labels),
      maker_("memflame watch (" + rule.name + ")", rule.labels.at("host"), rule.names),
      cgroups_(ids_of(request.probe.target.cgroups)) {}

void RuleWatcher::begin(LiveRun&) {
  began_ns_ = real_time_ns();
  own_seconds_ = own_processor_seconds();
}

// A unit that is started again is another cgroup, of which this run knows nothing.
bool RuleWatcher::have_cgroups_changed(double seconds) {
  if (cgroups_.empty() || seconds < next_cgroups_) return false;
  next_cgroups_ = seconds + cgroups_interval;
  return ids_of(request_.probe.target.cgroups) != cgroups_;
}

void RuleWatcher::take(const Look& look) {
  const History& tables = axis_.tables();
  if (!drafts_) {
    const bool is_alone = request_.beside.empty();
    drafts_.emplace(tables.recording.types, is_alone ? request_.first : "");
  }
  drafts_->add(look, tables);
}

bool RuleWatcher::look(LiveRun& run, double seconds) {
  if (const double share = links_.budget_share(); share != share_)
    run.set_budget_share(share_ = share);
  const bool is_making =
      making_.valid() && making_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (making_.valid() && !is_making) making_.get();
  std::optional<Look> look = axis_.look(run, seconds);
  if (look) take(*look);
  if (have_cgroups_changed(seconds)) {
    problem_ = "its control groups are others now; it begins anew";
    return false;
  }
  // While the window before is still being made, this one goes on.
  const bool is_due = is_asked_ || seconds - window_began_ >= rule_.window_seconds;
  if (is_due && !is_making) end_window(run, seconds, axis_.last(run));
  return true;
}

void RuleWatcher::asked(LiveRun&, double) { is_asked_ = true; }

std::map<std::string, double> RuleWatcher::figures(LiveRun& run, double seconds) {
  const Losses losses = run.losses();
  const LossCount missing = losses.sum(LossKind::missing);
  const LossCount missed = losses_.sum(LossKind::missing);
  const double own = own_processor_seconds();
  std::map<std::string, double> figures{
      {"run_seconds", seconds},
      {"own_cpu_seconds", own - own_seconds_},
      {"lost_events", static_cast<double>(missing.events - missed.events)},
      {"lost_bytes", static_cast<double>(missing.bytes - missed.bytes)}};
  uint64_t distance = request_.probe.own ? request_.probe.own->sampled_bytes() : 0;
  if (const std::optional<Overhead> overhead = run.overhead()) {
    if (overhead->percent) figures["overhead_percent"] = *overhead->percent;
    distance = overhead->distance;
  }
  figures["sample_bytes"] = static_cast<double>(distance);
  losses_ = losses;
  own_seconds_ = own;
  return figures;
}

// Also those of services of which no stack has anything to show.
void RuleWatcher::add_processes(const LiveRun& run, WindowDraft& draft) const {
  std::map<pid_t, size_t> space_of;  // the newest of each process
  for (size_t i = 1; i < draft.recording.spaces.size(); ++i)
    space_of[static_cast<pid_t>(draft.recording.spaces[i].pid)] = i;
  for (const pid_t pid : run.living()) {
    const auto space = space_of.find(pid);
    if (space == space_of.end()) continue;
    DraftService& service = service_of(draft, labels_.all()[space->second]);
    service.figures["processes"] += 1;
    if (const std::optional<OsMemory> memory = read_memory(pid))
      service.figures["resident_bytes"] +=
          static_cast<double>(memory->rss_file + memory->rss_anon + memory->rss_shmem);
  }
}

void RuleWatcher::end_window(LiveRun& run, double seconds, const Look& last) {
  take(last);
  is_asked_ = false;
  Recording code = run.recording_of({}, false);
  labels_.learn(code.spaces);
  links_.tell_table_bytes(run.table_bytes());
  WindowDraft draft = drafts_->take(axis_.tables(), std::move(code), labels_.all());
  add_processes(run, draft);
  draft.began_ns = began_ns_;
  draft.ended_ns = std::max(began_ns_, real_time_ns());
  draft.figures = figures(run, seconds);
  draft.sampling = run.sampling();
  began_ns_ = draft.ended_ns;
  window_began_ = seconds;
  making_ = std::async(std::launch::async, [this, draft = std::move(draft)]() mutable {
    for (const Window& window : maker_.make(std::move(draft))) links_.put(window);
    ::malloc_trim(0);  // names take much for a moment, and the next window is a minute away
  });
}

void RuleWatcher::end(LiveRun& run, double seconds) {
  has_ended_ = true;
  if (making_.valid()) making_.get();
  end_window(run, seconds, axis_.last(run));
  making_.get();
}

void RuleWatcher::finished(const RunInfo& info) {
  if (info.stopped) end_ = RuleEnd::told;
  if (!info.overhead || !info.overhead->ended_after) return;
  end_ = RuleEnd::too_dear;
  problem_ =
      "the probes alone cost its target more than \"max_overhead\" allows, so it is tried again in "
      "ten minutes; \"collect\": \"inside\" costs less";
}

}  // namespace memflame
