// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/requirements.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/elf/image.h"
#include "core/error.h"
#include "core/unique_fd.h"
#include "probes/options/advice.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

// Numbers of linux/capability.h.
constexpr int cap_sys_admin = 21;
constexpr int cap_perfmon = 38;
constexpr int cap_bpf = 39;

std::string pid_text(pid_t pid) { return "process " + std::to_string(pid); }

}  // namespace

void require_kernel_and_privilege() {
  utsname names{};
  int major = 0;
  int minor = 0;
  if (uname(&names) == 0 && std::sscanf(names.release, "%d.%d", &major, &minor) == 2 &&
      (major < 6 || (major == 6 && minor < 1)))
    throw Error(std::string("kernel ") + names.release +
                    " is older than 6.1, the oldest that memflame was run on",
                ExitCode::requirement);
  const std::string mask = status_field(read_file("/proc/self/status"), "CapEff");
  const uint64_t held = std::strtoull(mask.c_str(), nullptr, 16);
  const auto has = [held](int capability) { return (held >> capability & 1) != 0; };
  std::string missing;
  if (!has(cap_sys_admin) && !has(cap_bpf)) missing = "CAP_BPF";
  if (!has(cap_sys_admin) && !has(cap_perfmon))
    missing += missing.empty() ? "CAP_PERFMON" : " and CAP_PERFMON";
  if (!missing.empty())
    throw Error("missing privilege " + missing + ": " +
                    run_as_root_or_with("CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE"),
                ExitCode::requirement);
  if (::access("/sys/kernel", F_OK) != 0)
    throw Error(
        "/sys is not mounted, where the kernel keeps its type information: "
        "mount -t sysfs sysfs /sys, or give the container the host's /sys",
        ExitCode::requirement);
  if (::access("/sys/kernel/btf/vmlinux", R_OK) != 0)
    throw Error(
        "this kernel has no type information (/sys/kernel/btf/vmlinux): use a kernel built with "
        "CONFIG_DEBUG_INFO_BTF, as distributions' kernels are",
        ExitCode::requirement);
}

void require_traceable(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string status = read_file(folder + "/status");
  if (status.empty()) throw Error("there is no " + pid_text(pid));
  if (pid == ::getpid()) throw Error(pid_text(pid) + " is memflame itself");
  const std::string leader = status_field(status, "Tgid");
  if (leader != std::to_string(pid))
    throw Error(std::to_string(pid) + " is a thread of process " + leader + ": use -p " + leader);
  if (status_field(status, "State").starts_with("Z"))
    throw Error(pid_text(pid) + " has already exited");
  if (status_field(status, "VmSize").empty())
    throw Error(pid_text(pid) + " is a kernel thread, which has no memory of its own");
  if (read_file(folder + "/maps").empty())
    throw Error(
        "no permission to inspect " + pid_text(pid) + ": " + run_as_root_or_with("CAP_SYS_PTRACE"),
        ExitCode::requirement);
  const UniqueFd program(::open((folder + "/exe").c_str(), O_RDONLY | O_CLOEXEC));
  if (program && elf_class(program.get()) == ElfClass::other)
    throw Error(pid_text(pid) + " is not an x86-64 program (32-bit?); memflame traces x86-64 only");
}

}  // namespace memflame
