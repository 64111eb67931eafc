// SPDX-License-Identifier: BSD-2-Clause
// Takes the stacks that BPF programs send: those they have walked, and those they had to copy,
// which are walked here.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "probes/options.h"
#include "probes/processes/spaces.h"
#include "probes/run/stack_dump.h"
#include "probes/run/stack_log.h"
#include "probes/run/unwinder.h"

namespace memflame {

class StackIntake {
 public:
  // Creates the file of --check-stacks, if there is one. Throws Error.
  explicit StackIntake(const ProbeOptions& options);

  void announced(Spaces& spaces, const bpf::stack_record& record, size_t size);
  void copied(Spaces& spaces, std::span<const std::byte> record);

  Unwinder unwinder;
  StackLog log;

 private:
  std::optional<StackDump> dump_;
  std::unique_ptr<bpf::copy_record> copy_;  // the one being walked
};

}  // namespace memflame
