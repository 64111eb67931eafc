// SPDX-License-Identifier: BSD-2-Clause
#include "probes/syscall_probe.h"

#include <string>

#include "probes/loading/kernel_features.h"
#include "probes/run/session.h"

namespace memflame {

void choose_syscall_programs(bpf::config& config, BpfObject& object) {
  const bool classic = kernel_features().syscall_tracepoints;
  config.kernel_skip = classic ? 0 : raw_tracepoint_frames;
  object.leave_out(classic ? "memflame_raw_enter" : "memflame_enter");
  object.leave_out(classic ? "memflame_raw_leave" : "memflame_leave");
}

void attach_syscalls(Session& session, std::span<const char* const> calls) {
  BpfObject& object = session.object();
  Links& links = session.links();
  if (!session.features().syscall_tracepoints) {
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
