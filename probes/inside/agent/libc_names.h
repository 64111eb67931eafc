// SPDX-License-Identifier: BSD-2-Clause
// Hooks of glibc's second names of its functions, which programs call to pass by every other
// allocator (__libc_malloc). They record only where the functions behind all hooks are glibc's own.
// Otherwise who calls them may be an allocator, for a call that has been counted already. hooks.cc
// includes this at its end.
#pragma once

// NOLINTBEGIN(misc-definitions-in-headers): see above

namespace memflame::inside {

// Before the real functions are found, allocate() and its like know what to do.
inline bool passes_libc() { return find_real() && real.is_libc == 0; }

}  // namespace memflame::inside

HOOK void* memflame_libc_malloc(size_t size) asm("__libc_malloc");
HOOK void* memflame_libc_calloc(size_t count, size_t size) asm("__libc_calloc");
HOOK void* memflame_libc_realloc(void* old, size_t size) asm("__libc_realloc");
HOOK void memflame_libc_free(void* pointer) asm("__libc_free");
HOOK void* memflame_libc_memalign(size_t alignment, size_t size) asm("__libc_memalign");
HOOK void* memflame_libc_valloc(size_t size) asm("__libc_valloc");
HOOK void* memflame_libc_pvalloc(size_t size) asm("__libc_pvalloc");

void* memflame_libc_malloc(size_t size) {
  const auto call = [&] { return real.libc.malloc(size); };
  return passes_libc() ? call() : allocate(size, fn_malloc, CALLER, call);
}

void* memflame_libc_calloc(size_t count, size_t size) {
  const auto call = [&] { return real.libc.calloc(count, size); };
  return passes_libc() ? call() : allocate(product(count, size), fn_calloc, CALLER, call);
}

void* memflame_libc_realloc(void* old, size_t size) {
  const auto call = [&] { return real.libc.realloc(old, size); };
  return passes_libc() && !is_early(old) ? call() : reallocate(old, size, fn_realloc, CALLER, call);
}

void memflame_libc_free(void* pointer) {
  const auto call = [&] { real.libc.free(pointer); };
  return passes_libc() && !is_early(pointer) ? call() : release(pointer, fn_free, CALLER, call);
}

void* memflame_libc_memalign(size_t alignment, size_t size) {
  const auto call = [&] { return real.libc.memalign(alignment, size); };
  return passes_libc() ? call() : allocate(size, fn_memalign, CALLER, call);
}

void* memflame_libc_valloc(size_t size) {
  const auto call = [&] { return real.libc.valloc(size); };
  return passes_libc() ? call() : allocate(size, fn_valloc, CALLER, call);
}

void* memflame_libc_pvalloc(size_t size) {
  const auto call = [&] { return real.libc.pvalloc(size); };
  return passes_libc() ? call() : allocate(size, fn_pvalloc, CALLER, call);
}

// NOLINTEND(misc-definitions-in-headers)
