// SPDX-License-Identifier: BSD-2-Clause
// Finds the functions behind the hooks: the next ones in the order of the dynamic linker.
#include "answers.h"
#include "hooked.h"
#include "patch.h"
#include "state.h"

namespace memflame::inside {
namespace {

enum Progress : uint32_t { not_begun, in_progress, found };
uint32_t progress;

template <class Pointer>
void find(Pointer& pointer, const char* name) {
  void* const rtld_next = reinterpret_cast<void*>(-1L);
  const auto look_up = reinterpret_cast<void* (*)(void*, const char*)>(memflame_real_dlsym);
  pointer = reinterpret_cast<Pointer>(look_up != nullptr ? look_up(rtld_next, name) : nullptr);
}

void find_libc_names() {
  find(real.libc.malloc, "__libc_malloc");
  if (real.libc.malloc == nullptr) return;
  find(real.libc.calloc, "__libc_calloc");
  find(real.libc.realloc, "__libc_realloc");
  find(real.libc.free, "__libc_free");
  find(real.libc.memalign, "__libc_memalign");
  find(real.libc.valloc, "__libc_valloc");
  find(real.libc.pvalloc, "__libc_pvalloc");
  real.is_libc = uint32_t{real.libc.malloc == real.malloc && !has_own_malloc()};
}

}  // namespace

bool find_real_slowly() {
  uint32_t expected = not_begun;
  if (!__atomic_compare_exchange_n(&progress, &expected, static_cast<uint32_t>(in_progress), false,
                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return expected == found;
  find_loaders();
  find(real.calloc, "calloc");
  find(real.realloc, "realloc");
  find(real.reallocarray, "reallocarray");
  find(real.free, "free");
  find(real.memalign, "memalign");
  find(real.aligned_alloc, "aligned_alloc");
  find(real.posix_memalign, "posix_memalign");
  find(real.valloc, "valloc");
  find(real.pvalloc, "pvalloc");
  find(real.dlclose, "dlclose");
  void* (*allocate)(size_t) = nullptr;
  find(allocate, "malloc");
  real.malloc = allocate;
  find_libc_names();
  if (hook_operators()) follow_libraries();
  begin_answering();
  store_release(real.is_found, 1U);
  store_release(progress, static_cast<uint32_t>(found));
  return true;
}

}  // namespace memflame::inside
