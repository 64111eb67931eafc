// SPDX-License-Identifier: BSD-2-Clause
// A probe in the kernel: its BPF object, and the links that attach the object's programs.
#pragma once

#include <cstddef>
#include <span>

#include "probes/loading/bpf_object.h"
#include "probes/loading/kernel_features.h"
#include "probes/loading/links.h"

namespace memflame {

struct LoadedProbe {
  explicit LoadedProbe(std::span<const std::byte> image) : object(image) {}

  const KernelFeatures& features = kernel_features();
  BpfObject object;
  Links links;  // last member, so that it is destroyed first and detaches before the object goes
};

// Two functions for the programs with which all probes follow processes (bpf/lifecycle.h).
// Before load(): leaves out programs that the configuration does not need or the kernel lacks.
void choose_process_programs(const bpf::config& config, LoadedProbe& probe);
// After load(). From here on the kernel announces processes that begin and end.
void attach_process_programs(const bpf::config& config, LoadedProbe& probe);

}  // namespace memflame
