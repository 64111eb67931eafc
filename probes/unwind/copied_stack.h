// SPDX-License-Identifier: BSD-2-Clause
// Walks a copied stack, with the step that BPF programs use (step.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/recording.h"
#include "probes/bpf/shared.h"
#include "probes/unwind/row.h"

namespace memflame::unwind {

struct CopiedStack {
  uint64_t ip = 0, sp = 0, bp = 0, bx = 0;
  bool returned = false;              // ip is a return address
  bool at_entry = false;              // ip is a function's first instruction
  std::span<const std::byte> memory;  // from sp on
  uint32_t missing = 0;               // bit n: the page n pages above sp's page was not readable
  struct Pending {
    uint64_t slot = 0, address = 0;
  };
  std::vector<Pending> pending;   // return addresses that return probes have replaced
  std::vector<uint64_t> scripts;  // as in bpf::script_chain::items
  bpf::script_end scripts_end = bpf::script_none;
  bpf::language language = bpf::language_python;
  bpf::script_loop loop{};  // PHP, also `runs`
  uint32_t runs = 0;
};

struct FoundRow {
  bpf::stop stop = bpf::stop_end;  // why there is no row, if not stop_end
  row rule{};
};
using FindRow = std::function<FoundRow(uint64_t address)>;

struct WalkedStack {
  std::vector<Pc> pcs;  // leaf first; functions of interpreters are still bpf::script_word()
  StopReason stop = StopReason::complete;
  bool scripts_unread = false;  // some could not be read, or placed
  uint64_t unknown = 0;         // the address without a row, if that ended the walk
};

WalkedStack walk(const CopiedStack& stack, uint32_t max_depth, const FindRow& find);

}  // namespace memflame::unwind
