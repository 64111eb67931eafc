// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What HotSpot has once in a process, read when its virtual machine runs: where its heaps of code
// are, and where things are in its structures (sources: frames.bpf.h). And reading words in them.
//
// Define before you include it: SCRIPT_READ, SCRIPT_LOOP and SCRIPT_FUNCTION as for ../v8.
#pragma once

#include "../script.h"

static inline int is_java_pointer(u64 address) {
  return address >= 1 << 20 && !(address & 7) && !(address >> 47);
}

static inline u64 java_word_in(const u8* memory, u32 offset) {
  return *(const u64*)(memory + (offset & (java_offset_mask & ~7)));
}
static inline u32 java_int_in(const u8* memory, u32 offset) {
  return *(const u32*)(memory + (offset & (java_offset_mask & ~3)));
}
static inline u32 java_short_in(const u8* memory, u32 offset) {
  return *(const u16*)(memory + (offset & (java_offset_mask & ~1)));
}

// A function of its own, as programs have little room for what is read.
SCRIPT_FUNCTION u64 java_pointer_at(u64 address) {
  u64 value = 0;
  if (SCRIPT_READ(&value, sizeof(value), address)) return 0;
  return is_java_pointer(value) ? value : 0;
}

struct java_beginning {
  struct java_layout* layout;
  u64 bias, heaps;
  u32 heap_count, failed;
};

static int read_java_offset(u32 turn, struct java_beginning* beginning) {
  struct java_layout* layout = beginning->layout;
  u64 offset = 0;
  if (turn >= java_field_count) return 1;
  u64 entry = layout->table + beginning->bias + (u64)layout->entry[turn] * java_entry_bytes;
  if (SCRIPT_READ(&offset, sizeof(offset), entry + java_entry_offset) || offset > 0xffff) {
    beginning->failed = 1;
    return 1;
  }
  layout->offset[turn] = (u16)offset;
  return 0;
}

static int read_java_heap(u32 turn, struct java_beginning* beginning) {
  struct java_layout* layout = beginning->layout;
  if (turn >= java_most_heaps || turn >= beginning->heap_count) return 1;
  struct java_heap* heap = &layout->heap[turn];
  const u16* offset = layout->offset;
  u64 at = java_pointer_at(beginning->heaps + (u64)8 * turn), low = 0, end = 0, segments = 0;
  u32 bits = 0;
  if (!at || SCRIPT_READ(&low, 8, at + offset[java_heap_memory] + offset[java_space_low]) ||
      SCRIPT_READ(&end, 8, at + offset[java_heap_memory] + offset[java_space_end]) ||
      SCRIPT_READ(&segments, 8, at + offset[java_heap_segments] + offset[java_space_low]) ||
      SCRIPT_READ(&bits, 4, at + offset[java_heap_segment_bits]) || bits > 20 || end <= low ||
      (end - low) >> 31 || end >> 47) {
    beginning->failed = 1;
    return 1;
  }
  heap->low = low;
  heap->bytes = end - low;
  heap->segments = segments;
  heap->segment_bits = bits;
  return 0;
}

// The address of marks, by that of a pointer to what ZGC says of itself; 0 if it does not collect.
static inline u64 java_marks_at(const struct java_layout* layout, u64 at, enum java_field field,
                                u64 bias) {
  u64 said = at && layout->entry[field] ? java_pointer_at(at + bias) : 0;
  return said ? java_pointer_at(said + layout->offset[field]) : 0;
}

// Reads what a process has only once its virtual machine runs. Returns whether it does. `bias`:
// from an address in the file to one in the process.
//
// Several processors may do this at once for one process. None of it changes any more, so all of
// them store the same, and each value as a whole: what one of them reads while another still
// stores is complete.
SCRIPT_FUNCTION int begin_java(struct java_layout* layout, u64 bias) {
  if (!layout) return 0;
  if (layout->begun) return 1;
  struct java_beginning beginning = {
      .layout = layout, .bias = bias, .heaps = 0, .heap_count = 0, .failed = 0};
  // The interpreter is made after the memory for code.
  u64 stubs = java_pointer_at(layout->interpreter_at + bias);
  u64 heaps = java_pointer_at(layout->heaps_at + bias);
  u64 call_stub = 0;
  if (!stubs || !heaps || SCRIPT_READ(&call_stub, 8, layout->call_stub_at + bias) || !call_stub)
    return 0;
  SCRIPT_LOOP(java_field_count, read_java_offset, &beginning);
  if (beginning.failed) return 0;
  u32 bytes = 0, count = 0;
  u64 begin = 0;
  if (SCRIPT_READ(&begin, 8, stubs + layout->offset[java_stubs_begin]) ||
      SCRIPT_READ(&bytes, 4, stubs + layout->offset[java_stubs_bytes]) ||
      SCRIPT_READ(&count, 4, heaps + layout->offset[java_array_length]))
    return 0;
  u64 references = 0, reference_bits = 0;
  if (SCRIPT_READ(&references, 8, layout->references_at + bias) ||
      SCRIPT_READ(&reference_bits, 4, layout->reference_bits_at + bias))
    return 0;
  layout->references = references;
  layout->reference_bits = reference_bits;
  layout->stale_marked = java_marks_at(layout, layout->stale_marked_at, java_stale_marked, bias);
  layout->stale_whole = java_marks_at(layout, layout->stale_whole_at, java_stale_whole, bias);
  layout->collector = java_pointer_at(layout->collector_at + bias);
  beginning.heaps = java_pointer_at(heaps + layout->offset[java_array_data]);
  beginning.heap_count = count;
  SCRIPT_LOOP(java_most_heaps, read_java_heap, &beginning);
  if (beginning.failed || !count || count > java_most_heaps) return 0;
  u64 low = layout->heap[0].low, high = low + layout->heap[0].bytes;
  asm volatile("" : "+r"(count));  // or the compiler leaves out a bound that Linux 6.1 needs
  for (u32 i = 1; i < java_most_heaps && i < count; ++i) {
    const struct java_heap* heap = &layout->heap[i];
    if (heap->low < low) low = heap->low;
    if (heap->low + heap->bytes > high) high = heap->low + heap->bytes;
  }
  if ((high - low) >> 31) return 0;
  layout->heaps = count;
  layout->low = low;
  layout->bytes = high - low;
  layout->interpreter = begin;
  layout->interpreter_bytes = bytes;
  layout->call_stub = call_stub;
  asm volatile("" ::: "memory");  // all of the above comes first; x86 keeps that order
  *(volatile u32*)&layout->begun = 1;
  return 1;
}
