// SPDX-License-Identifier: BSD-2-Clause
// A probe in the kernel: its object, and what the object's programs are attached to.
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
  Links links;  // last member: detached first
};

// The programs with which all probes follow processes (bpf/lifecycle.h).
// Before load(): leaves out those that the configuration or the kernel has no use for.
void choose_process_programs(const bpf::config& config, LoadedProbe& probe);
// After load(). From here on the kernel announces processes that begin and end.
void attach_process_programs(const bpf::config& config, LoadedProbe& probe);

}  // namespace memflame
