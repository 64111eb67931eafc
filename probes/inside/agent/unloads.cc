// SPDX-License-Identifier: BSD-2-Clause
#include "unloads.h"

extern "C" {
// struct rtld_global of glibc: the namespaces, of which the first begins with its list of objects
// and their number; locks; the number of loads.
extern const uint64_t memflame_rtld_global[] asm("_rtld_global") __attribute__((weak));
// struct r_debug of <link.h>.
extern const struct {
  int version;
  uint64_t objects;
} memflame_r_debug asm("_r_debug") __attribute__((weak));
}

namespace memflame::inside {

LoaderCounts loader_counts;

namespace {

constexpr uint32_t rtld_words = 512;  // the structure is larger in each version of glibc

// Whether a lock that one thread may take several times ends here (pthread_mutex_t: its kind, and
// two words that only robust ones use).
bool is_behind_lock(const uint64_t* at) {
  constexpr uint32_t recursive = 1;
  return static_cast<uint32_t>(at[-3]) == recursive && at[-2] == 0 && at[-1] == 0;
}

}  // namespace

void find_loader_counts(uint64_t loads) {
  if (loader_counts.loads != nullptr || memflame_rtld_global == nullptr ||
      &memflame_r_debug == nullptr || memflame_r_debug.objects == 0 ||
      memflame_rtld_global[0] != memflame_r_debug.objects)
    return;
  const auto* const loaded = reinterpret_cast<const uint32_t*>(&memflame_rtld_global[1]);
  if (loads == 0) loads = *loaded;
  const uint64_t* found = nullptr;
  for (uint32_t i = 8; i < rtld_words; ++i) {
    if (memflame_rtld_global[i] != loads || !is_behind_lock(&memflame_rtld_global[i])) continue;
    if (found != nullptr) return;
    found = &memflame_rtld_global[i];
  }
  if (found == nullptr) return;
  loader_counts.loaded = loaded;
  store_release(loader_counts.loads, found);
}

}  // namespace memflame::inside
