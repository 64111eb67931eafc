// SPDX-License-Identifier: BSD-2-Clause
// The reading of PHP's functions, as BPF programs do it, in memory that a test or a fuzzer makes.
#pragma once

#include "tests/probes/languages/python_memory.h"

namespace memflame::bpf {

// NOLINTBEGIN(cppcoreguidelines-macro-usage): what frames.bpf.h asks for
#define SCRIPT_FUNCTION static inline
// NOLINTEND(cppcoreguidelines-macro-usage)
#include "probes/languages/php/frames.bpf.h"
#undef SCRIPT_FUNCTION

// As read_php() of bpf/read_scripts.h.
inline void read_php(script_chain& chain, const php_layout& layout, uint64_t base,
                     uint64_t globals) {
  chain.count = chain.next = 0;
  chain.end = script_none;
  chain.filled = 0;
  if (begin_php(&chain, &layout, base, globals) == 0) return;
  for (int i = 0; i < max_php_frames; ++i)
    if (take_php_frame(&chain) == 0) return;
  drop_php(&chain);
}

}  // namespace memflame::bpf
