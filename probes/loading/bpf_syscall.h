// SPDX-License-Identifier: BSD-2-Clause
// Link types that Debian 12's libbpf (1.1) and kernel headers do not know yet, through bpf(2).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

#include "core/unique_fd.h"

namespace memflame {

// Values of enum bpf_attach_type and of BPF_F_UPROBE_MULTI_RETURN. Since Linux 6.6.
inline constexpr int attach_uprobe_multi = 48;
// A program that runs at the entry and, if it requests that, at the return. Since 6.13.
inline constexpr int attach_uprobe_session = 57;
inline constexpr uint32_t uprobe_multi_return = 1;

struct MultiProbe {
  std::string path;
  std::span<const uint64_t> offsets;        // file offsets
  std::span<const uint64_t> cookies;        // one per offset, or none; also below
  std::span<const uint64_t> counters = {};  // of USDT probes, in the file; 0 = none
  int attach_type = attach_uprobe_multi;
  bool is_return = false;
  pid_t pid = 0;  // only this process; 0 = all
};

// An empty descriptor if the kernel refuses; errno says why.
UniqueFd link_uprobe_multi(int program, const MultiProbe& probe);

// Attaches a raw tracepoint through BPF_RAW_TRACEPOINT_OPEN.
UniqueFd open_raw_tracepoint(int program, const char* name);

// Loads a two-instruction program (return 0) of type kprobe with this attach type.
UniqueFd load_trivial_kprobe(int attach_type);

}  // namespace memflame
