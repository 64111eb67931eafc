// SPDX-License-Identifier: BSD-2-Clause
#include "hooked.h"

extern "C" {
extern const char memflame_own_header[] asm("__ehdr_start") __attribute__((visibility("hidden")));

// The agent's own, which no other file can take the place of (-Bsymbolic).
void* malloc(size_t);
void* calloc(size_t, size_t);
void* realloc(void*, size_t);
void* reallocarray(void*, size_t, size_t);
void free(void*);
void* memalign(size_t, size_t);
void* aligned_alloc(size_t, size_t);
int posix_memalign(void**, size_t, size_t);
void* valloc(size_t);
void* pvalloc(size_t);
int dlclose(void*);

// libc_names.h
void memflame_libc_malloc() asm("__libc_malloc");
void memflame_libc_calloc() asm("__libc_calloc");
void memflame_libc_realloc() asm("__libc_realloc");
void memflame_libc_free() asm("__libc_free");
void memflame_libc_memalign() asm("__libc_memalign");
void memflame_libc_valloc() asm("__libc_valloc");
void memflame_libc_pvalloc() asm("__libc_pvalloc");

// loading.cc
__attribute__((visibility("hidden"))) void memflame_dlopen();
__attribute__((visibility("hidden"))) void memflame_dlmopen();
__attribute__((visibility("hidden"))) void memflame_dlsym();
__attribute__((visibility("hidden"))) void memflame_dlvsym();
// filter.cc
__attribute__((visibility("hidden"))) void memflame_prctl();
__attribute__((visibility("hidden"))) void memflame_syscall();
// executing.cc
__attribute__((visibility("hidden"))) void memflame_execve();
__attribute__((visibility("hidden"))) void memflame_execv();
__attribute__((visibility("hidden"))) void memflame_execvp();
__attribute__((visibility("hidden"))) void memflame_execvpe();
__attribute__((visibility("hidden"))) void memflame_execl();
__attribute__((visibility("hidden"))) void memflame_execle();
__attribute__((visibility("hidden"))) void memflame_execlp();
__attribute__((visibility("hidden"))) void memflame_fexecve();
__attribute__((visibility("hidden"))) void memflame_execveat();
__attribute__((visibility("hidden"))) void memflame_posix_spawn();
__attribute__((visibility("hidden"))) void memflame_posix_spawnp();
__attribute__((visibility("hidden"))) void memflame_system();
__attribute__((visibility("hidden"))) void memflame_popen();

// operators.h: declared without their arguments, as only their addresses are taken.
#define MEMFLAME_OPERATOR(kind, member, number, name) \
  __attribute__((visibility("hidden"))) void memflame_##kind##_##number();
#include "operators.def"
}

namespace memflame::inside {
namespace {

template <class Function>
uint64_t address_of(Function* function) {
  return reinterpret_cast<uint64_t>(function);
}

template <class Function>
Place* place_of(Function*& pointer) {
  return reinterpret_cast<Place*>(&pointer);
}

#define MEMFLAME_REAL(name) \
  { #name, address_of(&::name), place_of(real.name) }
#define MEMFLAME_LIBC(name) \
  { "__libc_" #name, address_of(&memflame_libc_##name), place_of(real.libc.name) }
#define MEMFLAME_BESIDE(name) \
  { #name, address_of(&memflame_##name), &memflame_real_##name }

}  // namespace

HookedList hooked_list() {
  return {{
      MEMFLAME_REAL(malloc),        MEMFLAME_REAL(calloc),         MEMFLAME_REAL(realloc),
      MEMFLAME_REAL(reallocarray),  MEMFLAME_REAL(free),           MEMFLAME_REAL(memalign),
      MEMFLAME_REAL(aligned_alloc), MEMFLAME_REAL(posix_memalign), MEMFLAME_REAL(valloc),
      MEMFLAME_REAL(pvalloc),       MEMFLAME_REAL(dlclose),        MEMFLAME_LIBC(malloc),
      MEMFLAME_LIBC(calloc),        MEMFLAME_LIBC(realloc),        MEMFLAME_LIBC(free),
      MEMFLAME_LIBC(memalign),      MEMFLAME_LIBC(valloc),         MEMFLAME_LIBC(pvalloc),
      MEMFLAME_BESIDE(dlopen),      MEMFLAME_BESIDE(dlmopen),      MEMFLAME_BESIDE(dlsym),
      MEMFLAME_BESIDE(dlvsym),      MEMFLAME_BESIDE(prctl),        MEMFLAME_BESIDE(syscall),
      MEMFLAME_BESIDE(execve),      MEMFLAME_BESIDE(execv),        MEMFLAME_BESIDE(execvp),
      MEMFLAME_BESIDE(execvpe),     MEMFLAME_BESIDE(execl),        MEMFLAME_BESIDE(execle),
      MEMFLAME_BESIDE(execlp),      MEMFLAME_BESIDE(fexecve),      MEMFLAME_BESIDE(execveat),
      MEMFLAME_BESIDE(posix_spawn), MEMFLAME_BESIDE(posix_spawnp), MEMFLAME_BESIDE(system),
      MEMFLAME_BESIDE(popen),
#define MEMFLAME_OPERATOR(kind, member, number, name) \
  {name, address_of(&memflame_##kind##_##number), place_of(real_operators.member[number])},
#include "operators.def"
  }};
}

const Hooked* HookedList::named(const char* name) const {
  for (const Hooked& hooked : all)
    if (hooked.name[0] == name[0] &&
        OwnMemory().is_text(reinterpret_cast<uint64_t>(name), hooked.name))
      return &hooked;
  return nullptr;
}

bool is_agent(const Object& object) {
  return object.base == reinterpret_cast<uint64_t>(memflame_own_header);
}

uint64_t defined(const Object& object, const char* name) {
  const FoundSymbol found = find_symbol(OwnMemory(), object.tables, object.base, name);
  return found.type == STT_FUNC ? found.address : 0;
}

}  // namespace memflame::inside
