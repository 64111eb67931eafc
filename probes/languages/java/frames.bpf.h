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

#include "blobs.bpf.h"
#include "chunks.bpf.h"
#include "methods.bpf.h"
#include "scopes.bpf.h"

enum java_step {
  java_taken,
  java_passed,
  // The walk ends here.
  java_unreadable,
  java_virtual_end,  // a virtual thread's first frame was taken before
  java_frozen,       // a virtual thread's other frames are in the heap: enter_java_heap()
};

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
enum java_place_memo { java_memo_number, java_memo_words, java_memo_blob, java_memo_checked };

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
// interpreter for these, in the thread's first frame; 0 = not known. `end`: of frames in the heap.
ALWAYS_INLINE enum java_step step_java_interpreter(const struct java_layout* layout,
                                                   struct frame* at, u8* memory,
                                                   struct script_memos* memos, u64 locals, u64 end,
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
  if (end) {
    sender = bp + 8 * sender;
    // The first method of the thread has its arguments behind its frame.
    if (bp + 8 * place[1] + 8 >= end) sender = end;
  }
  // A method that a method handle leads to has one argument less than its caller passed, so its
  // return address is where its caller's stack ended.
  if (sender & 7 || sender < bp + 8 || sender - bp > farthest_frame_pointer) return java_unreadable;
  at->ip = saved[1];
  at->bp = end ? java_chunk_bp(layout, saved[1], bp, saved[0]) : saved[0];
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
// A place is known from other stacks if its blob still is the code that it was. Code has a number
// that no other code gets.
static inline int knows_java_place(const struct java_layout* layout, struct script_memos* memos,
                                   u64 pc, u8* memory) {
  struct script_memo* memo = java_place_memo(memos, pc);
  if (!is_script_memo(memos, memo, script_memo_key(pc, memo_instruction))) return 0;
  if (memo->value[java_memo_checked] == memos->stack) return 1;
  if (SCRIPT_READ(memory, 4, memo->value[java_memo_blob] + layout->offset[java_code_number]) ||
      (*(const u32*)memory | 1U << 31) != memo->value[java_memo_number])
    return 0;
  memo->value[java_memo_checked] = memos->stack;
  return 1;
}

// From a frame of Java's code to its caller's. `memory` as for read_java_blob(). `memos` and
// `chunk`: of this walk.
ALWAYS_INLINE enum java_step step_java(struct java_layout* layout, struct frame* at, u8* memory,
                                       struct script_memos* memos, u64 locals,
                                       struct java_chunk* chunk, struct java_frame* frame) {
  u64 pc = at->ip, cfa = 0;
  frame->word = 0;
  frame->instance = 0;
  at->bx_is = bx_unknown;
  at->guessed = 0;
  u64 end = chunk->end;
  if (end && at->sp + 16 >= end) return chunk->next ? java_frozen : java_virtual_end;
  enum java_step step = java_taken;
  if (pc - layout->interpreter < layout->interpreter_bytes) {
    step = step_java_interpreter(layout, at, memory, memos, locals, end, frame);
    chunk->came = at->sp;
    return step;
  }
  if (pc == layout->call_stub) {
    if (at->bp & 7 || at->bp < at->sp || at->bp - at->sp > farthest_frame_pointer)
      return java_unreadable;
    cfa = at->bp + 16;
    step = java_passed;
  } else if (!at->exact && knows_java_place(layout, memos, pc, memory)) {
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
    if (kind == java_continuation) return end ? java_unreadable : java_frozen;
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
        keep_script_memo(memos, memo, script_memo_key(place, memo_instruction));
        memo->value[java_memo_number] = frame->instance;
        memo->value[java_memo_words] = size;
        memo->value[java_memo_blob] = blob;
        memo->value[java_memo_checked] = memos->stack;
      }
    }
    frame->word = java_code_word(pc - layout->low);
  }
  u64 saved[2];
  if (cfa <= at->sp || cfa & 7 || UNWIND_READ(at, saved, sizeof(saved), cfa - 16))
    return java_unreadable;
  at->bp = end ? java_chunk_bp(layout, saved[1], cfa - 16, saved[0]) : saved[0];
  at->ip = saved[1];
  at->sp = cfa;
  at->exact = 0;
  chunk->came = cfa;
  return step;
}
