// SPDX-License-Identifier: BSD-2-Clause
// Which functions of an ELF file allocate and free blocks, and where to probe them.
//
// The contract with the code that attaches:
//
//  - `offset` is in the file, as uprobes need it. There is one site per address, however many names
//    a function has, and they come in the order to attach them: marks, frees, ends, allocations. So
//    no block is allocated whose free would be missed.
//  - Where a call is allocated, freed or marked, all arguments that the shape names are in their
//    registers and the return address is at [rsp], even if the site is not the first instruction:
//    entry and return probes go to the same offset. Each call passes its site once.
//  - action_allocate without `own_end` takes a return probe. With `own_end` it must never get one:
//    a C++ exception may leave the function, which ends the program at the kernel's trampoline. Its
//    end is an action_end at a `ret`, with the result in rax and rsp as at the site. Such a `ret`
//    may belong to several functions, and to code that others call too: it ends an open call only
//    if rsp is that call's. A call left by an exception passes none.
//  - An action_end with `own_end` is a jump to an unknown place, with rsp as at the site: the call
//    allocates a block behind it or throws, unseen. It is over; count it as lost.
//  - A function with `own_end` may end by jumping to another probed one, with rsp as at its site:
//    an allocation at the rsp of an open one replaces it.
//  - An end has the shape of one of the functions it belongs to; only its action and `own_end`
//    count.
//  - `shape.allocator` is an index in `allocators` of this file; the run's numbering replaces it.
//  - `shape.family` is 0 if one address serves several families (malloc and operator new of some
//    allocators): its blocks may go back to any of them.
//  - `forwards` is detected through direct calls and jumps only (the file's own linkage table too).
//  - Names and code come from the watched program and may be anything: they never cause an
//    exception, and sites lie within executable bytes of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/alloc/bpf/call_shape.h"

namespace memflame {

struct FindOptions {
  std::string symbols_prefix = {};  // PREFIXmalloc, PREFIXfree … are allocators too; "" for none
  bool check = false;      // marks for operator new and delete that are not probed themselves
  bool long_nops = false;  // the kernel emulates nops of any length: Linux 6.18 and later
  std::string path = {};   // the file as the target names it: for names and debug files
  std::string root = {};   // the target's root directory, /proc/PID/root; "" for ours
};

struct AllocatorSite {
  uint64_t offset = 0;
  bpf::call_shape shape{};
  std::string text;  // "free+3", "_Znwm+end@0x39388"
  // For a free: the return addresses of calls from the allocator's own code, as offsets in the
  // file. Such a call says nothing about the program.
  std::vector<uint64_t> own_calls = {};
  bool declared = false;  // by the user, not found by its name
};

struct AllocatorProbes {
  std::vector<std::string> allocators;  // "glibc", "jemalloc", …, or the name of the file
  std::vector<AllocatorSite> sites;
  // For -v: "_Znwm is not probed: its jump at 0x1234 leads to no function that is known".
  std::vector<std::string> notes;

  // Whether it allocates; if not, there are marks at most.
  bool allocates() const {
    return !sites.empty() && sites.back().shape.action == bpf::action_allocate;
  }
};

// Where C++ exceptions are thrown, if that is in this file: __cxa_throw of the C++ ABI.
std::optional<AllocatorSite> find_throw(int fd, const FindOptions& options);

// Empty if it is not an x86-64 ELF file or has no allocator.
AllocatorProbes find_allocator(int fd, const FindOptions& options);

}  // namespace memflame
