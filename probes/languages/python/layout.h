// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where a version of CPython keeps what is read of it: offsets in bytes. Plain C.
#pragma once

#include "../../bpf/types.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

// How the state of a thread is found.
enum python_state_by {
  python_by_key,     // by a key among what is the thread's own: interpreter.key_at has it
  python_by_offset,  // 3.15 on, in a program: a variable of the thread, at an offset from fs
  python_by_block,   // and in a library: in its block of such variables, whose number is at key_at
};

struct python_layout {
  u16 innermost;  // in a thread's state: the innermost function's frame, or the record that has it
  // 3.11, 3.12: a record (_PyCFrame) on the C stack for each loop of the interpreter.
  u16 has_record;
  u16 record_frame, record_previous;
  // A function's frame (_PyInterpreterFrame).
  u16 frame_code, frame_previous, frame_instruction, frame_owner;
  u16 frame_is_entry;  // 3.11: whether a loop began with this function
  u16 entry_owner;     // 3.12 on: the owner of the frame on the C stack that a loop begins with
  // A function's code (PyCodeObject).
  u16 code_first_line, code_file, code_name, code_lines, code_instructions;
  u16 bytes_size, bytes_text;  // PyBytesObject
  u16 text_length, text_state, text_ascii,
      text_any;      // of str: PyASCIIObject, PyCompactUnicodeObject
  u16 state_by;      // enum python_state_by
  s32 state_offset;  // from fs, or in the block
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
