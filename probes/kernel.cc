#include "probes/kernel.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdio>

#include "probes/bpf_syscall.h"
#include "probes/tracefs.h"

namespace memflame {
namespace {

// A link on something that is no regular file is refused with EBADF by kernels that know the link
// type, and with EINVAL by those that do not.
bool has_uprobe_multi() {
  const UniqueFd program = load_trivial_kprobe(attach_uprobe_multi);
  if (!program) return false;
  const uint64_t offset = 0;
  const UniqueFd link =
      link_uprobe_multi(program.get(), {.path = "/", .offsets = {&offset, 1}, .cookies = {}});
  return !link && errno == EBADF;
}

// Since 6.2 mm_struct.rss_stat is an array (of per-CPU counters), before a structure.
bool has_exact_rss_stat() {
  btf* kernel = btf__load_vmlinux_btf();
  bool exact = false;
  const int id = kernel ? btf__find_by_name_kind(kernel, "mm_struct", BTF_KIND_STRUCT) : -1;
  if (kernel && id > 0) exact = btf__find_by_name_kind(kernel, "mm_rss_stat", BTF_KIND_STRUCT) < 0;
  btf__free(kernel);
  return exact;
}

KernelFeatures probe_features() {
  KernelFeatures features;
  utsname names{};
  if (uname(&names) == 0) features.release = names.release;
  features.uprobe_multi = has_uprobe_multi();
  // Fixed by kernel commit 46ba0e49b642 ("bpf: fix multi-uprobe PID filtering logic").
  int major = 0;
  int minor = 0;
  features.uprobe_multi_pid = features.uprobe_multi &&
                              std::sscanf(names.release, "%d.%d", &major, &minor) == 2 &&
                              (major > 6 || (major == 6 && minor >= 10));
  features.exact_rss_stat = has_exact_rss_stat();
  features.syscall_tracepoints = bool{tracefs_open("events/syscalls/sys_enter_brk/id")};
  const int cpus = libbpf_num_possible_cpus();
  features.possible_cpus = cpus > 0 ? static_cast<unsigned>(cpus) : 1;
  return features;
}

}  // namespace

const KernelFeatures& kernel_features() {
  static const KernelFeatures features = probe_features();
  return features;
}

}  // namespace memflame
