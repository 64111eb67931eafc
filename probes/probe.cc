// SPDX-License-Identifier: BSD-2-Clause
#include "probes/probe.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace memflame {

extern const Probe alloc_probe;
extern const Probe brk_probe;
extern const Probe mmap_probe;
extern const Probe fault_probe;
extern const Probe kernel_probe;

std::span<const Probe* const> probes() {
  static constexpr std::array<const Probe*, 5> all{&alloc_probe, &brk_probe, &mmap_probe,
                                                   &fault_probe, &kernel_probe};
  return all;
}

const ProbeValue& value_named(const Probe& probe, std::string_view name) {
  if (name.empty()) return probe.values.front();
  const auto found = std::find_if(probe.values.begin(), probe.values.end(),
                                  [&](const ProbeValue& value) { return value.name == name; });
  if (found != probe.values.end()) return *found;
  std::string known;
  for (const ProbeValue& value : probe.values)
    known += (known.empty() ? "" : ", ") + std::string(value.name);
  throw Error("--value " + std::string(name) + ": memflame " + std::string(probe.name) +
                  " measures " + known,
              ExitCode::usage);
}

}  // namespace memflame
