// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where V8 keeps what is read of it. Plain C.
//
// Only what differs between the versions that are known is a variable. The rest are the offsets
// that 10.2, 11.3 and 12.4 share (nodes 18, 20 and 22); program.cc compares them with the symbols
// that a program has for debuggers.
#pragma once

#include "../../bpf/types.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

enum {
  // From the frame pointer of V8's code: a function's context, or a small number that tells what
  // else the frame is; and the function.
  v8_frame_context = 8,
  v8_frame_function = 16,
  // In frames that the interpreter or the baseline compiler made: the bytecode; and, only in the
  // interpreter's, where in it the function is.
  v8_frame_bytecode = 32,
  v8_frame_offset = 40,
  v8_least_offset = 53,  // bytecode begins there, or behind
  // JSFunction: its information and its code are among these.
  v8_function_fields = 24,
  v8_function_bytes = 32,
  // The type of an object is in its map, which is its first word.
  v8_map_type = 12,
  // SharedFunctionInfo: what is known of a function beside its code.
  v8_info_data = 8,     // its bytecode, or code that has it
  v8_info_name = 16,    // its name, or its scope
  v8_info_script = 32,  // or nothing
  v8_info_flags = 48,
  v8_info_number = 52,  // of the function in its script (function_literal_id)
  v8_info_bytes = 56,
  v8_script_source = 8,
  v8_script_name = 16,
  v8_script_line_offset = 24,
  v8_script_line_ends = 56,
  v8_script_number = 64,
  v8_script_bytes = 72,
  v8_array_length = 8,
  v8_array_items = 16,
  // ScopeInfo. Which of the fields behind its head it has, is in its flags.
  v8_scope_flags = 8,
  v8_scope_locals = 24,
  v8_scope_fields = 32,
  v8_most_inlined_locals = 75,  // the names of more are in a table
  v8_string_length = 12,
  v8_string_text = 16,
  v8_string_other = 16,  // the string that it stands for or is a part of
  v8_string_data = 24,   // outside of the heap; or where in the other it begins
};

// The script of the function before: most functions that call each other are of one script. Nothing
// moves while the thread is in a probe.
struct v8_last_script {
  u64 object;  // 0 = none
  u64 hash;    // v8_script_hash()
};

struct v8_layout {
  u16 version;                       // 0x0b03 = 11.3
  u16 function_info, function_code;  // in JSFunction
  // Types of objects.
  u16 info_type, script_type, scope_type, array_type;
  u16 code_type, bytecode_type;
  u16 bytes_type, table_type;    // of an array of bytes, and of a table of positions
  u16 deopt_type, literal_type;  // of what code has for deoptimization, and of its literals
  u16 pad[3];
  // The maps of the types that each frame needs, once one has been seen; 0 = not yet.
  u64 info_map, script_map, bytecode_map;
  // Where frames of the interpreter return to: two that have been seen. The same.
  u64 returns[2];
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
