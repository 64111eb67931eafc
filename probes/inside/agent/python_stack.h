// SPDX-License-Identifier: BSD-2-Clause
// The functions of Python that the calling thread runs, in its stack.
//
// A thread's frames are changed by that thread alone, so it can read them at any time. It reads
// them directly if it holds the global lock: then all that they lead to lives, as for tracemalloc,
// which does the same. Otherwise the interpreter might be ending, and free the thread's state
// meanwhile: then the kernel copies what is read.
//
// Which function a code object is, is told once, before the first stack with it, and kept in mind
// in a set. When its memory is freed, which is a call of PyObject_Free(), it is taken out, and no
// thread takes a stack from before for the beginning of its next one.
#pragma once

#include "block_set.h"
#include "probes/languages/script.h"
#include "python.h"
#include "walk.h"

namespace memflame::inside {

static_assert(sizeof(Here::code_cells) == (all_cells + 1) / 2);
static_assert(sizeof(Here::code_places) == sizeof(uint64_t) * bucket_places << bucket_bits);

// What a thread needs for it.
struct Functions {
  uint32_t reads_directly;       // the interpreter's memory
  uint32_t told_generation;      // of the code objects in `told`
  uint64_t told[most_frames];    // the last stack, root first
  uint64_t merged[most_frames];  // the present one, leaf first
  bpf::script_chain chain;
  bpf::script_code_record code;
};

// Whether the thread's next stack is to have functions.
bool takes_functions(Thread& thread);

// A stack with the functions in it, in Functions::merged: `kept` words of the one before, then the
// first `fresh` ones, leaf first.
struct ToldStack {
  uint32_t kept = 0, fresh = 0, stop = 0;
};
ToldStack place_functions(Thread& thread, const Walk& walk, uint32_t most);
// Its record was written.
void keep_told(Thread& thread, const ToldStack& stack);

void forget_code(uint64_t address);
// A block is about to be freed that may be a function's code.
inline void look_at_freed(const void* pointer) {
  const Here* const process = here;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (process != nullptr &&
      (load(process->code_cells[cell_of(address) / 16]) >> cell_of(address) % 16 * 4 & 15) != 0)
    forget_code(address);
}

// record.cc: tells what a code object is called. False if memflame reads no more.
bool record_code(Thread& thread, uint64_t address, const bpf::script_code_record& code);

}  // namespace memflame::inside
