// SPDX-License-Identifier: BSD-2-Clause
// Tables that V8 keeps of its code: which place in the source an instruction or a bytecode belongs
// to. Sources: V8's src/codegen/source-position{,-table}.h,
// src/baseline/bytecode-offset-iterator.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace memflame {

// A place in a script, and the call of a function that was inlined: its index in the code's list.
struct V8Position {
  uint32_t offset = 0;  // in characters
  std::optional<uint32_t> inlined;
  friend bool operator==(const V8Position&, const V8Position&) = default;
};

// A place as V8 keeps it in a word; none if it is not one in a script.
std::optional<V8Position> v8_position(uint64_t value);

// The last entry of a table of places that is at or before this place in the code.
std::optional<V8Position> v8_position_in(std::span<const uint8_t> table, uint32_t at);

// Where the bytecode is whose code, made by the baseline compiler, returns to this place. `ends`:
// the table of where each bytecode's code ends. None if the version has no such bytecode.
std::optional<uint32_t> v8_baseline_bytecode(std::span<const uint8_t> ends,
                                             std::span<const uint8_t> bytecode, uint16_t version,
                                             uint32_t at);

}  // namespace memflame
