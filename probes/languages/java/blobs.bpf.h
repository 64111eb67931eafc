// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The blobs that hold Java's code: from an address to the blob, and what it is.
#pragma once

#include "machine.bpf.h"

// A part of the map of segments.
enum { java_map_bytes = 64 };
struct java_map {
  u64 first;  // segment
  u8 back[java_map_bytes];
};

// How far back the begin of the blob is that has this segment, or the next step to it; 0 = here.
// What is read ends with the segment: the others are before it. A function of its own, so that the
// verifier does not look at each hop anew.
enum { java_most_hops = 32, java_free_segment = 0xff };
SCRIPT_FUNCTION u32 java_hop(struct java_map* map, u64 segments, u64 segment) {
  if (!map) return java_free_segment;
  if (segment < map->first || segment - map->first >= java_map_bytes) {
    map->first = segment < java_map_bytes ? 0 : segment - (java_map_bytes - 1);
    if (SCRIPT_READ(map->back, java_map_bytes, segments + map->first)) {
      map->first = segment;  // only this one, if the others cannot be read
      if (SCRIPT_READ(map->back, 1, segments + segment)) return java_free_segment;
    }
  }
  return map->back[(segment - map->first) & (java_map_bytes - 1)];
}

// The blob that holds an address; 0 if there is none.
SCRIPT_FUNCTION u64 find_java_blob(struct java_layout* layout, u64 pc, struct java_map* map) {
  if (!layout || !map) return 0;
  u64 low = 0, segments = 0;
  u32 bits = 0;
  for (int i = 0; i < java_most_heaps; ++i) {
    const struct java_heap* heap = &layout->heap[i];
    if (pc - heap->low >= heap->bytes) continue;
    low = heap->low;
    segments = heap->segments;
    bits = heap->segment_bits & 31;
    break;
  }
  if (!low) return 0;
  u64 segment = (pc - low) >> bits;
  map->first = ~0ULL;
  for (int i = 0; i < java_most_hops; ++i) {
    u32 back = java_hop(map, segments, segment);
    if (back == java_free_segment || back > segment) return 0;
    if (!back) return low + (segment << bits) + layout->block_bytes;
    segment -= back;
  }
  return 0;
}

// Reads the head of the blob that holds an address into `memory`, which has room for
// java_offset_mask + 9 bytes. Returns the blob, or 0.
static inline u64 read_java_blob(struct java_layout* layout, u64 pc, u8* memory) {
  u64 blob = find_java_blob(layout, pc, (struct java_map*)memory);
  if (!blob) return 0;
  if (SCRIPT_READ(memory, java_blob_bytes, blob) && SCRIPT_READ(memory, java_stub_bytes, blob))
    return 0;
  u32 size = java_int_in(memory, layout->offset[java_blob_size]);
  return pc - blob < size ? blob : 0;
}

// An address in a blob that its head tells. Newer versions have the distance from its begin.
static inline u64 java_place_in(const struct java_layout* layout, u64 blob, const u8* memory,
                                enum java_field field) {
  u32 offset = layout->offset[field];
  return layout->apart ? blob + java_int_in(memory, offset) : java_word_in(memory, offset);
}

// What a blob is, by the begin of its name. `memory`: what read_java_blob() has read.
enum java_blob { java_no_blob, java_compiled, java_native, java_continuation, java_other };
static inline enum java_blob kind_of_java_blob(struct java_layout* layout, u8* memory) {
  enum { text_bytes = 16 };
  u64 name = java_word_in(memory, layout->offset[java_blob_name]);
  u64* text = (u64*)(memory + java_blob_bytes);  // there, as the stack has no room for it
  if (name && name == layout->compiled_name) return java_compiled;
  if (name && name == layout->native_name) return java_native;
  if (!name || name >> 47 || SCRIPT_READ(text, text_bytes, name)) return java_no_blob;
  if (text[0] == 0x00646f6874656d6eULL) {  // "nmethod"
    layout->compiled_name = name;
    return java_compiled;
  }
  if (text[0] == 0x6e2065766974616eULL) {  // "native nmethod"
    layout->native_name = name;
    return java_native;
  }
  // "StubRoutines (continuation stubs)"; other names begin with the same 16 bytes.
  if (text[0] == 0x74756f5262757453ULL && !SCRIPT_READ(text, text_bytes, name + 8) &&
      text[0] == 0x6f63282073656e69ULL && text[1] == 0x697461756e69746eULL)
    return java_continuation;
  return java_other;
}
