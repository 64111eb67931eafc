// SPDX-License-Identifier: BSD-2-Clause
// The reading of Ruby's functions, as BPF programs do it, in memory that a test or a fuzzer makes.
#pragma once

#include "tests/probes/languages/python_memory.h"

namespace memflame::bpf {

// NOLINTBEGIN(cppcoreguidelines-macro-usage): what frames.bpf.h asks for
#define SCRIPT_FUNCTION static inline
// NOLINTEND(cppcoreguidelines-macro-usage)
#include "probes/languages/ruby/frames.bpf.h"
#undef SCRIPT_FUNCTION

// As read_scripts() of bpf/read_scripts.h.
inline void read_ruby(script_chain& chain, const ruby_layout& layout, uint64_t base, uint64_t state,
                      uint64_t guard) {
  chain.count = chain.next = 0;
  chain.end = script_none;
  chain.filled = 0;
  if (begin_ruby(&chain, &layout, base, state, guard) == 0) return;
  for (int i = 0; i < max_script_items + 1; ++i)
    if (take_ruby_frames(&chain, &layout) == 0) return;
  drop_ruby(&chain);
}

}  // namespace memflame::bpf
