// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/oom_share.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr int most_weight = 1000;

// True also for one that has a special weight already: that is somebody's decision.
bool add_weight(pid_t pid, int more) {
  const std::string file = proc_path(pid, "oom_score_adj");
  int weight = 0;
  if (!(std::ifstream(file) >> weight) || weight < 0) return true;
  std::ofstream out(file);
  out << std::min(weight + more, most_weight) << std::flush;
  return out.good();
}

}  // namespace

int oom_adjustment(const MemoryPlan& plan) {
  constexpr uint64_t mib = 1 << 20;
  constexpr uint64_t usual_bytes = 210 * mib, program_bytes = 48 * mib;
  constexpr uint64_t thousand = 1000, most = 900;  // at 1000 the kernel would never kill it
  const uint64_t own = (plan.limit == 0 ? usual_bytes : plan.limit) + program_bytes;
  // Not more than is free can run short.
  const uint64_t share = own * thousand / std::max<uint64_t>(plan.free, 1) + 1;
  return -static_cast<int>(std::min(share, most));
}

void step_behind_target(const MemoryPlan& plan, pid_t command) {
  const int less = oom_adjustment(plan);
  if (add_weight(::getpid(), less) || command == 0) return;
  add_weight(command, -less);
}

}  // namespace memflame
