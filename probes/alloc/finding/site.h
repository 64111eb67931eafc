// SPDX-License-Identifier: BSD-2-Clause
// Chooses the cheapest instruction of a function at which a probe still sees its arguments.
//
// The idea: the kernel emulates some instructions and single-steps the others, which costs many
// times more (ProbeCost). Often an emulated one is near the entry, so the probe moves there.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "probes/alloc/bpf/call_shape.h"
#include "probes/alloc/finding/code.h"

namespace memflame {

struct SiteNeeds {
  uint8_t arguments = 0;   // bit n: argument n + 1 must still be in some argument's register
  uint64_t size = 0;       // of the function, bytes; 0: unknown
  bool long_nops = false;  // as in decode()
  bool inside = false;     // the address lies in a function that begins elsewhere
};

struct Site {
  uint64_t delta = 0;  // from the entry, bytes
  ProbeCost cost = ProbeCost::stepped;
  // [n]: the register that holds argument n + 1 at the site, as the number of the argument that it
  // holds at the entry.
  std::array<uint8_t, 6> holder{1, 2, 3, 4, 5, 6};
};

// The function's shape with the registers that hold its arguments at the site.
bpf::call_shape at_site(bpf::call_shape shape, const Site& site);

// `entry` is the code from the function's first instruction on, which lies at `address`. `body` is
// the function with all code that it jumps to, in any order; it shows where jumps lead.
//
// The site is the first instruction that the kernel emulates and that meets these conditions:
//  - before it there is no jump, no call, and no change of rsp or of the return address;
//  - each needed argument is in its own register, or was copied to that of another argument;
//  - nothing in `body` jumps to it, or to a byte between the entry and it;
//  - a kernel that turns it into a call (Instruction::becomes_call) overwrites nothing: the ABI
//  gives
//    a function its red zone at the entry, and nothing was stored since.
// If there is none, or the code does not tell, the site is the entry. If the kernel refuses the
// entry, it is the first such instruction that the kernel accepts, else ProbeCost::refused.
Site choose_site(CodeBytes entry, uint64_t address, std::span<const Instruction> body,
                 const SiteNeeds& needs);

}  // namespace memflame
