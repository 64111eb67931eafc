// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/bpf_syscall.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace memflame {
namespace {

int bpf_call(int command, void* attr, unsigned size) {
  return static_cast<int>(::syscall(SYS_bpf, command, attr, size));
}

uint64_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// union bpf_attr.link_create with its uprobe_multi member, as in linux/bpf.h of 6.6.
struct UprobeMultiAttr {
  uint32_t prog_fd = 0;
  uint32_t target_fd = 0;
  uint32_t attach_type = 0;
  uint32_t link_flags = 0;
  uint64_t path = 0;
  uint64_t offsets = 0;
  uint64_t ref_ctr_offsets = 0;
  uint64_t cookies = 0;
  uint32_t count = 0;
  uint32_t flags = 0;
  uint32_t pid = 0;
  uint32_t pad = 0;
};

}  // namespace

UniqueFd link_uprobe_multi(int program, const MultiProbe& probe) {
  UprobeMultiAttr attr;
  attr.prog_fd = static_cast<uint32_t>(program);
  attr.attach_type = static_cast<uint32_t>(probe.attach_type);
  attr.path = address_of(probe.path.c_str());
  attr.offsets = address_of(probe.offsets.data());
  attr.cookies = probe.cookies.empty() ? 0 : address_of(probe.cookies.data());
  attr.ref_ctr_offsets = probe.counters.empty() ? 0 : address_of(probe.counters.data());
  attr.count = static_cast<uint32_t>(probe.offsets.size());
  attr.flags = probe.is_return ? uprobe_multi_return : 0;
  attr.pid = static_cast<uint32_t>(probe.pid);
  return UniqueFd(bpf_call(BPF_LINK_CREATE, &attr, sizeof(attr)));
}

UniqueFd open_raw_tracepoint(int program, const char* name) {
  bpf_attr attr;
  std::memset(&attr, 0, sizeof(attr));
  attr.raw_tracepoint.name = address_of(name);
  attr.raw_tracepoint.prog_fd = static_cast<uint32_t>(program);
  return UniqueFd(bpf_call(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr)));
}

UniqueFd load_trivial_kprobe(int attach_type) {
  const std::array<bpf_insn, 2> code{{
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
  }};
  bpf_attr attr;
  std::memset(&attr, 0, sizeof(attr));
  attr.prog_type = BPF_PROG_TYPE_KPROBE;
  attr.insns = address_of(code.data());
  attr.insn_cnt = code.size();
  attr.license = address_of("GPL");
  attr.expected_attach_type = static_cast<uint32_t>(attach_type);
  return UniqueFd(bpf_call(BPF_PROG_LOAD, &attr, sizeof(attr)));
}

}  // namespace memflame
