// SPDX-License-Identifier: BSD-2-Clause
// A probe in the kernel: its BPF object, and the links that attach the object's programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "probes/loading/bpf_object.h"
#include "probes/loading/kernel_features.h"
#include "probes/loading/links.h"

namespace memflame {

struct LoadedProbe {
  // `place`: in the run, from 0; the first probe leads.
  explicit LoadedProbe(std::span<const std::byte> image, uint32_t place = 0)
      : number(place), object(image) {}

  uint32_t number;
  const KernelFeatures& features = kernel_features();
  BpfObject object;
  Links links;  // last member, so that it is destroyed first and detaches before the object goes
};

// The functions below are about the programs with which all probes follow processes
// (bpf/lifecycle.h). Probe 0 leads; the others follow it.
// Before load(): leaves out programs that the configuration does not need or the kernel lacks. A
// follower needs the loaded leader, whose tables it shares.
void choose_process_programs(const bpf::config& config, LoadedProbe& probe);
void follow(LoadedProbe& probe, const LoadedProbe& leader);
// After load(). From here on the kernel announces processes that begin and end.
void attach_process_programs(const bpf::config& config, std::span<LoadedProbe* const> probes);

}  // namespace memflame
