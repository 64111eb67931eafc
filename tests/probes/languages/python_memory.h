// SPDX-License-Identifier: BSD-2-Clause
// The reading of Python's functions, as BPF programs do it, in memory that a test or a fuzzer
// makes.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>

#include "probes/languages/script.h"

namespace memflame::bpf {

// 0 if all of the memory can be read.
using ReadScript = std::function<long(void* to, size_t size, uint64_t address)>;
inline thread_local ReadScript read_script;  // NOLINT(misc-no-recursion)

// NOLINTBEGIN(cppcoreguidelines-macro-usage): what frames.bpf.h asks for
#define SCRIPT_READ(to, size, address) read_script(to, size, address)
// NOLINTEND(cppcoreguidelines-macro-usage)
#include "probes/languages/python/frames.bpf.h"

// As read_scripts() of bpf/read_scripts.h.
inline void read_python(script_chain& chain, const python_layout& layout, uint64_t state) {
  chain.count = chain.next = 0;
  chain.end = script_none;
  chain.filled = 0;
  chain.anchor = chain.record = chain.below = 0;
  if (begin_python(&chain, &layout, state) == 0) return;
  for (int i = 0; i < max_script_items + 1; ++i)
    if (take_python_frames(&chain, &layout) == 0) return;
}

}  // namespace memflame::bpf
