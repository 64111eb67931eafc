// SPDX-License-Identifier: BSD-2-Clause
// The library that `asked` loads.
#include <dlfcn.h>

#include "asked.h"

#define VISIBLE extern "C" __attribute__((visibility("default")))

namespace {

void* from_next(const char* name) { return dlsym(RTLD_NEXT, name); }

__attribute__((noinline)) void* called(const char* name) {
  return name[0] == 'm' ? reinterpret_cast<void*>(&std::malloc)
                        : reinterpret_cast<void*>(&std::free);
}

__attribute__((noinline)) void keep_registered() { keep_blocks(called); }

__attribute__((constructor)) void announce() {
  if (void* const place = dlsym(RTLD_DEFAULT, "registered"); place != nullptr)
    *static_cast<void (**)()>(place) = keep_registered;
}

}  // namespace

VISIBLE void keep_asked() { keep_blocks(from_next); }
VISIBLE void keep_called() { keep_blocks(called); }
