// SPDX-License-Identifier: BSD-2-Clause
// Walks copied stacks with elfutils' libdwfl: an unwinder that shares nothing with ours.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "probes/system/procfs.h"
#include "tests/stack_oracle/dump.h"

namespace memflame::oracle {

enum class WalkEnd {
  outermost,   // no return address, or one of 0
  copy_ended,  // the next one lies behind the copied bytes
  depth,       // more frames than asked for
  error,       // libdwfl gave up; `error` says why
};

struct Walk {
  std::vector<uint64_t> pcs;  // leaf first, return addresses as they are
  WalkEnd end = WalkEnd::error;
  std::string error;
  // How many return addresses were the kernel's return-probe trampoline. The walk goes on with the
  // dumped stack's own address there, if that is one behind a call instruction.
  int trampolines = 0;
};

// The code at an address.
enum class Code { unwind_information, gap, no_file, vdso, trampoline };

struct Session;

// The mappings of one process. Files are opened through /proc while it lives, else by their names.
class Process {
 public:
  Process(pid_t pid, const std::string& maps);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // False if the process has ended and its mappings were not saved, so nothing can be walked.
  bool has_mappings() const;

  // `most` bounds the frames.
  Walk walk(const DumpedStack& stack, size_t most);

  // The code at an instruction: for a return address, at the one before it.
  Code code_at(uint64_t address);
  std::string place(uint64_t address) const;  // "libc.so.6+0x1234", "0x1234" outside any file

 private:
  std::unique_ptr<Session> session_;
};

}  // namespace memflame::oracle
