#include "probes/alloc/governor.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/error.h"
#include "core/units.h"
#include "probes/alloc/rate.h"
#include "probes/bpf_syscall.h"
#include "probes/procfs.h"
#include "probes/session.h"

// Functions to measure the trap on: one begins with an instruction that the kernel emulates, the
// other with one that it single-steps.
extern "C" {
void memflame_price_entry();
void memflame_price_stepped();
}
asm(R"(
  .pushsection .text
  .globl memflame_price_entry, memflame_price_stepped
  .hidden memflame_price_entry, memflame_price_stepped
  .type memflame_price_entry, @function
  .type memflame_price_stepped, @function
memflame_price_entry:
  push %rbx
  pop %rbx
  ret
  .size memflame_price_entry, . - memflame_price_entry
memflame_price_stepped:
  test %rdi, %rdi
  ret
  .size memflame_price_stepped, . - memflame_price_stepped
  .popsection
)");

namespace memflame {
namespace {

constexpr double interval_seconds = 0.5;
constexpr uint64_t least_distance = 4096;
constexpr uint64_t largest_distance = 1ULL << 30;

// Where a function of ours is in /proc/self/exe.
uint64_t file_offset(void (*function)()) {
  const uint64_t address = reinterpret_cast<uintptr_t>(function);
  for (const MapsLine& line : read_maps(::getpid()).value_or(std::vector<MapsLine>{}))
    if (address >= line.start && address < line.end) return address - line.start + line.offset;
  throw Error("internal: memflame does not find its own code in /proc/self/maps");
}

double nanoseconds_per_call(void (*function)()) {
  constexpr int calls = 1000;
  double best = std::numeric_limits<double>::max();
  for (int round = 0; round < 5; ++round) {
    const uint64_t start = monotonic_ns();
    for (int i = 0; i < calls; ++i) function();
    best = std::min(best, static_cast<double>(monotonic_ns() - start) / calls);
  }
  return best;
}

// The same with a probe that does nothing.
double price(void (*function)(), bool is_return) {
  const double bare = nanoseconds_per_call(function);
  const uint64_t offset = file_offset(function);
  const UniqueFd program = load_trivial_kprobe(attach_uprobe_multi);
  const UniqueFd link = link_uprobe_multi(
      program.get(),
      {.path = "/proc/self/exe", .offsets = {&offset, 1}, .cookies = {}, .is_return = is_return});
  if (!link)
    throw Error(
        "--max-overhead: the cost of a probe cannot be measured on this kernel (it needs "
        "uprobe_multi links, Linux 6.6); use --sample BYTES",
        ExitCode::requirement);
  return std::max(0.0, nanoseconds_per_call(function) - bare);
}

// CPU time of a process with all its threads, also those that have ended: fields 14 and 15 of
// /proc/PID/stat, in clock ticks (proc(5)).
double cpu_seconds(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string word;
  for (int i = 3; i < 14; ++i) fields >> word;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  static const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return (user + system) * tick;
}

CostReading read_cost(Session& session, const TrapPrices& prices) {
  CostReading now;
  const bpf::counters counters = session.counters();
  const auto number = [](uint64_t n) { return static_cast<double>(n); };
  const double entries = number(counters.entries);
  const double returns = number(counters.returns);
  const double stepped = number(counters.stepped);
  const double run_ns =
      counters.timed_runs == 0 ? 0 : number(counters.timed_ns) / number(counters.timed_runs);
  now.cost_seconds = ((entries + returns) * run_ns + (entries - stepped) * prices.entry +
                      stepped * prices.stepped + returns * prices.returns) /
                     1e9;
  for (const pid_t pid : session.os().pids()) now.cpu_seconds += cpu_seconds(pid);
  return now;
}

}  // namespace

double overhead_percent(double cost_seconds, double cpu_seconds) {
  const double own = cpu_seconds - cost_seconds;
  // The programs ran in the target's time; where clock ticks hide that, nothing is left of it.
  return cost_seconds <= 0 ? 0 : 100 * cost_seconds / std::max(own, cpu_seconds / 100);
}

uint64_t next_distance(uint64_t distance, double overhead, double budget) {
  if (overhead > budget) {
    if (distance == 0) return least_distance;
    const double times = std::clamp(overhead / budget * 1.5, 1.5, 64.0);
    const double next = static_cast<double>(distance) * times;
    return next >= static_cast<double>(largest_distance) ? largest_distance
                                                         : static_cast<uint64_t>(next);
  }
  // Half the distance is at most twice the cost.
  if (overhead < budget * 0.4 && distance != 0)
    return distance / 2 < least_distance ? 0 : distance / 2;
  return distance;
}

Governor::Governor(double budget_percent) : budget_(budget_percent) {
  prices_.entry = price(memflame_price_entry, false);
  prices_.stepped = price(memflame_price_stepped, false);
  // A return probe traps at the entry, too.
  prices_.returns = std::max(0.0, price(memflame_price_entry, true) - prices_.entry);
}

void Governor::poll(Session& session) {
  const double now = static_cast<double>(monotonic_ns()) / 1e9;
  if (start_ == 0) {
    start_ = now;
    last_ = read_cost(session, prices_);
    first_ = last_;
    return;
  }
  if (now - start_ - last_.seconds < interval_seconds) return;
  CostReading reading = read_cost(session, prices_);
  reading.seconds = now - start_;
  const double cpu = reading.cpu_seconds - last_.cpu_seconds;
  const double overhead = overhead_percent(reading.cost_seconds - last_.cost_seconds, cpu);
  overall_ = overhead_percent(reading.cost_seconds - first_.cost_seconds,
                              reading.cpu_seconds - first_.cpu_seconds);
  // A few clock ticks say nothing.
  if (cpu < 0.05) return;
  last_ = reading;
  const uint64_t next = next_distance(distance_, overhead, budget_);
  beyond_control_ = next == largest_distance && overhead > budget_;
  if (next == distance_) return;
  changes_.push_back(
      {.seconds = reading.seconds, .from = distance_, .to = next, .overhead = overhead});
  distance_ = next;
  set_sampling(session.object().globals(), next);
}

std::string Governor::in_words() const {
  std::array<char, 64> number{};
  std::snprintf(number.data(), number.size(), "%.1f %% of a budget of %g %%", overall_, budget_);
  std::string text = "overhead " + std::string(number.data()) + ", the sampling rate changed " +
                     std::to_string(changes_.size()) + " times";
  if (!changes_.empty() && changes_.back().to != 0)
    text += ", at the end 1 sample per " + iec_bytes(static_cast<int64_t>(changes_.back().to));
  if (beyond_control_)
    text += "; the probes alone cost more than the budget, and no rate changes that";
  return text;
}

}  // namespace memflame
