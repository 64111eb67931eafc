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

// Follow fork, exec and exit for a probe that does not lead.
constexpr std::array followers{"memflame_follow_fork", "memflame_follow_exec",
                               "memflame_follow_exit"};
// Programs that one object of a run has for all: the processes and their code are the run's.
constexpr std::array leaders{"memflame_fork",      "memflame_exec",          "memflame_exit",
                             "memflame_rename",    "memflame_cgroup_attach", "memflame_inode",
                             "memflame_code_freed"};
// The run's tables. What is missing here, every object has for itself: sums, notes and counters,
// which are its probe's figures, and the state of threads.
constexpr std::array shared_maps{
    "ring",          "processes",      "spaces",        "cgroups",
    "scratches",     "copies",         "code_slots",    "rows",
    "rules",         "files",          "learnt",        "code_mappings",
    ".bss",          "interpreters",   "known_scripts", "interpreter_files",
    "freed_scripts", "script_buffers", "unmapped_code"};

}  // namespace

void follow(LoadedProbe& probe, const LoadedProbe& leader) {
  for (const char* map : shared_maps) probe.object.share(map, leader.object);
  for (const char* program : leaders) probe.object.leave_out(program);
  for (const SyscallEnd& row : syscall_ends) probe.object.leave_out(row.program);
}

void choose_process_programs(const bpf::config& config, LoadedProbe& probe) {
  for (const char* program : followers) probe.object.leave_out(program);
  if (!config.by_comm) probe.object.leave_out("memflame_rename");
  if (!config.by_cgroup) probe.object.leave_out("memflame_cgroup_attach");
  if (probe.features.syscall_tracepoints) return;
  for (const SyscallEnd& row : syscall_ends) probe.object.leave_out(row.program);
}

void attach_process_programs(const bpf::config& config, std::span<LoadedProbe* const> probes) {
  LoadedProbe& leader = *probes.front();
  const auto attach = [&](const char* program, const char* tracepoint) {
    leader.links.raw_tracepoint(leader.object.program(program), tracepoint);
  };
  const auto attach_followers = [&](const char* program, const char* tracepoint) {
    for (LoadedProbe* probe : probes.subspan(1))
      probe->links.raw_tracepoint(probe->object.program(program), tracepoint);
  };
  // Attach exit first, then exec, then fork: the end of every process whose fork is seen is seen,
  // too.
  attach_followers("memflame_follow_exit", "sched_process_exit");
  attach("memflame_exit", "sched_process_exit");
  if (leader.features.syscall_tracepoints)
    for (const SyscallEnd& row : syscall_ends)
      leader.links.tracepoint(leader.object.program(row.program), "syscalls", row.tracepoint);
  attach("memflame_exec", "sched_process_exec");
  attach_followers("memflame_follow_exec", "sched_process_exec");
  attach("memflame_fork", "sched_process_fork");
  attach_followers("memflame_follow_fork", "sched_process_fork");
  if (config.by_comm) attach("memflame_rename", "task_rename");
  if (config.by_cgroup) attach("memflame_cgroup_attach", "cgroup_attach_task");
}

}  // namespace memflame
