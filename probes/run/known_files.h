// SPDX-License-Identifier: BSD-2-Clause
// Tells BPF programs where the rows of a file are, by its inode, so that they can walk its code in
// a process about which they know nothing else.
#pragma once

#include <cstddef>

#include "core/recording.h"
#include "probes/loading/bpf_object.h"
#include "probes/unwind/tables.h"

namespace memflame {

class KnownFiles {
 public:
  explicit KnownFiles(BpfObject& object) : object_(object) {}

  // A table that is loaded into the programs' memory. The module must keep its file open, so that
  // the inode that identifies it stays its own. Files that cannot be identified are left out:
  // stacks through them are copied. Returns the kernel's address of the inode; 0 = left out.
  uint64_t tell(const Module& module, const unwind::Table& table, unwind::Tables::Place place);

 private:
  BpfObject& object_;
  size_t told_ = 0;
};

}  // namespace memflame
