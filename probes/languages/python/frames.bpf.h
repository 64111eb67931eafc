// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Reads which Python functions a thread runs, from CPython 3.11 to 3.15. Plain C that only reads:
// BPF programs read live memory with it, tests copied and hostile one.
//
// Since 3.11 one C function, the interpreter's loop, runs many Python functions: a call from Python
// to Python needs no C frame. What tells which loop runs which functions is on the C stack itself:
// each loop has a record there (3.11: _PyCFrame; 3.12 on: a frame whose owner says so). So
// the native frame of a loop is the one that holds the address of its record, whatever the loop's
// code is called and wherever it lies. A record without a frame is the base of a greenlet, where
// the Python stack ends. Source: CPython's Include/internal/pycore_frame.h and Python/ceval.c.
//
// Define before you include it: SCRIPT_READ(to, size, address) copies target memory, and returns 0
// if all of it could be read.
#pragma once

#include "../script.h"

static inline int is_script_pointer(u64 address) {
  return address && !(address & 7) && !(address >> 47);
}

static inline int end_script(struct script_chain* chain, enum script_end end) {
  chain->end = end;
  return 0;
}

// Begins a run behind the items.
static inline int open_script_run(struct script_chain* chain) {
  u32 at = chain->count;
  if (at >= max_script_items) return end_script(chain, script_too_long);
  chain->items[at & (max_script_items - 1)] = 0;
  chain->run = at;
  chain->count = at + 1;
  return 1;
}

static inline void close_script_run(struct script_chain* chain, u64 address) {
  chain->items[chain->run & (max_script_items - 1)] = address;
}

// The offset in `memory` of a function's frame. A thread's frames mostly lie one behind the other,
// callers below, so one read of a KiB has many of them; others, of generators and on the C stack,
// are read by themselves.
enum { script_frame_unread = 1 << 16 };
static inline u32 script_frame_at(struct script_chain* chain, u64 frame, u64 anchor) {
  u64 at = frame - chain->window_at;
  if (at < script_window_bytes && at + script_frame_bytes <= chain->filled) return (u32)at;
  u64 beside = anchor - frame;
  u32 below = frame & 4095, most = script_window_bytes - script_frame_bytes;
  if (anchor && beside < 16384 && below <= 4096 - script_frame_bytes) {
    // Within one page, which is there if the frame is.
    u64 begin = frame - (below < most ? below : most);
    chain->filled = 0;
    if (!SCRIPT_READ(chain->memory, script_window_bytes, begin)) {
      chain->window_at = begin;
      chain->filled = script_window_bytes;
      return (u32)(frame - begin);
    }
  }
  if (SCRIPT_READ(chain->memory + script_window_bytes, script_frame_bytes, frame))
    return script_frame_unread;
  return script_window_bytes;
}

enum { python_state_bytes = 360 };  // of 3.11, the largest; its record is at the end

// Reads a loop's record, which has the function that runs there and the record of the loop below.
// Returns 0 if that is the end.
static inline int read_python_record(struct script_chain* chain, u64 record,
                                     const struct python_layout* layout) {
  u64 words[2] = {};  // the frame, and behind it the record below
  chain->record = record;
  // The outermost record is in the thread's state, and has no function.
  if (!record || record - chain->state < python_state_bytes) return end_script(chain, script_whole);
  if (!is_script_pointer(record) ||
      SCRIPT_READ(words, sizeof(words), record + layout->record_frame))
    return end_script(chain, script_unreadable);
  chain->frame = words[0];
  chain->below = words[1];
  return words[0] ? open_script_run(chain) : end_script(chain, script_whole);
}

// Takes the next functions of the chain, of one run at most. Returns 0, with `end` set, when there
// are none left.
enum { python_frames_a_turn = 4 };  // each is verified by itself
static inline int take_python_frames(struct script_chain* chain,
                                     const struct python_layout* layout) {
  u64 frame = chain->frame, anchor = chain->anchor;
  u32 count = chain->count;
  enum script_end end = script_none;
  int run_ends = 0;
  for (int i = 0; i < python_frames_a_turn && !run_ends; ++i) {
    u32 at = script_frame_unread;
    if (is_script_pointer(frame)) at = script_frame_at(chain, frame, anchor);
    asm volatile("" : "+r"(at));  // or the compiler leaves out the check, which the verifier needs
    if (at > script_window_bytes) {
      end = script_unreadable;
      break;
    }
    const u8* memory = chain->memory + at;
    // Since 3.14 the lowest two bits of a reference say whether it is counted.
    u64 code = *(const u64*)(memory + (layout->frame_code & 127)) & ~3ULL;
    u64 instruction = *(const u64*)(memory + (layout->frame_instruction & 127));
    u8 owner = memory[layout->frame_owner & 127];
    u64 own = frame;
    frame = *(const u64*)(memory + (layout->frame_previous & 127));
    if (layout->entry_owner) {
      if (owner == layout->entry_owner) {
        chain->record = own;
        chain->below = frame;
        run_ends = 1;
        continue;
      }
    } else {
      run_ends = memory[layout->frame_is_entry & 127];
    }
    if (!owner) anchor = own;
    if (count >= max_script_items) {
      end = script_too_long;
      break;
    }
    if (!is_script_pointer(code)) {
      end = script_unreadable;
      break;
    }
    u64 place = (instruction - (code + layout->code_instructions)) / 2;
    u32 item = count;
    asm volatile("" : "+r"(item));  // or the compiler leaves out the mask, which Linux 6.1 needs
    chain->items[item & (max_script_items - 1)] = script_word(language_python, code, place);
    ++count;
  }
  chain->frame = frame;
  chain->anchor = anchor;
  chain->count = count;
  if (end != script_none) return end_script(chain, end);
  if (!run_ends) return 1;
  close_script_run(chain, chain->record);
  if (!layout->entry_owner) return read_python_record(chain, chain->below, layout);
  if (chain->frame) return open_script_run(chain);
  // Since 3.15 a frame of the thread itself is below all loops.
  if (chain->count == chain->run + 1) chain->count = chain->run;
  return end_script(chain, script_whole);
}

// Finds the innermost function of the thread with this state. Returns 0 if there is none.
static inline int begin_python(struct script_chain* chain, const struct python_layout* layout,
                               u64 state) {
  u64 innermost = 0;
  chain->state = state;
  if (!is_script_pointer(state)) return end_script(chain, state ? script_unreadable : script_none);
  if (SCRIPT_READ(&innermost, sizeof(innermost), state + layout->innermost))
    return end_script(chain, script_unreadable);
  if (layout->has_record) {
    int begun = read_python_record(chain, innermost, layout);
    if (!begun && chain->end == script_whole) chain->end = script_none;
    chain->anchor = chain->frame;
    return begun;
  }
  chain->frame = innermost;
  chain->anchor = innermost;
  return innermost ? open_script_run(chain) : end_script(chain, script_none);
}

// Reads a str. Its characters lie behind its head, and are as long as its kind says.
ALWAYS_INLINE int read_python_text(const struct python_layout* layout, u64 object, u64* length,
                                   struct script_text* text, u8* to, u32 most) {
  text->bytes = 0;
  text->form = 0;
  if (!is_script_pointer(object) ||
      SCRIPT_READ(length, sizeof(*length), object + layout->text_length) ||
      SCRIPT_READ(&text->form, sizeof(text->form), object + layout->text_state))
    return 0;
  u32 form = text->form, kind = form >> 2 & 7;
  if (!(form >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4)) return 0;
  u64 bytes = *length < most ? *length * kind : most;
  u64 from = object + (form >> 6 & 1 ? layout->text_ascii : layout->text_any);
  if (bytes > most) bytes = most;
  text->bytes = (u32)bytes;
  asm volatile("" : "+r"(bytes));
  if (bytes > most) return 0;
  return !bytes || !SCRIPT_READ(to, (u32)bytes, from);
}

// Reads the name, the file and the table of lines of a function's code. Returns 0 if they cannot be
// read.
static inline int read_python_code(const struct python_layout* layout, u64 code,
                                   struct script_code_record* record) {
  u64 *name = &record->work[0], *file = &record->work[1], *lines = &record->work[2];
  u64* size = &record->work[3];
  record->line_bytes = 0;
  if (SCRIPT_READ(&record->first_line, 4, code + layout->code_first_line) ||
      SCRIPT_READ(name, sizeof(*name), code + layout->code_name) ||
      SCRIPT_READ(file, sizeof(*file), code + layout->code_file) ||
      SCRIPT_READ(lines, sizeof(*lines), code + layout->code_lines))
    return 0;
  if (!read_python_text(layout, *name, size, &record->name, record->name_text, max_script_name) ||
      !read_python_text(layout, *file, size, &record->file, record->file_text, max_script_file))
    return 0;
  if (!is_script_pointer(*lines) || SCRIPT_READ(size, sizeof(*size), *lines + layout->bytes_size))
    return 1;
  u64 bytes = *size;
  if (!bytes || bytes >= max_script_lines) return 1;
  asm volatile("" : "+r"(bytes));  // the mask is for the verifier, which forgets what was compared
  if (SCRIPT_READ(record->lines, bytes & (max_script_lines - 1), *lines + layout->bytes_text))
    return 1;
  record->line_bytes = (u32)bytes;
  return 1;
}
