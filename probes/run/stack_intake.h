// SPDX-License-Identifier: BSD-2-Clause
// Takes the stacks that BPF programs send. Some were walked by the programs; the others had to be
// copied and are walked here.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "probes/options/options.h"
#include "probes/processes/spaces.h"
#include "probes/run/stack_dump.h"
#include "probes/run/unwinder.h"
#include "probes/stacks/stack_log.h"

namespace memflame {

class StackIntake {
 public:
  // Creates the file of --check-stacks, if the option is given. Throws Error.
  explicit StackIntake(const ProbeOptions& options);

  void announced(Spaces& spaces, const bpf::stack_record& record, size_t size);
  void copied(Spaces& spaces, std::span<const std::byte> record);
  // What was read of a function of an interpreted language.
  static void script(Spaces& spaces, const bpf::script_code_record& record, size_t size);
  // What an interpreter runs in a stack that will be copied.
  void chained(std::span<const std::byte> record);

  Unwinder unwinder;
  StackLog log;

 private:
  std::optional<StackDump> dump_;
  // Whose copies are still to come, in the order of their arrival.
  std::deque<std::unique_ptr<bpf::script_chain>> chains_;
  std::unique_ptr<bpf::copy_record> copy_;  // the copied stack that is being walked
};

}  // namespace memflame
