// SPDX-License-Identifier: BSD-2-Clause
// One of the probes of a run: its programs in the kernel, and what becomes of its records.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "probes/loading/loaded_probe.h"
#include "probes/probe.h"
#include "probes/run/losses.h"
#include "probes/run/run.h"

namespace memflame {

struct RunningProbe {
  // `number`: from 0; the first one leads (probes/bpf/lifecycle.h).
  RunningProbe(const ProbeRun& run, uint32_t number)
      : probe(*run.probe),
        options(run.options),
        loaded(probe.object(), number),
        accounting(probe.accounting(options)) {
    if (probe.make_tables != nullptr) probe.make_tables(options, loaded.object);
  }

  // The columns of its figures, and the one that is drawn.
  std::vector<ValueType> types() const {
    ProbeOptions named = options;
    named.value = value_named(probe, options.value).name;
    return probe.types(named, accounting->is_sampled());
  }
  size_t shown() const { return value_named(probe, options.value).column; }
  // Up to now. Without what the whole run may lose.
  Losses losses() const {
    const bpf::counters counters = loaded.object.counters();
    Losses losses = losses_of(counters);
    // An interrupt inside of one of the kernel's allocators may allocate, too: programs are
    // skipped.
    if (!probe.user_stacks) losses.add(Loss::probe_recursion, loaded.object.skipped());
    accounting->add_losses(counters, losses);
    return losses;
  }

  const Probe& probe;
  ProbeOptions options;
  LoadedProbe loaded;
  std::unique_ptr<Accounting> accounting;
};

using RunningProbes = std::vector<std::unique_ptr<RunningProbe>>;

}  // namespace memflame
