// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/kernel_features.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "probes/loading/bpf_syscall.h"
#include "probes/loading/tracefs.h"

namespace memflame {
namespace {

// A link on something that is not a regular file is refused with EBADF by kernels that know the
// link type, and with EINVAL by those that do not.
bool has_uprobe_link(int attach_type) {
  const UniqueFd program = load_trivial_kprobe(attach_type);
  if (!program) return false;
  const uint64_t offset = 0;
  const UniqueFd link = link_uprobe_multi(
      program.get(),
      {.path = "/", .offsets = {&offset, 1}, .cookies = {}, .attach_type = attach_type});
  return !link && errno == EBADF;
}

// Since 6.2 mm_struct.rss_stat is an array (of per-CPU counters), before a structure. A
// distribution may have put that into an older kernel.
bool has_exact_rss_stat() {
  btf* kernel = btf__load_vmlinux_btf();
  bool exact = false;
  const int id = kernel ? btf__find_by_name_kind(kernel, "mm_struct", BTF_KIND_STRUCT) : -1;
  if (kernel && id > 0) exact = btf__find_by_name_kind(kernel, "mm_rss_stat", BTF_KIND_STRUCT) < 0;
  btf__free(kernel);
  return exact;
}

// Whether a kernel is 6.N or newer; false if its name does not tell.
bool is_since_6(const std::string& release, int n) {
  int major = 0;
  int minor = 0;
  const bool known = std::sscanf(release.c_str(), "%d.%d", &major, &minor) == 2;
  return known && (major > 6 || (major == 6 && minor >= n));
}

std::string running_release() {
  utsname names{};
  return uname(&names) == 0 ? names.release : "";
}

KernelFeatures probe_features() {
  KernelFeatures features;
  features.release = running_release();
  features.uprobe_multi = has_uprobe_link(attach_uprobe_multi);
  features.uprobe_session = features.uprobe_multi && has_uprobe_link(attach_uprobe_session);
  const auto since_6 = [&](int n) { return is_since_6(features.release, n); };
  // Fixed by kernel commit 46ba0e49b642 ("bpf: fix multi-uprobe PID filtering logic").
  features.uprobe_multi_pid = features.uprobe_multi && since_6(10);
  features.find_vma =
      libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_find_vma, nullptr) == 1;
  // Kernel commit 0593dd34e534 ("bpf: Refactor inode/task/sk storage map_{update,delete}_elem()")
  // and the ones around it.
  features.task_storage = since_6(2);
  features.emulates_long_nops = since_6(18);
  // Reading the kernel's types takes as long as half of the rest of attaching.
  features.exact_rss_stat = since_6(2) || has_exact_rss_stat();
  features.syscall_tracepoints = bool{tracefs_open("events/syscalls/sys_enter_brk/id")};
  const int cpus = libbpf_num_possible_cpus();
  features.possible_cpus = cpus > 0 ? static_cast<unsigned>(cpus) : 1;
  return features;
}

}  // namespace

KernelFeatures features_without_bpf() {
  KernelFeatures features;
  features.release = running_release();
  features.exact_rss_stat = is_since_6(features.release, 2);
  return features;
}

// Kernels that call from nops have the system call uprobe for it. Made elsewhere, it fails with
// ENXIO where nops of five bytes become calls (6.18), and with EPROTO where only nops of ten bytes
// do, which leaves the function's data alone. ENOSYS: the kernel does not know it. A filter of
// system calls may hide what the kernel does.
bool turns_nops_into_calls() {
  constexpr long uprobe = 336;
  return ::syscall(uprobe) != -1 || (errno != ENOSYS && errno != EPROTO);
}

const KernelFeatures& kernel_features() {
  static const KernelFeatures features = probe_features();
  return features;
}

}  // namespace memflame
