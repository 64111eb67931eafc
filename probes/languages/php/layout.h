// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where PHP 8.1 to 8.4 without thread safety keep what is read of them: offsets in bytes. Plain C.
#pragma once

#include "../../bpf/types.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

enum {
  // The globals of the executor (zend_executor_globals).
  php_globals_frame = 0x1e8,  // current_execute_data
  // What runs (zend_execute_data).
  php_frame_instruction = 0,
  php_frame_function = 24,
  php_frame_object = 32,
  php_frame_flags = 40,
  php_frame_previous = 48,
  php_flag_loop = 1 << 17,       // a native loop began with it (ZEND_CALL_TOP)
  php_flag_generator = 1 << 24,  // its frame lies by itself
  // A function (zend_function). What follows the head is there in functions of PHP only.
  php_function_name = 8,
  php_function_class = 16,
  php_function_head_bytes = 96,
  php_function_place_bytes = 16,  // file, first and last line
  php_function_bytes = 184,       // up to these, in the version that has them last
  php_function_words = 32,        // no fewer, and a power of two
  php_kind_native = 1,
  php_kind_function = 2,
  php_kind_evaluated = 4,
  // In the upper half of a function's first word: it is a copy for a closure, or made for one call.
  php_function_passing = 1 << 22 | 1 << 18,
  // A generator (zend_generator): its frame, and the one that it waits for (yield from).
  php_generator_frame = 0x38,
  php_generator_inner = 0x98,
  // An instruction (zend_op).
  php_instruction_line = 24,
  php_instruction_code = 28,
  php_code_exception = 149,  // ZEND_HANDLE_EXCEPTION, which has no line
  // A class, a string: the hash of its content or 0, the length, the characters.
  php_class_name = 8,
  php_text_hash = 8,
  php_text_length = 16,
  php_text_chars = 24,
  php_text_head_bytes = 32,  // no string has less memory
};

// What differs between versions.
struct php_offsets {
  u32 globals_bytes;
  u32 globals_exception;  // opline_before_exception
  u32 function_handler;   // in native functions
  u32 function_file;      // the lines follow it
};
static const struct php_offsets php_8_1 = {0x6d8, 0x370, 56, 0x90};
static const struct php_offsets php_8_2 = {0x708, 0x370, 72, 0x98};
static const struct php_offsets php_8_3 = {0x700, 0x370, 72, 0x90};
static const struct php_offsets php_8_4 = {0x7c0, 0x3b8, 88, 0xa8};

struct php_layout {
  struct php_offsets offsets;
  u64 loop_begin, loop_end;  // code of the interpreter's loop (execute_ex)
  u64 cold_begin, cold_end;  // code that the compiler has split off; 0 = none
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
