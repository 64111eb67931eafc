// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Objects of V8: words, types, and where one is that the collector moves.
#pragma once

#include "../script.h"

// Addresses of objects end in 01; small numbers (Smi) are in the upper half of a word.
static inline int is_v8_object(u64 value) { return (value & 3) == 1 && !(value >> 47); }
static inline int is_v8_number(u64 value) { return !(u32)value; }

static inline int read_v8_word(u64* to, u64 object, u64 offset) {
  *to = 0;
  return !is_v8_object(object) || SCRIPT_READ(to, sizeof(*to), object - 1 + offset);
}

enum { v8_no_type = 0xffff };
static inline u32 v8_type_of_map(u64 map) {
  u16 type = v8_no_type;
  if (!is_v8_object(map) || SCRIPT_READ(&type, sizeof(type), map - 1 + v8_map_type))
    return v8_no_type;
  return type;
}
static inline u32 v8_type_of(u64 object) {
  u64 map = 0;
  return read_v8_word(&map, object, 0) ? (u32)v8_no_type : v8_type_of_map(map);
}

// Whether a map is that of a type; remembers one that is. Inlined as the walk has no room on the
// stack for more calls.
ALWAYS_INLINE int is_v8_map(u64 map, u16 type, u64* known) {
  if (map == *known) return 1;
  if (v8_type_of_map(map) != type) return 0;
  *known = map;
  return 1;
}

// Follows an object that is being moved. Its map is then no address of an object.
static inline u64 moved_v8_object(u64 object, u64 map) {
  return map && !(map & 3) && !(map >> 47) ? map + 1 : object;
}
