// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Walks the frames of Java's code, interpreted and compiled, and reads what runs in them. Plain C
// that only reads: BPF programs read live memory with it, tests copied and hostile one.
//
// HotSpot puts all code that it makes into blobs, and keeps the size of the frame in the head of
// each: compiled code does not keep the frame pointer. A map of segments leads from an address to
// the blob. Interpreted methods have the frame pointer, and below it their method and place.
// Compiled code has tables that lead from a return address to the method and those that it was
// inlined into. Sources: OpenJDK's src/hotspot/share/memory/heap.cpp, code/{codeBlob,nmethod,
// pcDesc,scopeDesc,compressedStream}.hpp, oops/{method,constMethod}.hpp, cpu/x86/frame_x86.hpp.
//
// Define before you include it: SCRIPT_READ, SCRIPT_LOOP and SCRIPT_FUNCTION as for ../v8, and
// UNWIND_READ as for ../../unwind/step.h.
#pragma once

#include "../script.h"

enum java_step {
  java_taken,
  java_passed,
  // The walk ends here.
  java_unreadable,
  java_virtual_end,  // a virtual thread's first frame was taken before
  java_frozen,       // a virtual thread's other frames are in the heap
};

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
  beginning.heaps = java_pointer_at(heaps + layout->offset[java_array_data]);
  beginning.heap_count = count;
  SCRIPT_LOOP(java_most_heaps, read_java_heap, &beginning);
  if (beginning.failed || !count || count > java_most_heaps) return 0;
  u64 low = layout->heap[0].low, high = low + layout->heap[0].bytes;
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

// A part of a ConstMethod's head that tells one method from others that had the same address.
static inline u32 java_instance(const struct java_layout* layout, const u8* memory) {
  u64 sum = java_word_in(memory, layout->offset[java_const_pool]);
  sum ^= (u64)java_short_in(memory, layout->offset[java_const_code_size]) << 48;
  sum ^= (u64)java_short_in(memory, layout->offset[java_const_name]) << 32;
  sum ^= (u64)java_short_in(memory, layout->offset[java_const_signature]) << 16;
  sum ^= (u64)java_short_in(memory, layout->offset[java_const_number]);
  return (u32)(sum * 0x9e3779b97f4a7c15ULL >> 32) | 1;
}

// Reads the head of a method's ConstMethod. Returns its address, or 0.
static inline u64 read_java_const(const struct java_layout* layout, u64 method, u8* memory) {
  if (!is_java_pointer(method)) return 0;
  u64 constant = java_pointer_at(method + layout->offset[java_method_const]);
  if (!constant || SCRIPT_READ(memory, java_const_bytes, constant)) return 0;
  return constant;
}

// Whether a native method is the one that a virtual thread's frames are on top of
// (Continuation.enterSpecial): what is below it is the thread that carries it for the moment.
SCRIPT_FUNCTION int is_java_virtual_entry(struct java_layout* layout, u64 method) {
  u64 value = 0;
  if (!layout || !is_java_pointer(method) ||
      SCRIPT_READ(&value, sizeof(u16), method + layout->offset[java_method_intrinsic]) || !value)
    return 0;
  if (layout->virtual_entry) return value == layout->virtual_entry;
  u16 number = (u16)value;
  u64 constant = java_pointer_at(method + layout->offset[java_method_const]);
  u64 pool = java_pointer_at(constant + layout->offset[java_const_pool]);
  if (SCRIPT_READ(&value, sizeof(u16), constant + layout->offset[java_const_name])) return 0;
  u64 name = java_pointer_at(pool + layout->pool_bytes + 8 * (value & 0xffff));
  if (SCRIPT_READ(&value, sizeof(value), name + layout->offset[java_symbol_text]) ||
      value != 0x6570537265746e65ULL)  // "enterSpe"
    return 0;
  layout->virtual_entry = number;
  return 1;
}

// What is known of a method, and of a place in compiled code: the frame's size.
enum java_method_memo { java_memo_constant, java_memo_instance, java_memo_code_size };
enum java_place_memo { java_memo_number, java_memo_words };

// Finds out what is known of a method; null if it cannot be read.
static inline const struct script_memo* know_java_method(const struct java_layout* layout,
                                                         u64 method, u8* memory,
                                                         struct script_memos* memos) {
  if (!is_java_pointer(method)) return 0;
  u64 of = script_memo_key(method, memo_function);
  struct script_memo* memo = script_memo_at(memos, of);
  if (is_script_memo(memos, memo, of)) return memo;
  u64 constant = read_java_const(layout, method, memory);
  if (!constant) return 0;
  begin_script_memo(memos, memo, of);
  memo->value[java_memo_constant] = constant;
  memo->value[java_memo_instance] = java_instance(layout, memory);
  memo->value[java_memo_code_size] = java_short_in(memory, layout->offset[java_const_code_size]);
  return memo;
}

// From the frame of an interpreted method to its caller's. `locals`: the register of the
// interpreter for these, in the thread's first frame; 0 = not known.
static inline enum java_step step_java_interpreter(const struct java_layout* layout,
                                                   struct frame* at, u8* memory,
                                                   struct script_memos* memos, u64 locals,
                                                   struct java_frame* frame) {
  u64 bp = at->bp, place[2], method = 0, sender = 0, saved[2];
  if (bp & 7 || bp < at->sp || bp - at->sp > farthest_frame_pointer ||
      UNWIND_READ(at, place, sizeof(place), bp - java_frame_instruction) ||
      UNWIND_READ(at, &method, sizeof(method), bp - java_frame_method) ||
      UNWIND_READ(at, &sender, sizeof(sender), bp - java_frame_sender) ||
      UNWIND_READ(at, saved, sizeof(saved), bp))
    return java_unreadable;
  // Before a method has its frame, the frame pointer is its caller's. Newer versions keep a
  // distance in words in place of the address of the locals.
  if (at->exact && locals != place[1] && locals != bp + 8 * place[1]) return java_unreadable;
  // A method that a method handle leads to has one argument less than its caller passed, so its
  // return address is where its caller's stack ended.
  if (sender & 7 || sender < bp + 8 || sender - bp > farthest_frame_pointer) return java_unreadable;
  at->ip = saved[1];
  at->bp = saved[0];
  at->sp = sender;
  at->exact = 0;
  const struct script_memo* known = know_java_method(layout, method, memory, memos);
  if (!known) {
    frame->word = script_word(language_java, 0, script_unreadable);
    return java_taken;
  }
  u64 index = place[0] - (known->value[java_memo_constant] + layout->const_bytes);
  if (index >= known->value[java_memo_code_size]) index = script_no_place;
  frame->word = script_word(language_java, method, index);
  frame->instance = (u32)known->value[java_memo_instance];
  return java_taken;
}

// Whether the frame of compiled code is not there yet, or not any more, at this instruction.
static inline int is_outside_java_frame(const struct java_layout* layout, u64 pc, u64 code,
                                        const u8* memory) {
  enum { pop_rbp = 0x5d, ret = 0xc3 };
  u32 offset = layout->offset[java_blob_frame_complete];
  s32 complete = (s32)java_int_in(memory, offset);
  if (layout->apart) complete = (s32)(java_short_in(memory, offset) << 16) >> 16;
  u8 instruction = ret;
  return complete < 0 || pc - code < (u64)complete || SCRIPT_READ(&instruction, 1, pc) ||
         instruction == pop_rbp || instruction == ret;
}

// Whether the frame pointer is that of the stub that runs. Interrupted stubs, which copy and fill
// arrays, have little or nothing below it, whereas an interpreted method that called one has at
// least nine words there.
static inline int is_java_stub_frame(const struct java_layout* layout, struct frame* at) {
  enum { most_below = 64 };
  u64 ip = 0;
  if (at->bp & 7 || at->bp < at->sp || at->bp - at->sp > farthest_frame_pointer) return 0;
  if (!at->exact) return 1;
  return at->bp - at->sp <= most_below && !UNWIND_READ(at, &ip, sizeof(ip), at->bp + 8) &&
         ip - layout->low < layout->bytes;
}

static inline struct script_memo* java_place_memo(struct script_memos* memos, u64 pc) {
  return script_memo_at(memos, script_memo_key(pc, memo_instruction));
}
static inline int knows_java_place(struct script_memos* memos, u64 pc) {
  return is_script_memo(memos, java_place_memo(memos, pc), script_memo_key(pc, memo_instruction));
}

// From a frame of Java's code to its caller's. `memory` as for read_java_blob(). `memos`: of this
// walk.
static inline enum java_step step_java(struct java_layout* layout, struct frame* at, u8* memory,
                                       struct script_memos* memos, u64 locals,
                                       struct java_frame* frame) {
  u64 pc = at->ip, saved[2], cfa = 0;
  frame->word = 0;
  frame->instance = 0;
  at->bx_is = bx_unknown;
  at->guessed = 0;
  if (pc - layout->interpreter < layout->interpreter_bytes)
    return step_java_interpreter(layout, at, memory, memos, locals, frame);
  enum java_step step = java_taken;
  if (pc == layout->call_stub) {
    if (at->bp & 7 || at->bp < at->sp || at->bp - at->sp > farthest_frame_pointer)
      return java_unreadable;
    cfa = at->bp + 16;
    step = java_passed;
  } else if (!at->exact && knows_java_place(memos, pc)) {
    const struct script_memo* memo = java_place_memo(memos, pc);
    frame->instance = (u32)memo->value[java_memo_number];
    cfa = at->sp + 8 * memo->value[java_memo_words];
    frame->word = java_code_word(pc - layout->low);
  } else {
    u64 blob = read_java_blob(layout, pc, memory);
    if (!blob) return java_unreadable;
    enum java_blob kind = kind_of_java_blob(layout, memory);
    u64 size = java_int_in(memory, layout->offset[java_blob_frame_size]);
    if (kind == java_no_blob || size >> 17) return java_unreadable;
    if (kind == java_continuation) return java_frozen;
    if (kind == java_other) {
      // Stubs that call something have a frame: either of a fixed size, or with a frame pointer.
      frame->instance = (u32)blob | 1;
      cfa = at->sp + 8 * size;
      if (!size || at->exact) {
        if (!is_java_stub_frame(layout, at)) return java_unreadable;
        cfa = at->bp + 16;
      }
    } else {
      if (kind == java_native &&
          is_java_virtual_entry(layout, java_word_in(memory, layout->offset[java_code_method])))
        return java_virtual_end;
      u64 code = java_place_in(layout, blob, memory, java_blob_code);
      if (!size || (at->exact && is_outside_java_frame(layout, pc, code, memory)))
        return java_unreadable;
      // A method that is to be deoptimized returns to code that does it. Where it would have
      // returned to is in its frame.
      if (pc == java_place_in(layout, blob, memory, java_code_deoptimized) ||
          pc == java_place_in(layout, blob, memory, java_code_deoptimized_call)) {
        u64 slot = at->sp + java_int_in(memory, layout->offset[java_code_original_pc]);
        if (UNWIND_READ(at, &pc, sizeof(pc), slot) || pc - layout->low >= layout->bytes)
          return java_unreadable;
      }
      frame->instance = java_int_in(memory, layout->offset[java_code_number]) | 1U << 31;
      cfa = at->sp + 8 * size;
      if (pc == at->ip) {
        u64 place = pc;
        asm volatile("" : "+r"(place));  // or the compiler keeps the memo on the stack until here
        struct script_memo* memo = java_place_memo(memos, place);
        begin_script_memo(memos, memo, script_memo_key(place, memo_instruction));
        memo->value[java_memo_number] = frame->instance;
        memo->value[java_memo_words] = size;
      }
    }
    frame->word = java_code_word(pc - layout->low);
  }
  if (cfa <= at->sp || cfa & 7 || UNWIND_READ(at, saved, sizeof(saved), cfa - 16))
    return java_unreadable;
  at->bp = saved[0];
  at->ip = saved[1];
  at->sp = cfa;
  at->exact = 0;
  return step;
}

// What is read of compiled code: the methods at one place of it, the inlined ones first.
struct java_scopes {
  struct java_inlined inlined[java_most_inlined];
  u64 places, scopes, metadata, metadata_bytes;
  u64 low, high;  // of places, as long as one is searched
  u64 pc;
  u32 next;  // where the next scope is
  u32 count, failed;
  u32 lowest_digit;
  u8 text[16];
  u8 memory[java_offset_mask + 9];
};
enum { java_place_bytes = 16, java_place_scope = 4, java_place_steps = 32 };
struct java_scopes_in {
  struct java_scopes* scopes;
};

static int search_java_place(u32 turn, struct java_scopes_in* in) {
  struct java_scopes* scopes = in->scopes;
  s32 at = 0;
  if (scopes->low >= scopes->high || turn >= java_place_steps) return 1;
  u64 middle = scopes->low + (scopes->high - scopes->low) / 2;
  if (SCRIPT_READ(&at, sizeof(at), scopes->places + middle * java_place_bytes)) {
    scopes->failed = 1;
    return 1;
  }
  if (at < 0 || (u64)at < scopes->pc)
    scopes->low = middle + 1;
  else
    scopes->high = middle;
  return 0;
}

// A number of the form UNSIGNED5: digits of six bits, of which the last is below 192.
static inline u32 next_java_number(struct java_scopes* scopes, u32* at) {
  u32 sum = 0;
  for (u32 i = 0; i < 5; ++i) {
    u32 digit = scopes->text[*at & 15];
    ++*at;
    sum += (digit - scopes->lowest_digit) << 6 * i;
    if (digit < 192) break;
  }
  return sum;
}

static int read_java_scope(u32 turn, struct java_scopes_in* in) {
  struct java_scopes* scopes = in->scopes;
  if (turn >= java_most_inlined || !scopes->next) return 1;
  u32 at = 0;
  scopes->failed = 1;
  if (SCRIPT_READ(scopes->text, sizeof(scopes->text), scopes->scopes + scopes->next)) return 1;
  u32 next = next_java_number(scopes, &at);
  u64 index = next_java_number(scopes, &at);
  u32 place = next_java_number(scopes, &at) - 1;
  if (!index || index * 8 > scopes->metadata_bytes) return 1;
  u64 method = java_pointer_at(scopes->metadata + (index - 1) * 8);
  if (!method) return 1;
  struct java_inlined* inlined = &scopes->inlined[turn];
  inlined->method = method;
  inlined->place = place < (u32)script_no_place ? place : (u32)script_no_place;
  scopes->count = turn + 1;
  scopes->next = next;
  scopes->failed = 0;
  return 0;
}

// Where the tables of compiled code are. Returns 0 if its head cannot be right. `pc`: in `scopes`.
static inline int find_java_tables(const struct java_layout* layout, struct java_scopes* scopes,
                                   u64 blob) {
  const u8* memory = scopes->memory;
  scopes->lowest_digit = layout->lowest_digit;
  const u16* offset = layout->offset;
  u32 places = java_int_in(memory, offset[java_code_places]);
  u32 end = java_int_in(memory, offset[java_code_places_end]);
  u32 metadata = java_int_in(memory, offset[java_code_metadata]);
  u32 size = java_int_in(memory, offset[java_blob_size]);
  if (places > end) return 0;
  scopes->low = 0;
  scopes->high = (end - places) / java_place_bytes;
  scopes->pc -= java_place_in(layout, blob, memory, java_blob_code);
  if (scopes->pc > size) return 0;
  if (layout->apart) {
    u64 tables = java_word_in(memory, offset[java_code_immutable]);
    u32 bytes = java_int_in(memory, offset[java_code_mutable_bytes]);
    if (metadata > bytes || end >> 28) return 0;
    scopes->places = tables + places;
    scopes->scopes = tables + java_int_in(memory, offset[java_code_scopes]);
    scopes->metadata = java_word_in(memory, offset[java_code_mutable]) + metadata;
    scopes->metadata_bytes = bytes - metadata;
    return 1;
  }
  u64 begin = java_word_in(memory, offset[java_code_scopes]);
  if (end > size || begin - blob > size || metadata > begin - blob) return 0;
  scopes->places = blob + places;
  scopes->scopes = begin;
  scopes->metadata = blob + metadata;
  scopes->metadata_bytes = begin - scopes->metadata;
  return 1;
}

// Finds the innermost method at scopes->pc. Returns 0 if there is none. A function of its own, as
// its caller has no room on the stack.
SCRIPT_FUNCTION int find_java_scope(struct java_layout* layout, struct java_scopes* scopes,
                                    u64 blob) {
  struct java_scopes_in in = {scopes};
  if (!layout || !scopes || !find_java_tables(layout, scopes, blob)) return 0;
  SCRIPT_LOOP(java_place_steps, search_java_place, &in);
  u64 place = scopes->places + scopes->low * java_place_bytes;
  return !scopes->failed &&
         !SCRIPT_READ(&scopes->next, sizeof(scopes->next), place + java_place_scope) &&
         !(scopes->next >> 31);
}

// Reads the methods at an address in compiled code into `scopes`, whose `memory` has the head of
// the blob. Returns 0 if they cannot be read.
static inline int read_java_scopes(struct java_layout* layout, struct java_scopes* scopes,
                                   enum java_blob kind, u64 blob, u64 pc) {
  struct java_scopes_in in = {scopes};
  scopes->count = scopes->failed = 0;
  scopes->inlined[0].method = java_word_in(scopes->memory, layout->offset[java_code_method]);
  scopes->inlined[0].place = script_no_place;
  if (kind == java_native) {
    scopes->count = 1;
    return is_java_pointer(scopes->inlined[0].method);
  }
  scopes->pc = pc;
  if (!find_java_scope(layout, scopes, blob)) return 0;
  SCRIPT_LOOP(java_most_inlined, read_java_scope, &in);
  return scopes->count && !scopes->failed;
}

// Reads a name (Symbol). Returns its bytes, at most java_most_name; 0 if it cannot be read.
struct java_text {
  u8 text[java_most_name];
};
SCRIPT_FUNCTION u32 read_java_symbol(struct java_layout* layout, u64 symbol, struct java_text* to) {
  u16 length = 0;
  if (!layout || !to || !is_java_pointer(symbol) ||
      SCRIPT_READ(&length, sizeof(length), symbol + layout->offset[java_symbol_length]))
    return 0;
  u64 bytes = length;
  if (bytes > java_most_name) bytes = java_most_name;
  asm volatile("" : "+r"(bytes));
  if (!bytes || bytes > java_most_name) return 0;
  return SCRIPT_READ(to, (u32)bytes, symbol + layout->offset[java_symbol_text]) ? 0 : (u32)bytes;
}

// Reads the names of a method and its class, its file, and its table of lines. Returns 0 if they
// cannot be read. The class is at the begin of file_text, and file.form has its bytes; the file is
// behind java_most_name bytes. `memory`: as for read_java_blob().
static inline int read_java_method(struct java_layout* layout, u64 method,
                                   struct script_code_record* record) {
  u8* memory = record->lines;
  const u16* offset = layout->offset;
  record->line_bytes = 0;
  record->name.form = java_method_text;
  record->first_line = layout->lowest_digit;
  record->file.bytes = 0;
  u64 constant = read_java_const(layout, method, memory);
  if (!constant) return 0;
  u64 pool = java_word_in(memory, offset[java_const_pool]);
  u64 name = java_short_in(memory, offset[java_const_name]);
  u64 code = java_short_in(memory, offset[java_const_code_size]);
  u64 size = java_int_in(memory, offset[java_const_size]);
  u32 flags = java_short_in(memory, offset[java_const_flags]);
  if (!is_java_pointer(pool)) return 0;
  record->work[0] = java_pointer_at(pool + layout->pool_bytes + 8 * name);
  record->name.bytes =
      read_java_symbol(layout, record->work[0], (struct java_text*)record->name_text);
  u64 holder = java_pointer_at(pool + offset[java_pool_class]);
  if (holder) holder = java_pointer_at(holder + offset[java_class_name]);
  record->file.form = read_java_symbol(layout, holder, (struct java_text*)record->file_text);
  if (!record->name.bytes || !record->file.form) return 0;
  record->work[1] = 0;
  if (!SCRIPT_READ(&record->work[1], sizeof(u16), pool + offset[java_pool_file]) &&
      record->work[1]) {
    u64 symbol = java_pointer_at(pool + layout->pool_bytes + 8 * record->work[1]);
    record->file.bytes =
        read_java_symbol(layout, symbol, (struct java_text*)(record->file_text + java_most_name));
  }
  u64 begin = constant + layout->const_bytes + code, bytes = constant + 8 * size - begin;
  if (!(flags & java_has_lines) || size >> 24 || bytes >> 32) return 1;
  if (bytes >= max_script_lines) bytes = max_script_lines - 1;
  asm volatile("" : "+r"(bytes));
  if (SCRIPT_READ(record->lines, bytes & (max_script_lines - 1), begin)) return 1;
  record->line_bytes = (u32)bytes;
  return 1;
}
