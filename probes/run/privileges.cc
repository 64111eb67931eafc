// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "core/caller.h"

namespace memflame {
namespace {

constexpr uint64_t bit(int capability) { return uint64_t{1} << capability; }

// Files of other users, in their folders and namespaces; kernel symbols with their addresses;
// root's outputs in folders of others.
constexpr uint64_t for_writing =
    bit(CAP_SYS_PTRACE) | bit(CAP_DAC_READ_SEARCH) | bit(CAP_DAC_OVERRIDE) | bit(CAP_SYSLOG);
// Under sudo outputs are written as the caller (as_caller.h).
constexpr uint64_t for_writing_as_caller = bit(CAP_SETUID) | bit(CAP_SETGID);
// Probes and tables of files that are mapped later; /proc/PID/map_files.
constexpr uint64_t for_counting =
    for_writing | bit(CAP_BPF) | bit(CAP_PERFMON) | bit(CAP_CHECKPOINT_RESTORE);

uint64_t needed_for(Step step) {
  switch (step) {
    case Step::counting:
      return for_counting;
    case Step::counting_by_perf_events:
      return for_counting | bit(CAP_SYS_ADMIN);
    case Step::writing:
      break;
  }
  return for_writing;
}

}  // namespace

void keep_privileges_for(Step step) {
  const uint64_t kept = needed_for(step) | (caller().by_sudo ? for_writing_as_caller : 0);
  // Needs CAP_SETPCAP, so it comes first. If it fails, no program is started that could use the
  // set.
  for (int capability = 0; capability < 64; ++capability)
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return;
  for (size_t half = 0; half < sets.size(); ++half) {
    const auto mask = static_cast<uint32_t>(kept >> (32 * half));
    sets[half].effective &= mask;
    sets[half].permitted &= mask;
    sets[half].inheritable = 0;
  }
  ::syscall(SYS_capset, &header, sets.data());
}

}  // namespace memflame
