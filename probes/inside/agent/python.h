// SPDX-License-Identifier: BSD-2-Clause
// Hooks of CPython's own allocator: the functions in its tables for objects and for memory
// (PyObject_Malloc(), PyMem_Malloc()). Blocks up to 512 bytes come from arenas, so malloc() never
// sees them. The interpreter's code compares a table's function with its own one, and runs an
// inlined copy if they are equal; so another function in the table is all that a hook takes.
//
// Other threads read a table meanwhile, each word by itself, and need not hold the global lock for
// long enough. So a table is changed word by word, never by PyMem_SetAllocator(), which may copy
// half words; and its context stays as it is, so that each mixture of old and new functions is
// right. Frees come first, so that no block is recorded whose free is not.
//
// The raw table is left alone: its functions call malloc() and its kin.
#pragma once

#include "probes/languages/python/versions.h"
#include "state.h"

namespace memflame::inside {

enum PythonCall : uint32_t {
  python_malloc,
  python_calloc,
  python_realloc,
  python_free,
  python_calls
};

// PyMemAllocatorEx.
struct PythonTable {
  using Word [[gnu::may_alias]] = uint64_t;
  Word context;
  Word functions[python_calls];
};

struct Python {
  uint32_t is_found;
  uint32_t state;                      // PythonState
  uint32_t tells;                      // functions of Python are in stacks
  uint32_t awaits;                     // its allocator may not be settled yet
  uint32_t has_hooks[python_domains];  // ever
  PythonTable* tables[python_domains];
  PythonTable original[python_domains];          // what hooks go on in
  uint64_t names[python_domains][python_calls];  // its functions that call those of the tables
  uint64_t runtime;                              // address of _PyRuntime
  unsigned minor;
  bpf::python_layout layout;
  int (*is_initialized)();
  void* (*current)();    // state of the thread that holds the global lock; 3.12 on: or null
  void* (*of_thread)();  // state of this thread
};

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): zeroes, before any code runs
extern Python python;

// Both are for a thread that holds the loader's lock, or for the process's first one.

// Looks for Python if that has not been found, and puts the hooks in if they are not.
void put_python_in();
// Tells memflame of it, in a forked child too, which has its parent's hooks.
void tell_python();
// Puts back what was in the tables, as far as that is still the hooks.
void take_python_out();

// Around what may unload Python: nothing of it is called or written meanwhile, nor later if it has
// gone.
void before_unloading();
void after_unloading();

// A program that was started with the agent: puts hooks in again if Python's start took them out.
void settle_python();

}  // namespace memflame::inside
