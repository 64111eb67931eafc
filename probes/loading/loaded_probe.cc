// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/loaded_probe.h"

#include <array>

namespace memflame {
namespace {

struct SyscallEnd {
  const char* program;
  const char* tracepoint;
};
// System calls that change what code is mapped, or end the process.
constexpr std::array<SyscallEnd, 4> syscall_ends{{
    {"memflame_exit_group", "sys_enter_exit_group"},
    {"memflame_munmap", "sys_exit_munmap"},
    {"memflame_map_over", "sys_exit_mmap"},
    {"memflame_move", "sys_exit_mremap"},
}};

}  // namespace

void choose_process_programs(const bpf::config& config, LoadedProbe& probe) {
  if (!config.by_comm) probe.object.leave_out("memflame_rename");
  if (!config.by_cgroup) probe.object.leave_out("memflame_cgroup_attach");
  if (probe.features.syscall_tracepoints) return;
  for (const SyscallEnd& row : syscall_ends) probe.object.leave_out(row.program);
}

void attach_process_programs(const bpf::config& config, LoadedProbe& probe) {
  const auto attach = [&](const char* program, const char* tracepoint) {
    probe.links.raw_tracepoint(probe.object.program(program), tracepoint);
  };
  // Attach exit first, then exec, then fork: the end of every process whose fork is seen is seen,
  // too.
  attach("memflame_exit", "sched_process_exit");
  if (probe.features.syscall_tracepoints)
    for (const SyscallEnd& row : syscall_ends)
      probe.links.tracepoint(probe.object.program(row.program), "syscalls", row.tracepoint);
  attach("memflame_exec", "sched_process_exec");
  attach("memflame_fork", "sched_process_fork");
  if (config.by_comm) attach("memflame_rename", "task_rename");
  if (config.by_cgroup) attach("memflame_cgroup_attach", "cgroup_attach_task");
}

}  // namespace memflame
