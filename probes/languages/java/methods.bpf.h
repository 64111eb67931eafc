// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Methods of Java: what tells them apart, their names and their lines.
#pragma once

#include "machine.bpf.h"

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
