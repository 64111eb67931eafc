// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/rule_watcher.h"

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <optional>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/units.h"
#include "probes/run/live_run.h"
#include "probes/run/memory_plan.h"
#include "probes/system/cgroups.h"
#include "probes/system/procfs.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

constexpr double looks_a_window = 12, shortest_look = 0.2, longest_look = 10;
constexpr double cgroups_interval = 5;   // seconds
constexpr int windows_before_anew = 10;  // a start costs about a second of processor time
constexpr uint64_t least_for_names = uint64_t{4} << 20U;  // symbols of a small program

double look_interval(const WatchRule& rule) {
  return std::clamp(rule.window_seconds / looks_a_window, shortest_look, longest_look);
}

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

RuleWatcher::RuleWatcher(const WatchRule& rule, const Request& request, const RuleLinks& links,
                         const Probe* go_beside)
    : rule_(rule),
      request_(request),
      links_(links),
      go_beside_(go_beside),
      main_{.axis = {look_interval(rule), request.probe.ages},
            .labels = ProcessLabels(rule.labels)},
      of_go_{.axis = {look_interval(rule), false}, .labels = ProcessLabels(rule.labels)},
      maker_("memflame watch (" + rule.name + ")", rule.labels.at("host"), rule.names),
      cgroups_(ids_of(request.probe.target.cgroups)) {}

void RuleWatcher::begin(LiveRun& run) {
  began_ns_ = real_time_ns();
  own_seconds_ = own_processor_seconds();
  go_ = dynamic_cast<const GoHeaps*>(&run);
  if (go_beside_ == nullptr) return;
  beside_ = std::make_unique<GoHeaps>(*go_beside_, request_.probe, GoHeaps::Others::watched);
  beside_->arm();
  go_ = beside_.get();
}

// A unit that is started again is another cgroup, of which this run knows nothing.
bool RuleWatcher::have_cgroups_changed(double seconds) {
  if (cgroups_.empty() || seconds < next_cgroups_) return false;
  next_cgroups_ = seconds + cgroups_interval;
  return ids_of(request_.probe.target.cgroups) != cgroups_;
}

void RuleWatcher::take(Side& side, const Look& look) {
  const History& tables = side.axis.tables();
  if (!side.drafts) {
    const bool is_alone = &side == &of_go_ || request_.beside.empty();
    side.drafts.emplace(tables.recording.types, is_alone ? request_.first : "");
  }
  side.drafts->add(look, tables);
}

// One line in each run; the count goes on in the metrics.
void RuleWatcher::tell_unwatched() {
  if (go_ == nullptr) return;
  const GoHeaps::Unwatched unwatched = go_->unwatched();
  links_.tell_unwatched(unwatched.count);
  if (told_unwatched_ || unwatched.count == 0) return;
  told_unwatched_ = true;
  std::cerr << "memflame: rule " + rule_.name + ": the heap of " +
                   with_commas(static_cast<int64_t>(unwatched.count)) +
                   (unwatched.count == 1 ? " process" : " processes") +
                   " is not watched: " + clean_text(unwatched.first) + "\n";
}

bool RuleWatcher::look(LiveRun& run, double seconds) {
  if (const double share = links_.budget_share(); share != share_)
    run.set_budget_share(share_ = share);
  const bool is_making =
      making_.valid() && making_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (making_.valid() && !is_making) making_.get();
  if (const std::optional<Look> look = main_.axis.look(run, seconds)) take(main_, *look);
  if (beside_) {
    beside_->step();
    if (beside_->has_met_any())
      if (const std::optional<Look> look = of_go_.axis.look(*beside_, seconds)) take(of_go_, *look);
  }
  if (have_cgroups_changed(seconds)) {
    problem_ = "its control groups are others now; it begins anew";
    return false;
  }
  // What belongs to processes that have ended was given back after the first of these windows.
  if (full_windows_ > 1 && seconds >= windows_before_anew * rule_.window_seconds) {
    problem_ =
        "its tables of stacks or processes are full: it begins anew, and blocks from before are "
        "not known any more. With more \"memory\" that is rarer";
    return false;
  }
  // While the window before is still being made, this one goes on.
  const bool is_due = is_asked_ || seconds - window_began_ >= rule_.window_seconds;
  if (is_due && !is_making) end_window(run, seconds);
  return true;
}

void RuleWatcher::asked(LiveRun&, double) { is_asked_ = true; }

std::map<std::string, double> RuleWatcher::figures(LiveRun& run, double seconds) {
  const Losses losses = run.losses();
  const LossCount missing = losses.sum(LossKind::missing);
  const LossCount missed = losses_.sum(LossKind::missing);
  // Losses can become fewer: a process that was missed may be watched after all.
  const uint64_t lost = missing.events - std::min(missing.events, missed.events);
  links_.tell_lost(lost);
  untold_.events += lost;
  untold_.bytes += missing.bytes - missed.bytes;
  const double own = own_processor_seconds();
  std::map<std::string, double> figures{{"run_seconds", seconds},
                                        {"own_cpu_seconds", own - own_seconds_},
                                        {"lost_events", static_cast<double>(untold_.events)},
                                        {"lost_bytes", static_cast<double>(untold_.bytes)}};
  uint64_t distance = request_.probe.own ? request_.probe.own->sampled_bytes() : 0;
  if (const std::optional<Overhead> overhead = run.overhead()) {
    if (overhead->percent) figures["overhead_percent"] = *overhead->percent;
    distance = overhead->distance;
  }
  if (go_ != nullptr) {
    if (go_ != beside_.get()) distance = go_->sample_bytes();
    if (go_->watched() != 0) figures["go_sample_bytes"] = static_cast<double>(go_->sample_bytes());
    if (const uint64_t unread = go_->unread(); unread != unread_) {
      figures["go_unread"] = static_cast<double>(unread - unread_);
      unread_ = unread;
    }
    figures["unwatched_processes"] = static_cast<double>(go_->unwatched().count);
  }
  figures["sample_bytes"] = static_cast<double>(distance);
  const auto is_more = [&](Loss loss) { return losses[loss].events > losses_[loss].events; };
  const bool is_full = is_more(Loss::stack_table_full) || is_more(Loss::process_table_full);
  full_windows_ = is_full ? full_windows_ + 1 : 0;
  losses_ = losses;
  own_seconds_ = own;
  return figures;
}

// Also those of services of which no stack has anything to show. A process that two runs watch
// counts once.
void RuleWatcher::add_processes(const LiveRun& run, const Side& side, std::set<pid_t>& counted,
                                bool are_go, WindowDraft& draft) {
  std::map<pid_t, size_t> space_of;  // the newest of each process
  for (size_t i = 1; i < draft.recording.spaces.size(); ++i)
    space_of[static_cast<pid_t>(draft.recording.spaces[i].pid)] = i;
  for (const pid_t pid : run.living()) {
    const auto space = space_of.find(pid);
    if (space == space_of.end()) continue;
    DraftService& service =
        service_of(draft, side.labels.of(SpaceId{static_cast<uint32_t>(space->second)}));
    if (are_go) service.figures["go_processes"] += 1;
    if (!counted.insert(pid).second) continue;
    service.figures["processes"] += 1;
    if (const std::optional<OsMemory> memory = read_memory(pid))
      service.figures["resident_bytes"] +=
          static_cast<double>(memory->rss_file + memory->rss_anon + memory->rss_shmem);
  }
}

WindowDraft RuleWatcher::draft_of(LiveRun& run, Side& side, const Look& last) {
  take(side, last);
  Recording code = run.recording_of({}, false);
  side.labels.learn(code.spaces);
  WindowDraft draft =
      side.drafts->take(side.axis.tables(), std::move(code),
                        [&](SpaceId space) -> const Labels& { return side.labels.of(space); });
  draft.sampling = run.sampling();
  side.drafts->forget(run.forget(last, side.axis.tables()));
  return draft;
}

// What is left of the rule's memory.
uint64_t RuleWatcher::room_for_names(uint64_t table_bytes) const {
  const uint64_t taken = own_memory() + table_bytes;
  return std::max(least_for_names, rule_.memory - std::min(rule_.memory, taken));
}

void RuleWatcher::end_window(LiveRun& run, double seconds) {
  is_asked_ = false;
  std::vector<WindowDraft> drafts;
  std::set<pid_t> counted;
  drafts.push_back(draft_of(run, main_, main_.axis.last(run)));
  add_processes(run, main_, counted, go_ == &run, drafts[0]);
  if (beside_ && beside_->has_met_any()) {
    drafts.push_back(draft_of(*beside_, of_go_, of_go_.axis.last(*beside_)));
    add_processes(*beside_, of_go_, counted, true, drafts[1]);
  }
  const uint64_t table_bytes = run.table_bytes();
  links_.tell_table_bytes(table_bytes);
  tell_unwatched();
  drafts[0].figures = figures(run, seconds);
  const auto is_window = [](const WindowDraft& draft) { return !draft.services.empty(); };
  if (std::ranges::any_of(drafts, is_window)) untold_ = {};
  const int64_t ended_ns = std::max(began_ns_, real_time_ns());
  for (WindowDraft& draft : drafts) {
    draft.began_ns = began_ns_;
    draft.ended_ns = ended_ns;
  }
  began_ns_ = ended_ns;
  window_began_ = seconds;
  making_ =
      std::async(std::launch::async, [this, table_bytes, drafts = std::move(drafts)]() mutable {
        for (const Window& window : maker_.make(std::move(drafts), room_for_names(table_bytes)))
          links_.put(window);
        ::malloc_trim(0);  // names take much for a moment, and the next window is a minute away
      });
}

void RuleWatcher::end(LiveRun& run, double seconds) {
  has_ended_ = true;
  if (making_.valid()) making_.get();
  end_window(run, seconds);
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
