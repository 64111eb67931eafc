// SPDX-License-Identifier: BSD-2-Clause
// How often the dynamic linker has unloaded something. glibc unloads libraries of its own (gconv's
// modules) without dlclose(), and a thread may load another library before the one in dlclose() has
// returned. The counters are glibc's own, in _rtld_global; they change under the loader's lock, so
// before other code can be loaded to the same place.
#pragma once

#include "state.h"

namespace memflame::inside {

struct LoaderCounts {
  const uint64_t* loads;   // ever; null: not found, or not glibc, whose rivals unload nothing
  const uint32_t* loaded;  // now
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers)
extern LoaderCounts loader_counts;

// Finds them by what they are. `loads`: their number now; 0 = nothing was unloaded yet.
void find_loader_counts(uint64_t loads);

inline uint64_t unloads() {
  if (loader_counts.loads == nullptr) return 0;
  return load(*loader_counts.loads) - load(*loader_counts.loaded);
}

}  // namespace memflame::inside
