// SPDX-License-Identifier: BSD-2-Clause
// The cheapest instruction of a function at which a probe still sees its arguments.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "probes/alloc/bpf/call_shape.h"
#include "probes/alloc/finding/code.h"

namespace memflame {

struct SiteNeeds {
  uint8_t arguments = 0;   // bit n: argument n + 1 must still be in an argument's register
  uint64_t size = 0;       // of the function, bytes; 0 when it is not known
  bool long_nops = false;  // as in decode()
};

struct Site {
  uint64_t delta = 0;  // from the entry, bytes
  ProbeCost cost = ProbeCost::stepped;
  // The register that holds argument n + 1 there, as the number of the argument that it is for.
  std::array<uint8_t, 6> holder{1, 2, 3, 4, 5, 6};
};

// The shape of a function at the site, with its arguments where they are there.
bpf::call_shape at_site(bpf::call_shape shape, const Site& site);

// `entry` is the code from the function's first instruction on, which lies at `address`; `body` is
// all of the function in any order, and what it jumps to, to see what jumps where.
//
// The site is the first instruction that the kernel emulates, before which there is no jump, no
// call and no change of rsp or of what lies at it, where each needed argument is in its own
// register or has been copied to that of another one, and which nothing in `body` jumps to, nor to
// the bytes between. Without one, or when not all of that can be told, it is the entry.
// ProbeCost::refused when there is no place that the kernel would take.
Site choose_site(CodeBytes entry, uint64_t address, std::span<const Instruction> body,
                 const SiteNeeds& needs);

}  // namespace memflame
