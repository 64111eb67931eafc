// SPDX-License-Identifier: BSD-2-Clause
// Hooks of Python's allocator (python.h). The context that they are called with is that of the
// table, which never changes. hooks.cc includes this at its end.
//
// What Python's allocator allocates to serve a call, blocks of more than 512 bytes above all, is
// that call's: malloc() does not record it again.
#pragma once

// NOLINTBEGIN(misc-definitions-in-headers): see above

template <class Result, class... Arguments>
inline Result go_on_in_python(uint32_t domain, PythonCall call, Arguments... arguments) {
  const PythonTable& original = python.original[domain];
  using Real = Result (*)(uint64_t, Arguments...);
  return reinterpret_cast<Real>(original.functions[call])(original.context, arguments...);
}

// NOLINTBEGIN(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)
#define MEMFLAME_PYTHON_HOOK extern "C" __attribute__((visibility("hidden")))
#define MEMFLAME_PYTHON_FUNCTION(call, domain) static_cast<Function>(fn_python_##call + (domain))
#define MEMFLAME_PYTHON_HOOKS(domain)                                                             \
  MEMFLAME_PYTHON_HOOK void* memflame_python_malloc_##domain(void*, size_t size) {                \
    return allocate(size, MEMFLAME_PYTHON_FUNCTION(malloc, domain), CALLER,                       \
                    [&] { return go_on_in_python<void*>(domain, python_malloc, size); });         \
  }                                                                                               \
  MEMFLAME_PYTHON_HOOK void* memflame_python_calloc_##domain(void*, size_t count, size_t size) {  \
    return allocate(product(count, size), MEMFLAME_PYTHON_FUNCTION(calloc, domain), CALLER,       \
                    [&] { return go_on_in_python<void*>(domain, python_calloc, count, size); });  \
  }                                                                                               \
  MEMFLAME_PYTHON_HOOK void* memflame_python_realloc_##domain(void*, void* old, size_t size) {    \
    return reallocate(old, size, MEMFLAME_PYTHON_FUNCTION(realloc, domain), CALLER,               \
                      [&] { return go_on_in_python<void*>(domain, python_realloc, old, size); }); \
  }                                                                                               \
  MEMFLAME_PYTHON_HOOK void memflame_python_free_##domain(void*, void* old) {                     \
    look_at_freed(old);                                                                           \
    release(old, MEMFLAME_PYTHON_FUNCTION(free, domain), CALLER,                                  \
            [&] { go_on_in_python<void>(domain, python_free, old); });                            \
  }
// NOLINTEND(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)

MEMFLAME_PYTHON_HOOKS(0)
MEMFLAME_PYTHON_HOOKS(1)

// NOLINTEND(misc-definitions-in-headers)
