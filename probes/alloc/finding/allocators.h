// SPDX-License-Identifier: BSD-2-Clause
// Which functions of an ELF file allocate and free blocks, and where to probe them.
//
// The contract with the code that attaches:
//
//  - `offset` is in the file, as uprobes need it. Each address has one site, even if the function
//    has several names. Sites are in the order to attach them: marks, frees, ends, allocations. So
//    the free of every block that is seen to be allocated is seen, too.
//  - At a site of an allocation, free or mark, the registers that the shape names hold the
//    arguments and the return address is at [rsp], even if the site is not the first instruction.
//    So entry and return probes go to the same offset. Each call passes its site once.
//  - action_allocate without `own_end` takes a return probe. With `own_end` it must never get one:
//    a C++ exception may leave the function, and an exception that meets the kernel's trampoline
//    ends the program. The call's end is an action_end at a `ret`, with the result in rax and rsp
//    as at the site. Such a `ret` may be shared by several functions, also by some that are not
//    probed: it ends an open call only if rsp is that call's. A call that throws passes no `ret`.
//  - An action_end with `own_end` is a jump to an unknown place, with rsp as at the site. What the
//    call does behind it (allocate or throw) is not seen: treat the call as over and lost.
//  - A function with `own_end` may end by jumping to another probed function, with rsp as at its
//    site. So an allocation at the rsp of an open one replaces it.
//  - An end has the shape of one of the functions it belongs to; only its action and `own_end`
//    matter.
//  - `shape.allocator` is an index in the `allocators` of this file.
//  - `shape.family` is 0 if one address serves several families (malloc and operator new of some
//    allocators): its blocks may go back to any of them.
//  - `forwards` is detected through direct calls and jumps only, also through the file's own
//    linkage table.
//  - Names and code come from the watched program and may be hostile: they never cause an
//    exception, and every site lies within executable bytes of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/alloc/bpf/call_shape.h"

namespace memflame {

struct FindOptions {
  std::string symbols_prefix = {};  // PREFIXmalloc, PREFIXfree … are allocators too; "" for none
  bool check = false;      // --check: put marks on operator new and delete that are not probed
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
  bool declared = false;  // by the user; otherwise found by its name
};

struct AllocatorProbes {
  std::vector<std::string> allocators;  // "glibc", "jemalloc", …, or the name of the file
  std::vector<AllocatorSite> sites;
  // For -v: "_Znwm is not probed: its jump at 0x1234 leads to no function that is known".
  std::vector<std::string> notes;

  // Whether there is a site that allocates. Allocations come last.
  bool allocates() const {
    return !sites.empty() && sites.back().shape.action == bpf::action_allocate;
  }
};

// The site of __cxa_throw, which throws C++ exceptions; empty if the file does not define it.
std::optional<AllocatorSite> find_throw(int fd, const FindOptions& options);

// Empty if the file is not x86-64 ELF or has no allocator.
AllocatorProbes find_allocator(int fd, const FindOptions& options);

}  // namespace memflame
