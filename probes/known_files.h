// SPDX-License-Identifier: BSD-2-Clause
// Tells BPF programs where the rows of a file are, by its inode. So they can walk through its code
// in a process that they know nothing else of.
#pragma once

#include <cstddef>

#include "core/recording.h"
#include "probes/bpf_object.h"
#include "probes/unwind/tables.h"

namespace memflame {

class KnownFiles {
 public:
  explicit KnownFiles(BpfObject& object) : object_(object) {}

  // A table that has its place in the programs' memory. The module keeps its file open, which the
  // programs depend on. What cannot be told is left out: stacks through it are copied.
  void tell(const Module& module, const unwind::Table& table, unwind::Tables::Place place);

 private:
  BpfObject& object_;
  size_t told_ = 0;
};

}  // namespace memflame
