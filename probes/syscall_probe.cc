// SPDX-License-Identifier: BSD-2-Clause
#include "probes/syscall_probe.h"

#include <string>

#include "core/error.h"
#include "probes/loading/loaded_probe.h"

namespace memflame {

void choose_syscall_programs(bpf::config& config, BpfObject& object) {
  const bool classic = kernel_features().syscall_tracepoints;
  config.kernel_skip = classic ? 0 : raw_tracepoint_frames;
  object.leave_out(classic ? "memflame_raw_enter" : "memflame_enter");
  object.leave_out(classic ? "memflame_raw_leave" : "memflame_leave");
}

void attach_syscalls(LoadedProbe& probe, std::span<const char* const> calls) {
  BpfObject& object = probe.object;
  Links& links = probe.links;
  if (!probe.features.syscall_tracepoints) {
    links.raw_tracepoint(object.program("memflame_raw_leave"), "sys_exit");
    links.raw_tracepoint(object.program("memflame_raw_enter"), "sys_enter");
    return;
  }
  const auto attach = [&](const char* program, const std::string& name) {
    if (!links.tracepoint(object.program(program), "syscalls", name.c_str()))
      throw Error("the kernel has no tracepoint syscalls/" + name, ExitCode::requirement);
  };
  for (const char* call : calls) attach("memflame_leave", std::string("sys_exit_") + call);
  for (const char* call : calls) attach("memflame_enter", std::string("sys_enter_") + call);
}

}  // namespace memflame
