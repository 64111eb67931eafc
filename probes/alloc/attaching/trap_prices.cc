// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/attaching/trap_prices.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "probes/loading/bpf_syscall.h"
#include "probes/loading/links.h"
#include "probes/system/procfs.h"

// Functions to measure on: one begins with an instruction that the kernel emulates, the
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

// The offset of one of memflame's functions in /proc/self/exe.
uint64_t file_offset(void (*function)()) {
  const uint64_t address = reinterpret_cast<uintptr_t>(function);
  for (const MapsLine& line : read_maps(::getpid()).value_or(std::vector<MapsLine>{}))
    if (address >= line.start && address < line.end) return address - line.start + line.offset;
  throw Error("internal: memflame does not find its own code in /proc/self/maps");
}

// The minimum of many short rounds, because other load on the machine makes some of them slower.
double nanoseconds_per_call(void (*function)()) {
  constexpr int calls = 100;
  double best = std::numeric_limits<double>::max();
  for (int round = 0; round < 40; ++round) {
    const uint64_t start = thread_cpu_ns();
    for (int i = 0; i < calls; ++i) function();
    best = std::min(best, static_cast<double>(thread_cpu_ns() - start) / calls);
  }
  return best;
}

// The time of a call with a probe that does nothing.
double nanoseconds_with_probe(void (*function)(), UprobeKind kind) {
  const bool multi = kind == UprobeKind::multi_entry || kind == UprobeKind::multi_returns;
  const UniqueFd program = load_trivial_kprobe(kind == UprobeKind::session ? attach_uprobe_session
                                               : multi                     ? attach_uprobe_multi
                                                                           : 0);
  Links links;
  links.uprobes(program.get(), "/proc/self/exe", {{.offset = file_offset(function)}}, kind,
                ::getpid());
  return nanoseconds_per_call(function);
}

UprobeKind entry_kind(const UprobeMeans& means) {
  return means.multi ? UprobeKind::multi_entry : UprobeKind::entry;
}

UprobeKind return_kind(const UprobeMeans& means) {
  return means.session ? UprobeKind::session
         : means.multi ? UprobeKind::multi_returns
                       : UprobeKind::returns;
}

void keep_least(double& least, double now) { least = std::min(least, now); }

}  // namespace

TrapPrices PriceMeter::measure() {
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    keep_least(emulated_, nanoseconds_per_call(memflame_price_entry));
    keep_least(stepped_, nanoseconds_per_call(memflame_price_stepped));
    const UprobeKind entry = entry_kind(means_);
    keep_least(emulated_entry_, nanoseconds_with_probe(memflame_price_entry, entry));
    keep_least(stepped_entry_, nanoseconds_with_probe(memflame_price_stepped, entry));
    // A return probe traps at the entry, too, so its price is the difference to an entry probe.
    keep_least(emulated_both_, nanoseconds_with_probe(memflame_price_entry, return_kind(means_)));
  }
  return {.entry = std::max(0.0, emulated_entry_ - emulated_),
          .stepped = std::max(0.0, stepped_entry_ - stepped_),
          .returns = std::max(0.0, emulated_both_ - emulated_entry_)};
}

double measure_entry_price(const UprobeMeans& means) {
  const double bare = nanoseconds_per_call(memflame_price_entry);
  return std::max(0.0, nanoseconds_with_probe(memflame_price_entry, entry_kind(means)) - bare);
}

}  // namespace memflame
