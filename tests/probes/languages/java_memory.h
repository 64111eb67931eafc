// SPDX-License-Identifier: BSD-2-Clause
// The walk through Java's frames, as BPF programs do it, in memory that a test or a fuzzer makes.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>

#include "probes/bpf/shared.h"
#include "probes/unwind/row.h"

namespace memflame::bpf {

// 0 if all of the memory can be read.
using ReadJava = std::function<long(void* to, size_t size, uint64_t address)>;
inline thread_local ReadJava read_java_memory;  // NOLINT(misc-no-recursion)

// NOLINTBEGIN(cppcoreguidelines-macro-usage,google-build-using-namespace): what the headers ask for
using namespace unwind;
#define UNWIND_READ(frame, to, size, address) read_java_memory(to, size, address)
#define UNWIND_RETURN(frame, slot, value) (value)
#include "probes/unwind/step.h"
#define SCRIPT_READ(to, size, address) read_java_memory(to, size, address)
#define SCRIPT_FUNCTION static inline
#define SCRIPT_LOOP(turns, function, context) \
  for (u32 turn_ = 0; turn_ < u32{turns} && !function(turn_, context); ++turn_)
#include "probes/languages/java/frames.bpf.h"
#undef UNWIND_READ
#undef UNWIND_RETURN
#undef SCRIPT_READ
#undef SCRIPT_FUNCTION
#undef SCRIPT_LOOP
// NOLINTEND(cppcoreguidelines-macro-usage,google-build-using-namespace)

// Room for the head of a blob.
struct JavaRoom {
  alignas(8) uint8_t bytes[java_offset_mask + 9];
  script_memos memos;
};
inline java_chunk_room* room_for_chunk(JavaRoom& room) {
  return reinterpret_cast<java_chunk_room*>(room.bytes);
}

}  // namespace memflame::bpf
