// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where a version of Ruby keeps what is read of it: offsets in bytes. Plain C.
//
// Only what differs between the versions that are known is a variable.
#pragma once

#include "../../bpf/types.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

enum {
  // The state of a thread or a fiber (rb_execution_context_t).
  ruby_state_stack = 0,  // its stack, that stack's size in words, the innermost frame, the tag
  ruby_state_bytes = 32,
  // A control frame (rb_control_frame_t). Callers lie above.
  ruby_frame_pc = 0,
  ruby_frame_code = 16,     // rb_iseq_t, or what a native function left there
  ruby_frame_flags = 32,    // address of the flags
  ruby_frame_bytes = 40,    // as much as is looked at
  ruby_flag_loop = 0x20,    // a native loop began with this frame (FINISH)
  ruby_flag_native = 0x80,  // of a native function (CFRAME)
  ruby_kind_mask = 0x7fff0001,
  ruby_kind_outermost = 0x79990001,
  // A tag, which is on the C stack of a function that catches (struct rb_vm_tag): where the
  // function goes on.
  ruby_tag_begin = 0x18,
  ruby_tag_bytes = 0xe0 - ruby_tag_begin,
  // A function's code (rb_iseq_t, rb_iseq_constant_body).
  ruby_code_body = 16,
  ruby_body_size = 4,  // of the instructions, in words
  ruby_body_instructions = 8,
  ruby_body_file = 64,
  ruby_body_name = 80,
  ruby_body_first_line = 88,
  ruby_body_head_bytes = 96,
  // From body_lines: entries, positions, number of entries, index of positions.
  ruby_lines_bytes = 32,
  ruby_line_bytes = 12,
  // Objects: flags, class, then the content. Flags: the type, and whether the content is outside.
  ruby_type_mask = 0x1f,
  ruby_type_string = 5,
  ruby_type_array = 7,
  ruby_string_outside = 1 << 13,
  ruby_array_inside = 1 << 13,
  ruby_array_items = 16,
  ruby_array_outside = 32,
};

// Which positions in the code have an entry of their own: an index of bits. Up to here it is in
// words of nine positions, behind that in blocks of 512.
enum {
  ruby_index_first = 54,
  ruby_index_word = 9,
  ruby_index_block = 512,
  ruby_index_block_bytes = 80,
  ruby_most_index = 8191,  // bytes
  ruby_most_entries = 16383,
};

// What is before the index and the entries in the table of lines that is sent.
struct ruby_lines_head {
  u32 instructions;  // their address in words: the lowest bits of what words of stacks have
  u32 size;          // in words
  u32 index_bytes;
  u32 entries;  // their number
};

struct ruby_layout {
  u64 loop_begin, loop_end;  // code of the function that catches around the interpreter's loop
  u64 core_begin, core_end;  // code of the loop itself, which that function calls
  u16 frame_bytes;           // from a control frame to its caller's
  u16 tag_previous, tag_place, tag_is_guarded;  // in a tag: is the place mangled by glibc's setjmp?
  u16 body_lines;
  u16 text_has_length;       // the length is a word of each string; else in the flags of short ones
  u16 first_line_is_object;  // and so has a bit of its own
  u16 pad;
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
