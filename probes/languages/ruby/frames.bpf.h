// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Reads which Ruby functions a thread or a fiber runs, from Ruby 3.1 to 3.4. Plain C that
// only reads: BPF programs read live memory with it, tests copied and hostile one.
//
// Ruby keeps a control frame for each function. One C function, the interpreter's loop, runs many
// of them; the outermost of these is marked (FINISH). Around the loop a C function catches
// exceptions (vm_exec), and so has a tag on its C stack, in a list of all tags. A tag tells where
// its function goes on, and so which tags belong to loops. So each marked frame belongs to one such
// tag, in order, and the native frame of a loop is the one that holds the tag's address. If there
// are more of one than of the other, nothing is placed. Sources: Ruby's vm_core.h, vm.c,
// eval_intern.h, iseq.c and iseq.h.
//
// Define before you include it: SCRIPT_READ(to, size, address) copies target memory, and returns 0
// if all of it could be read.
#pragma once

#include "../python/frames.bpf.h"

static inline int is_ruby_loop(const struct ruby_layout* layout, u64 place) {
  return place - layout->loop_begin < layout->loop_end - layout->loop_begin;
}

// Looks for the next tag of a loop, at most `turns` tags on. `anchor` is glibc's guard of saved
// places. Returns 0 if memory cannot be read.
enum { ruby_tags_a_turn = 4, ruby_frames_a_turn = 12 };
static inline int find_ruby_tag(struct script_chain* chain, const struct ruby_layout* layout) {
  u64* words = (u64*)(chain->memory + script_window_bytes);  // a tag is shorter than what is there
  for (int i = 0; i < ruby_tags_a_turn && !chain->record && chain->below; ++i) {
    u64 tag = chain->below;
    if (!is_script_pointer(tag) || SCRIPT_READ(words, ruby_tag_bytes, tag + ruby_tag_begin))
      return 0;
    u64 place = words[(u32)(layout->tag_place - ruby_tag_begin) / 8 & 31];
    chain->below = words[(u32)(layout->tag_previous - ruby_tag_begin) / 8 & 31];
    if (layout->tag_is_guarded) place = (place >> 17 | place << 47) ^ chain->anchor;
    if (is_ruby_loop(layout, place - chain->base)) chain->record = tag;
  }
  return 1;
}

// The offset in `memory` of a control frame. They lie side by side, so one read has many of them.
static inline u32 ruby_frame_at(struct script_chain* chain, u64 frame) {
  u64 at = frame - chain->window_at;
  if (at < script_window_bytes && at + ruby_frame_bytes <= chain->filled) return (u32)at;
  u32 piece = 4096 - (frame & 4095);
  if (piece < ruby_frame_bytes) piece = ruby_frame_bytes;
  if (piece > script_window_bytes) piece = script_window_bytes;
  chain->filled = 0;
  if (SCRIPT_READ(chain->memory, piece, frame)) return script_frame_unread;
  chain->window_at = frame;
  chain->filled = piece;
  return 0;
}

// Far from all addresses: nothing was read.
static const u64 ruby_nowhere = 1ULL << 63;

// Reads the flags of a frame: all bits if they cannot be read. They lie among the values that its
// function works with, those of callers below, so that one read has many of them; or, with the
// values that a block keeps, in the heap. A function of its own, so that the verifier does not look
// at both ways for each frame.
SCRIPT_FUNCTION u64 read_ruby_flags(struct script_chain* chain, u64 frame, u64 address) {
  enum { word = sizeof(u64), last = script_window_bytes - word };
  const u64 unreadable = ~0ULL;
  if (!chain || !is_script_pointer(address)) return unreadable;
  u64 within = address - chain->values_at;
  if (within > last) {
    chain->values_at = ruby_nowhere;
    if (address - chain->stack >= frame - chain->stack)
      return SCRIPT_READ(chain->values, word, address) ? unreadable : *(const u64*)chain->values;
    // Within one page, which is there if the flags are.
    within = address & 4095;
    if (within > last) within = last;
    if (SCRIPT_READ(chain->values, script_window_bytes, address - within)) return unreadable;
    chain->values_at = address - within;
  }
  return *(const u64*)(chain->values + (within & last));
}

// Reads what the object of a function's code points to, which unlike it stays where it is. Returns
// 0 if that cannot be right.
SCRIPT_FUNCTION u64 read_ruby_body(struct script_chain* chain, u64 code) {
  if (!chain) return 0;
  u64* words = (u64*)(chain->memory + script_window_bytes);
  u64 of = script_memo_key(code, memo_code);
  struct script_memo* memo = script_memo_at(&chain->memos, of);
  if (is_script_memo(&chain->memos, memo, of)) return memo->value[0];
  if (!is_script_pointer(code) || SCRIPT_READ(words, sizeof(*words), code + ruby_code_body) ||
      !is_script_pointer(words[0]))
    return 0;
  begin_script_memo(&chain->memos, memo, of);
  memo->value[0] = words[0];
  return words[0];
}

// The same by the instruction `pc`, which is a part of what is pointed to, and so of nothing else
// until that is freed, whereas the object can move.
static inline u64 ruby_body_of(struct script_chain* chain, u64 code, u64 pc) {
  u64 of = script_memo_key(pc, memo_instruction);
  struct script_memo* memo = script_memo_at(&chain->memos, of);
  if (is_script_memo(&chain->memos, memo, of)) return memo->value[0];
  u64 body = read_ruby_body(chain, code);
  asm volatile("" : "+r"(pc));  // or the compiler keeps the memo on the stack until here
  of = script_memo_key(pc, memo_instruction);
  memo = script_memo_at(&chain->memos, of);
  if (!body) return 0;
  keep_script_memo(&chain->memos, memo, of);
  memo->value[0] = body;
  return body;
}

static inline int drop_ruby(struct script_chain* chain) {
  chain->count = 0;
  return end_script(chain, script_unreadable);
}

// All frames were met: is there as many loops, and no function without one?
static inline int end_ruby(struct script_chain* chain) {
  if (chain->record || chain->held) return drop_ruby(chain);
  if (chain->run < max_script_items) chain->count = chain->run;  // the last one, still empty
  return end_script(chain, chain->run < max_script_items ? script_whole : script_too_long);
}

// Takes the frame that is next in the chain. A function of its own, so that the verifier looks at
// one frame only, and not at the ways through all frames of a turn. Returns an enum ruby_frame.
enum ruby_frame { ruby_frame_unreadable, ruby_frame_taken, ruby_run_ends };
SCRIPT_FUNCTION int take_ruby_frame(struct script_chain* chain, u64 frame_bytes) {
  if (!chain) return ruby_frame_unreadable;
  u64 frame = chain->frame;
  u32 at = ruby_frame_at(chain, frame);
  asm volatile("" : "+r"(at));  // or the compiler leaves out the check, which the verifier needs
  if (at > script_window_bytes) return ruby_frame_unreadable;
  const u8* memory = chain->memory + at;
  u64 pc = *(const u64*)(memory + ruby_frame_pc);
  u64 code = *(const u64*)(memory + ruby_frame_code);
  u64 flags = read_ruby_flags(chain, frame, *(const u64*)(memory + ruby_frame_flags));
  if (flags == ~0ULL) return ruby_frame_unreadable;
  chain->frame = frame + frame_bytes;
  // The frames of native functions, that of a file with such functions while it is loaded, and
  // the outermost one, which runs nothing.
  if (flags & ruby_flag_native || !pc || !code || (flags & ruby_kind_mask) == ruby_kind_outermost)
    return ruby_frame_taken;
  u64 body = ruby_body_of(chain, code, pc);
  if (!body) return ruby_frame_unreadable;
  chain->held = 1;
  int result = flags & ruby_flag_loop ? ruby_run_ends : ruby_frame_taken;
  u32 place = chain->count;
  if (place >= max_script_items) return result;
  chain->count = place + 1;
  asm volatile("" : "+r"(place));  // or the compiler leaves out the mask, which Linux 6.1 needs
  chain->items[place & (max_script_items - 1)] =
      script_word(language_ruby, body, pc >> 3 & script_no_place);
  return result;
}

// Takes the next functions of the chain, of one run at most. What does not fit is still counted, to
// tell whether the frames and the tags belong together. Returns 0, with `end` set, at its end.
static inline int take_ruby_frames(struct script_chain* chain, const struct ruby_layout* layout) {
  if (!chain->record && chain->below) {
    if (!find_ruby_tag(chain, layout)) return drop_ruby(chain);
    if (!chain->record && chain->below) return 1;
  }
  int taken = ruby_frame_taken;
  for (int i = 0; i < ruby_frames_a_turn && taken == ruby_frame_taken; ++i) {
    if (chain->frame >= chain->state) return end_ruby(chain);
    taken = take_ruby_frame(chain, layout->frame_bytes);
  }
  if (taken == ruby_frame_taken) return 1;
  if (taken != ruby_run_ends || !chain->record) return drop_ruby(chain);
  if (chain->run < max_script_items) close_script_run(chain, chain->record);
  chain->record = 0;
  chain->held = 0;
  chain->run = chain->count;  // max_script_items if there is no room
  if (chain->run < max_script_items) {
    chain->items[chain->run & (max_script_items - 1)] = 0;
    ++chain->count;
  }
  return 1;
}

// Begins with the state of a thread or a fiber. `guard`: glibc's, of saved places. Returns 0 if it
// runs nothing.
static inline int begin_ruby(struct script_chain* chain, const struct ruby_layout* layout, u64 base,
                             u64 state, u64 guard) {
  u64* words = (u64*)(chain->memory + script_window_bytes);
  chain->record = 0;
  chain->held = 0;
  ++chain->memos.stack;
  chain->values_at = ruby_nowhere;
  chain->anchor = guard;
  chain->base = base;
  chain->core_begin = base + layout->core_begin;
  chain->core_bytes = layout->core_end - layout->core_begin;
  if (!is_script_pointer(state)) return end_script(chain, state ? script_unreadable : script_none);
  if (SCRIPT_READ(words, ruby_state_bytes, state)) return end_script(chain, script_unreadable);
  u64 stack = words[0], size = words[1], frame = words[2], tag = words[3];
  chain->stack = stack;
  chain->state = stack + 8 * size;
  chain->frame = frame;
  chain->below = tag;
  if (!frame || !stack) return end_script(chain, script_none);  // it has not begun yet
  if (!is_script_pointer(stack) || size >> 32 || !is_script_pointer(frame) || frame < stack ||
      frame >= chain->state)
    return end_script(chain, script_unreadable);
  return open_script_run(chain);
}

// The text of a string.
ALWAYS_INLINE int read_ruby_text(const struct ruby_layout* layout, u64 object, u64* words,
                                 struct script_text* text, u8* to, u32 most) {
  text->bytes = 0;
  text->form = 0;
  if (!is_script_pointer(object) || SCRIPT_READ(words, 32, object)) return 0;
  u64 flags = words[0], bytes = words[2], from = words[3];
  if ((flags & ruby_type_mask) != ruby_type_string) return 0;
  if (!(flags & ruby_string_outside)) {
    from = object + (layout->text_has_length ? 24 : 16);
    if (!layout->text_has_length) bytes = flags >> 14 & 31;
  }
  if (bytes > most) bytes = most;
  text->bytes = (u32)bytes;
  text->form = 1;
  asm volatile("" : "+r"(bytes));
  if (bytes > most) return 0;
  return !bytes || !SCRIPT_READ(to, (u32)bytes, from);
}

static inline u32 ruby_index_bytes(u32 size) {
  if (size < ruby_index_first) return (size + 8) / ruby_index_word * 8;
  return ruby_index_first / ruby_index_word * 8 + (size - ruby_index_first + ruby_index_block - 1) /
                                                      ruby_index_block * ruby_index_block_bytes;
}

// Reads the name, the file and the tables of lines of a function's code. Returns 0 if they cannot
// be read.
static inline int read_ruby_code(const struct ruby_layout* layout, u64 body,
                                 struct script_code_record* record) {
  u64* words = record->work;
  struct ruby_lines_head* head = (struct ruby_lines_head*)record->lines;
  record->line_bytes = 0;
  record->first_line = 0;
  if (SCRIPT_READ(words, 16, body)) return 0;
  u32 size = (u32)(words[0] >> 32);
  head->instructions = (u32)(words[1] >> 3) & script_no_place;
  head->size = size;
  head->index_bytes = head->entries = 0;
  record->line_bytes = sizeof(*head);
  if (SCRIPT_READ(words, 8, body + ruby_body_first_line)) return 0;
  record->first_line = (u32)(layout->first_line_is_object ? words[0] >> 1 : words[0]);
  if (SCRIPT_READ(words, 8, body + ruby_body_name) ||
      !read_ruby_text(layout, words[0], words, &record->name, record->name_text, max_script_name))
    return 0;
  // The file is a string, or an array of its path as it was given and the real one.
  if (SCRIPT_READ(words + 4, 8, body + ruby_body_file) || !is_script_pointer(words[4]) ||
      SCRIPT_READ(words, 8, words[4]))
    return 0;
  u64 flags = words[0];
  if ((flags & ruby_type_mask) == ruby_type_array) {
    words[5] = words[4] + ruby_array_items;
    if (!(flags & ruby_array_inside) && SCRIPT_READ(words + 5, 8, words[4] + ruby_array_outside))
      return 0;
    if (SCRIPT_READ(words + 4, 8, words[5])) return 0;
  }
  if (!read_ruby_text(layout, words[4], words, &record->file, record->file_text, max_script_file))
    return 0;
  if (SCRIPT_READ(words, ruby_lines_bytes, body + layout->body_lines)) return 1;
  u64 entries = words[0], index = words[3];
  u32 number = (u32)words[2];
  u64 index_bytes = number > 1 ? ruby_index_bytes(size) : 0;
  u64 bytes = (u64)number * ruby_line_bytes;
  if (!bytes || bytes > ruby_most_entries || index_bytes > ruby_most_index || size >> 20) return 1;
  asm volatile("" : "+r"(index_bytes));  // the masks are for the verifier
  index_bytes &= ruby_most_index;
  if (index_bytes && SCRIPT_READ(record->lines + sizeof(*head), (u32)index_bytes, index)) return 1;
  asm volatile("" : "+r"(bytes));
  bytes &= ruby_most_entries;
  asm volatile("" : "+r"(index_bytes));
  index_bytes &= ruby_most_index;
  if (SCRIPT_READ(record->lines + sizeof(*head) + index_bytes, (u32)bytes, entries)) return 1;
  head->index_bytes = (u32)index_bytes;
  head->entries = number;
  record->line_bytes = (u32)(sizeof(*head) + index_bytes + bytes);
  return 1;
}
