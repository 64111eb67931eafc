// SPDX-License-Identifier: BSD-2-Clause
// Stacks beside the memory they were walked in, for a second unwinder to check (--check-stacks).
//
// The file is a sequence of records in this machine's byte order: seven 32-bit numbers and a zero
// (magic, size of the record, pid, frames, enum stop, copied bytes, leaf is at a function entry),
// then 17 registers in DWARF order, the addresses of the user frames, leaf first, and the copied
// bytes from rsp on.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "core/recording.h"
#include "probes/bpf/shared.h"

namespace memflame {

class StackDump {
 public:
  // Creates the file. Throws Error.
  explicit StackDump(const std::string& path);
  void write(const bpf::copy_record& record, const RawStack& walked);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace memflame
