// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/governor.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "core/error.h"
#include "core/units.h"
#include "probes/alloc/rate.h"
#include "probes/procfs.h"
#include "probes/session.h"

namespace memflame {
namespace {

constexpr double interval_seconds = 0.5;
// CPU time that clock ticks can tell.
constexpr double least_cpu_seconds = 0.05;
// One allocation kept in so many costs next to nothing beside the probes.
constexpr double next_to_nothing = 1.0 / 200;
// Looks at a cost that cannot be helped, half a second apart or more, before the run ends.
constexpr int most_looks_beyond = 3;

std::string distance_in_words(uint64_t distance) {
  return distance == 0 ? "all" : "1 sample per " + iec_bytes(static_cast<int64_t>(distance));
}

std::string in_percent(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g %%", value);
  return text.data();
}

}  // namespace

double overhead_percent(double cost_seconds, double cpu_seconds) {
  const double own = cpu_seconds - cost_seconds;
  // The programs ran in the target's time; where clock ticks hide that, nothing is left of it.
  return cost_seconds <= 0 ? 0 : 100 * cost_seconds / std::max(own, cpu_seconds / 100);
}

bool is_beyond_control(const Situation& now, double budget) {
  if (now.probes > budget) return true;
  return now.overhead > budget && now.distance != 0 &&
         (now.distance == largest_distance || now.kept < next_to_nothing);
}

uint64_t next_distance(const Situation& now, double budget) {
  if (is_beyond_control(now, budget)) return now.distance;
  if (now.overhead > budget) {
    if (now.distance == 0) return first_distance;
    const double times = std::clamp(now.overhead / budget * 1.5, 1.5, 64.0);
    const double next = static_cast<double>(now.distance) * times;
    return next >= static_cast<double>(largest_distance) ? largest_distance
                                                         : static_cast<uint64_t>(next);
  }
  // Half the distance is at most twice the cost.
  if (now.overhead < budget * 0.4 && now.distance != 0)
    return now.distance / 2 < least_distance ? 0 : now.distance / 2;
  return now.distance;
}

uint64_t cpu_ticks(std::string_view stat, bool with_children) {
  // Fields 14 to 17 (proc(5)), the second of which is a name that may hold anything.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return 0;
  std::istringstream fields{std::string(stat.substr(name_end + 1))};
  std::string word;
  for (int i = 3; i < 14; ++i) fields >> word;
  uint64_t sum = 0;
  uint64_t ticks = 0;
  for (int i = 0; i < (with_children ? 4 : 2) && fields >> ticks; ++i) sum += ticks;
  return sum;
}

Governor::Governor(double budget_percent, const UprobeMeans& means) : meter_(means) {
  overhead_.budget = budget_percent;
  overhead_.prices = meter_.measure();
}

Governor::Reading Governor::read(Session& session, const std::vector<pid_t>& pids) const {
  const bpf::counters counters = session.counters();
  const auto number = [](uint64_t n) { return static_cast<double>(n); };
  const double entries = number(counters.entries);
  const double returns = number(counters.returns);
  const double stepped = number(counters.stepped);
  const double run_ns =
      counters.timed_runs == 0 ? 0 : number(counters.timed_ns) / number(counters.timed_runs);
  const TrapPrices& prices = overhead_.prices;
  Reading now;
  now.seconds = number(monotonic_ns()) / 1e9;
  now.kept = number(counters.events);
  now.seen = now.kept + number(counters.passed_over);
  now.trap_seconds = ((entries - stepped) * prices.entry + stepped * prices.stepped) / 1e9;
  now.cost_seconds =
      now.trap_seconds + ((entries + returns) * run_ns + returns * prices.returns) / 1e9;
  static const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const bool with_children = session.options().target.follow_children;
  for (const pid_t pid : pids)
    now.cpu_seconds += tick * number(cpu_ticks(read_file("/proc/" + std::to_string(pid) + "/stat"),
                                               with_children));
  return now;
}

// Adds what has passed since the last reading. False when that is too little to judge.
bool Governor::take(const Reading& now) {
  const double cpu = now.cpu_seconds - last_.cpu_seconds;
  // A process that has ended and was not waited for yet is missing for a while; when nobody of the
  // watched waits for it, for good.
  if (cpu < 0 && now.seconds - last_.seconds > 4 * interval_seconds) last_ = now;
  if (cpu < least_cpu_seconds) return false;
  cpu_seconds_ += cpu;
  cost_seconds_ += now.cost_seconds - last_.cost_seconds;
  overhead_.percent = overhead_percent(cost_seconds_, cpu_seconds_);
  return true;
}

// At new prices.
void Governor::restate(const Reading& now) {
  cpu_seconds_ += now.cpu_seconds - last_.cpu_seconds;
  cost_seconds_ += now.cost_seconds - last_.cost_seconds;
  last_ = now;
}

void Governor::poll(Session& session) {
  const double seconds = static_cast<double>(monotonic_ns()) / 1e9;
  if (started_ && seconds - last_.seconds < interval_seconds) return;
  const Reading now = read(session, session.os().living());
  if (!started_) {
    started_ = true;
    start_ = now.seconds;
    last_ = now;
    return;
  }
  const Reading before = last_;
  if (!take(now)) return;
  last_ = now;
  const double seen = now.seen - before.seen;
  const double cost = now.cost_seconds - before.cost_seconds;
  const double cpu = now.cpu_seconds - before.cpu_seconds;
  const double traps = now.trap_seconds - before.trap_seconds;
  const uint64_t distance = distance_;
  const double price = overhead_.prices.entry;
  judge({.distance = distance_,
         .overhead = overhead_percent(cost, cpu),
         .probes = overhead_percent(traps, cpu - cost + traps),
         .kept = seen > 0 ? (now.kept - before.kept) / seen : 0},
        now.seconds - start_);
  if (overhead_.prices.entry != price) restate(read(session, session.os().living()));
  if (distance_ != distance) set_sampling(session.object().globals(), distance_);
}

// They may be those of a moment in which the machine was slow: before they end a run they are
// measured again.
bool Governor::prices_were_wrong() {
  const double before = overhead_.prices.entry;
  try {
    overhead_.prices = meter_.measure();
  } catch (const Error&) {
    return false;  // a run with results is not lost for that
  }
  if (overhead_.prices.entry >= 0.9 * before) return false;
  looks_beyond_ = 0;
  overhead_.beyond_control = false;
  return true;
}

void Governor::judge(const Situation& situation, double seconds) {
  overhead_.recent_percent = situation.overhead;
  overhead_.probes_percent = situation.probes;
  overhead_.beyond_control = is_beyond_control(situation, overhead_.budget);
  looks_beyond_ = overhead_.beyond_control ? looks_beyond_ + 1 : 0;
  if (looks_beyond_ == most_looks_beyond && !prices_were_wrong() && !overhead_.ended_after)
    overhead_.ended_after = seconds;
  const uint64_t next = next_distance(situation, overhead_.budget);
  if (next == distance_) return;
  overhead_.changes.push_back(
      {.seconds = seconds, .from = distance_, .to = next, .overhead = situation.overhead});
  distance_ = next;
}

void Governor::finish(Session& session) {
  if (started_) take(read(session, session.os().pids()));
}

std::string Governor::in_words() const {
  std::string text = "overhead ";
  text += overhead_.percent ? in_percent(*overhead_.percent) : "unknown (too short a run)";
  text += " of a budget of " + in_percent(overhead_.budget);
  if (overhead_.beyond_control && overhead_.recent_percent)
    text += "; the probes alone cost more than that (" + in_percent(*overhead_.recent_percent) +
            " at the end), and no sampling rate changes it";
  if (overhead_.ended_after) {
    std::array<char, 96> ended{};
    std::snprintf(ended.data(), ended.size(), ": measuring ended after %.1f s",
                  *overhead_.ended_after);
    text += std::string(ended.data()) + "; try 'memflame fault', or a larger budget";
  }
  // The summary in JSON has all of them.
  constexpr size_t most = 12;
  for (size_t i = 0; i < std::min(most, overhead_.changes.size()); ++i) {
    const RateChange& change = overhead_.changes[i];
    std::array<char, 32> at{};
    std::snprintf(at.data(), at.size(), "%.1f s", change.seconds);
    text += (i == 0 ? "; kept were all at first, " : ", ") + distance_in_words(change.to) +
            " from " + at.data() + " on (" + in_percent(change.overhead) + " before)";
  }
  if (overhead_.changes.size() > most)
    text += ", and " + std::to_string(overhead_.changes.size() - most) + " more changes";
  return text;
}

}  // namespace memflame
