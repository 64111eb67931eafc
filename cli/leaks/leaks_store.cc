// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks/leaks_store.h"

#include <algorithm>

#include "cli/leaks/leaks_frames.h"
#include "cli/leaks/leaks_store_check.h"
#include "core/clock.h"
#include "core/units.h"
#include "probes/run/privileges.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

void put_in_order(std::vector<StoreGrowth>& stacks, LeaksOrder order) {
  const auto by = [&](auto figure) {
    std::stable_sort(stacks.begin(), stacks.end(), [&](const StoreGrowth& a, const StoreGrowth& b) {
      return figure(a) > figure(b);
    });
  };
  if (order == LeaksOrder::growth) by([](const StoreGrowth& each) { return each.bytes_per_hour; });
  if (order == LeaksOrder::size) by([](const StoreGrowth& each) { return each.last_bytes; });
  if (order == LeaksOrder::count) by([](const StoreGrowth& each) { return each.last_blocks; });
}

// "version 1.5 on 3 hosts"
std::string fleet_place(const StoreGrowth& growth) {
  return (growth.version.empty() ? "" : "version " + growth.version + " on ") +
         with_commas(static_cast<int64_t>(growth.places)) +
         (growth.places == 1 ? " host" : " hosts");
}

// "3 stacks grow, in version 1.5"
std::string fleet_summary(const std::vector<StoreGrowth>& stacks) {
  size_t growing = 0;
  std::vector<std::string> versions;
  for (const StoreGrowth& each : stacks) {
    if (each.growing == 0) continue;
    ++growing;
    if (!each.version.empty() &&
        std::find(versions.begin(), versions.end(), each.version) == versions.end())
      versions.push_back(each.version);
  }
  if (growing == 0) return "no stack grows steadily";
  std::sort(versions.begin(), versions.end());
  std::string text = with_commas(static_cast<int64_t>(growing)) +
                     (growing == 1 ? " stack grows" : " stacks grow") + " steadily";
  for (size_t i = 0; i < versions.size(); ++i)
    text +=
        (i == 0 ? (versions.size() == 1 ? ", in version " : ", in versions ") : ", ") + versions[i];
  return text;
}

}  // namespace

StoreLeaks leaks_in_store(const std::string& address, const VerdictOptions& options) {
  keep_privileges_for(Step::writing);  // the store needs none
  return store_leaks(question_of(address, real_time_ns()), options.min_bytes);
}

LeaksReport report_on_store(const StoreLeaks& leaks, const StoreLeaksView& view) {
  std::vector<StoreGrowth> stacks = leaks.stacks;
  put_in_order(stacks, view.order);
  LeaksReport report;
  report.clock = leaks.profile.meta.title;
  report.seconds = leaks.profile.meta.seconds;
  report.order = in_words(view.order);
  report.stacks = stacks.size();
  report.live = report.old = {.bytes = leaks.bytes, .blocks = leaks.blocks};
  report.verdicts = fleet_summary(stacks);
  report.sampling = leaks.profile.meta.sampling;
  report.notes = leaks.profile.meta.notes;
  report.losses = leaks.profile.losses;
  for (size_t i = 0; i < std::min(view.most, stacks.size()); ++i) {
    const StoreGrowth& growth = stacks[i];
    ReportedStack& stack = report.top.emplace_back();
    stack.amount = {.bytes = growth.last_bytes, .blocks = growth.last_blocks};
    stack.verdict = clean_text(in_words(growth));  // has versions and hosts
    stack.process = fleet_place(growth);
    stack.fleet = {.verdict = name(growth.kind),
                   .version = growth.version,
                   .hosts = growth.places,
                   .growing_hosts = growth.growing,
                   .bytes_per_hour = growth.bytes_per_hour};
    stack.frames = frame_lines(leaks.profile, growth.stack, view.all_frames);
  }
  return report;
}

bool passes_in_store(LeaksGate& gate, const StoreLeaks& leaks, const std::string& source,
                     size_t most) {
  const Profile& profile = leaks.profile;
  const CheckedRun run{.source = source,
                       .seconds = profile.meta.seconds,
                       .sampling = profile.meta.sampling,
                       .notes = profile.meta.notes,
                       .losses = profile.losses};
  return passes(gate, check_store(leaks, gate.options, gate.suppressions), run, most,
                Readers::by_umask);
}

}  // namespace memflame
