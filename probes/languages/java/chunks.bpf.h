// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The frames of a virtual thread that are in Java's heap: from the thread's stack to them.
//
// When a virtual thread waits, its frames are moved into an object (StackChunk); when it goes on,
// the innermost ones are moved back, and the others when these return. Frames in the heap are as
// they were on the stack, but interpreted ones have distances in words in place of addresses.
//
// The object is found through what Java keeps on the stack where the virtual thread begins
// (ContinuationEntry), which refers to an object (Continuation) that refers to the last chunk. A
// chunk refers to that object, too: this tells whether all of it was read as it is. But malloc()
// may be called where Java lets a collection move objects meanwhile: the heap is not entered while
// one runs, and whoever has walked in it must ask have_java_objects_moved() behind that. Sources:
// OpenJDK's src/hotspot/share/runtime/{continuationEntry,stackChunkFrameStream}.hpp,
// oops/stackChunkOop.hpp, and src/java.base/share/classes/jdk/internal/vm.
#pragma once

#include "machine.bpf.h"

// How objects refer to others: by a distance in 32 bits, an address, or one that ZGC has moved up
// and marked below (gc/z/zAddress.hpp).
enum java_reference_kind { java_short, java_whole, java_marked };

// Where things are in these objects. It depends on the size of what all objects begin with, and on
// that of references. Java 21 and 25 have the same.
struct java_chunk_form {
  u8 kind;  // enum java_reference_kind
  u8 tail;  // in Continuation
  u8 pc, sp, bottom, parent, of, stack;
};
static const struct java_chunk_form java_chunk_forms[] = {
    {java_short, 32, 16, 24, 28, 40, 44, 48},  {java_whole, 48, 16, 24, 28, 40, 48, 56},
    {java_marked, 48, 16, 24, 28, 40, 48, 56}, {java_short, 36, 16, 28, 32, 44, 48, 56},
    {java_whole, 56, 16, 28, 32, 48, 56, 64},  {java_marked, 56, 16, 28, 32, 48, 56, 64},
    {java_short, 28, 8, 20, 24, 36, 40, 48},   {java_whole, 48, 8, 20, 24, 40, 48, 56},
    {java_marked, 48, 8, 20, 24, 40, 48, 56},
};
enum {
  java_chunk_form_count = sizeof(java_chunk_forms) / sizeof(java_chunk_forms[0]),
  java_forwarded = 3,  // bits of an object's first word
  java_entry_of = 16,  // in ContinuationEntry
  // What the thread's first method got on the stack lies before the entry.
  java_entry_places = 16,
  java_chunk_head = 64,      // bytes
  java_chunk_most = 1 << 20  // words
};

// What is read.
struct java_chunk_room {
  u64 entry[java_entry_places];
  u8 head[java_chunk_head + 8];
};

// The address of the object that a reference leads to; 0 if there is none.
static inline u64 java_reference(const struct java_layout* layout, u32 kind, u64 value) {
  if (kind == java_whole) return value;
  if (kind == java_short)
    return (u32)value ? layout->references + ((u64)(u32)value << (layout->reference_bits & 7)) : 0;
  // The highest of four marks is directly below the address.
  u32 mark = (u32)value >> 12 & 15;
  return value >> (mark & 8 ? 16 : mark & 4 ? 15 : mark & 2 ? 14 : 13);
}

// The same, but java_moved if the object may have another address by now: ZGC moves objects while
// the program runs, and tells old references by their marks.
enum { java_moved = 1 };
static inline u64 present_java_reference(const struct java_layout* layout, u32 kind, u64 value) {
  u64 address = java_reference(layout, kind, value), stale = 0;
  u64 marks = kind == java_marked ? layout->stale_marked : layout->stale_whole;
  if (kind == java_short || !address) return address;
  if (!marks && kind == java_whole) return address;
  if (!marks || SCRIPT_READ(&stale, sizeof(stale), marks) || value & stale) return java_moved;
  return address;
}

static inline u64 java_head_word(const struct java_chunk_room* room, u32 offset) {
  const u32* words = (const u32*)room->head;
  u32 at = offset / 4 & (java_chunk_head / 4 - 1);
  return words[at] | (u64)words[at + 1] << 32;
}

// The frame pointer of the frame that is next, kept in `slot`.
static inline u64 java_chunk_bp(const struct java_layout* layout, u64 pc, u64 slot, u64 saved) {
  return pc - layout->interpreter < layout->interpreter_bytes ? slot + 8 * saved : saved;
}

// Reads the head of an object that should be a chunk of `of`. Returns whether it is.
static inline int read_java_chunk(const struct java_layout* layout,
                                  const struct java_chunk_form* form, u64 from, u64 of,
                                  struct java_chunk_room* room) {
  if (!is_java_pointer(from) || SCRIPT_READ(room->head, java_chunk_head, from)) return 0;
  // Shenandoah and others leave the new address in the first word, with two bits set, when they
  // move an object.
  if (java_reference(layout, form->kind, java_head_word(room, form->of)) != of ||
      (room->head[0] & java_forwarded) == java_forwarded)
    return 0;
  u32 sp = (u32)java_head_word(room, form->sp), bottom = (u32)java_head_word(room, form->bottom);
  // A chunk whose frames have gone back to the stack is empty.
  return bottom <= java_chunk_most && sp >= 2 &&
         (sp == bottom ||
          (sp < bottom && java_head_word(room, form->pc) - layout->low < layout->bytes));
}

// Goes to the innermost frame of the chunk that is next. Returns whether it could be read.
static inline int enter_java_chunk(const struct java_layout* layout, struct frame* at,
                                   struct java_chunk* chunk, struct java_chunk_room* room) {
  u32 number = chunk->form;
  if (number >= java_chunk_form_count) return 0;
  const struct java_chunk_form* form = &java_chunk_forms[number];
  u64 from = chunk->next, stack = from + form->stack, saved = 0;
  if (!read_java_chunk(layout, form, from, chunk->of, room)) return 0;
  u64 first = stack + 8 * (u64)(u32)java_head_word(room, form->sp);
  u64 pc = java_head_word(room, form->pc);
  if (SCRIPT_READ(&saved, sizeof(saved), first - 16)) return 0;
  chunk->next = present_java_reference(layout, form->kind, java_head_word(room, form->parent));
  chunk->end = stack + 8 * (u64)(u32)java_head_word(room, form->bottom);
  at->ip = pc;
  at->sp = first;
  at->bp = java_chunk_bp(layout, pc, first - 16, saved);
  at->exact = 0;
  return 1;
}

// Whether objects may be moved now. If not, `count` is how many collections have begun.
static inline int is_java_collecting(const struct java_layout* layout, u32* count) {
  u8 collecting = 1;
  u64 at = layout->collector;
  return !at || SCRIPT_READ(&collecting, 1, at + layout->offset[java_collecting]) || collecting ||
         SCRIPT_READ(count, sizeof(*count), at + layout->offset[java_collections]);
}

// Whether objects may have moved since the walk came to the heap. What it read there may then be
// wrong.
static inline int have_java_objects_moved(const struct java_layout* layout,
                                          const struct java_chunk* chunk) {
  u32 count = 0;
  return is_java_collecting(layout, &count) || count != chunk->collections;
}

struct java_entering {
  const struct java_layout* layout;
  const struct frame* at;
  struct java_chunk* chunk;
  struct java_chunk_room* room;
};

// Tries one place for the entry, and one form of its objects.
static int try_java_entry(u32 turn, struct java_entering* in) {
  struct java_chunk* chunk = in->chunk;
  const struct java_layout* layout = in->layout;
  u32 number = layout->chunk_form ? layout->chunk_form - 1U : turn / java_entry_places;
  if (number >= java_chunk_form_count) return 1;
  const struct java_chunk_form* form = &java_chunk_forms[number];
  u64 of = in->room->entry[turn & (java_entry_places - 1)], value = 0;
  if (!is_java_pointer(of) || of - in->at->sp < farthest_frame_pointer ||
      SCRIPT_READ(&value, sizeof(value), of) || (value & java_forwarded) == java_forwarded ||
      SCRIPT_READ(&value, sizeof(value), of + form->tail))
    return 0;
  u64 next = present_java_reference(layout, form->kind, value);
  if (!read_java_chunk(layout, form, next, of, in->room)) return 0;
  chunk->form = number;
  chunk->of = of;
  chunk->next = next;
  return 1;
}

// Finds the last chunk of a virtual thread whose frames on the stack end here. While Java itself
// moves frames, a chunk may lack some that are not on the stack yet; then the walk comes from
// native code.
static inline int find_java_chunk(struct java_layout* layout, const struct frame* at,
                                  struct java_chunk* chunk, struct java_chunk_room* room) {
  struct java_entering entering = {.layout = layout, .at = at, .chunk = chunk, .room = room};
  u32 forms = layout->chunk_form ? 1 : java_chunk_form_count, count = 0;
  chunk->next = 0;
  if (chunk->came != at->sp || is_java_collecting(layout, &count)) return 0;
  chunk->collections = count;
  if (SCRIPT_READ(room->entry, sizeof(room->entry), at->sp + java_entry_of)) return 0;
  SCRIPT_LOOP(forms * java_entry_places, try_java_entry, &entering);
  if (!chunk->next) return 0;
  layout->chunk_form = (u16)(chunk->form + 1);
  return 1;
}

// Goes from where the frames on a virtual thread's stack end, or those of a chunk, to their
// callers in the heap. Returns whether these were found.
static inline int enter_java_heap(struct java_layout* layout, struct frame* at,
                                  struct java_chunk* chunk, struct java_chunk_room* room) {
  return (chunk->end || find_java_chunk(layout, at, chunk, room)) &&
         enter_java_chunk(layout, at, chunk, room);
}
