// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Reads which JavaScript function runs in a frame of V8's code, and what it is called. Plain C that
// only reads: BPF programs read live memory with it, tests copied and hostile one.
//
// All code that V8 makes keeps the frame pointer, and below it the function, whichever compiler
// made it. The garbage collector moves functions, so none is known by its address: its script has a
// number that is never used again, and the function has one in the script. While the collector
// works, a moved object has its new address in the place of its map. Sources: V8's
// src/execution/frame-constants.h and src/objects/{shared-function-info,scope-info,script}.tq.
//
// Define before you include it: SCRIPT_READ(to, size, address) copies target memory, and returns 0
// if all of it could be read; SCRIPT_LOOP(turns, function, context) calls function(turn, context)
// that often, or until it returns 1. SCRIPT_FUNCTION begins functions that BPF programs verify by
// themselves.
#pragma once

#include "text.bpf.h"

enum v8_frame { v8_other_frame, v8_function_frame, v8_unreadable_frame };

// Words of memory that read_v8_frame() has for itself; before, the caller puts those of the frame
// there.
enum {
  v8_memory_function = 12,
  v8_memory_offset = 16,  // what the frame has from there on: the bytecode,
  v8_memory_frame = 19,   // and, behind another word, the function and the context
  v8_memory_words = 21,
  v8_frame_words = v8_memory_words - v8_memory_offset,
};

// Frames of the interpreter return to one of a few places in V8's own code, whose end is not far.
enum { v8_own_code_bytes = 4 << 20 };
static inline int is_near_v8(u64 pc, u64 known) {
  return pc - known + v8_own_code_bytes / 2 < v8_own_code_bytes;
}

// Whether the frame of a function with this `data` is one of the interpreter: then its words are
// its bytecode, and a number behind what comes before the bytecode. Other frames may have anything
// there, so that a read is saved where it can be.
static __attribute__((noinline)) int is_v8_bytecode(struct v8_layout* layout, u64 pc, u64* memory,
                                                    u64 data) {
  u64 bytecode = memory[v8_memory_offset + 1], offset = memory[v8_memory_offset];
  if (!is_v8_number(offset) || offset >> 62 || offset >> 32 < v8_least_offset) return 0;
  if (!is_v8_object(bytecode)) return 0;
  int is_near = is_near_v8(pc, layout->returns[0]) || is_near_v8(pc, layout->returns[1]);
  if (bytecode != data) {
    if (layout->returns[0] && !is_near) return 0;
    if (SCRIPT_READ(memory, sizeof(*memory), bytecode - 1)) return 0;
    if (!is_v8_map(memory[0], layout->bytecode_type, &layout->bytecode_map)) return 0;
  }
  // A frame that was entered in a loop has these words from before, but other code.
  if (!is_near) layout->returns[layout->returns[0] ? 1 : 0] = pc;
  return 1;
}

// What is known of a function that calls from a place. A key of 0: it is not one of a script.
enum v8_memo {
  v8_memo_info,
  v8_memo_key,
  v8_memo_code,
  v8_memo_data,
  v8_memo_pc,
  v8_memo_thread,  // which has objects of its own
};

// Reads the object of a function, of which `memory` is to have its information, and stores where
// that is. Returns v8_function_frame if it has one.
static inline enum v8_frame read_v8_function(struct v8_layout* layout, u64 function, u64* memory,
                                             struct script_memo* memo) {
  memo->of = 0;
  if (SCRIPT_READ(memory + v8_memory_function, v8_function_bytes,
                  function - 1 + v8_function_fields))
    return v8_unreadable_frame;
  u32 info_at = (u32)(layout->function_info - v8_function_fields) / 8 & 3;
  u32 code_at = (u32)(layout->function_code - v8_function_fields) / 8 & 3;
  u64 info = memory[v8_memory_function + info_at];
  memo->value[v8_memo_code] = memory[v8_memory_function + code_at];
  memo->value[v8_memo_info] = info;
  if (!is_v8_object(info)) return v8_other_frame;
  if (SCRIPT_READ(memory, v8_info_bytes, info - 1)) return v8_unreadable_frame;
  u64 moved = moved_v8_object(info, memory[0]);
  if (moved != info) {
    memo->value[v8_memo_info] = moved;
    if (SCRIPT_READ(memory, v8_info_bytes, moved - 1)) return v8_unreadable_frame;
  }
  memo->value[v8_memo_data] = memory[v8_info_data / 8];
  return is_v8_map(memory[0], layout->info_type, &layout->info_map) ? v8_function_frame
                                                                    : v8_other_frame;
}

// The same for the key of a function, whose information is in `memory`.
static inline enum v8_frame read_v8_key(struct v8_layout* layout, u32 thread, u64* memory,
                                        struct v8_last_script* last, u64* key) {
  u64 script = memory[v8_info_script / 8];
  u64 number = (u32)(memory[v8_info_number / 8] >> 32);
  if (!is_v8_object(script)) return v8_other_frame;
  if (script != last->object) {
    if (SCRIPT_READ(memory, v8_script_bytes, script - 1)) return v8_unreadable_frame;
    u64 moved = moved_v8_object(script, memory[0]);
    if (moved != script && SCRIPT_READ(memory, v8_script_bytes, moved - 1))
      return v8_unreadable_frame;
    // Functions that are a part of V8 have no script.
    if (!is_v8_map(memory[0], layout->script_type, &layout->script_map)) return v8_other_frame;
    last->object = script;
    u64 of_script = memory[v8_script_number / 8];
    last->hash = is_v8_number(of_script) ? v8_script_hash(thread, of_script >> 32) : 0;
  }
  *key = v8_key_in(last->hash, number);
  return *key ? v8_function_frame : v8_unreadable_frame;
}

// What runs in a frame: the function's information and its key, and where it calls, which may be
// nowhere. `pc`: the return address, or 0. `last` and `memos`: of this walk.
ALWAYS_INLINE enum v8_frame read_v8_frame(struct v8_layout* layout, u64 pc, u32 thread, u64* memory,
                                          struct v8_last_script* last, struct script_memos* memos,
                                          u64* info, u64* key, struct v8_site* site) {
  u64 function = memory[v8_memory_frame];
  if (!is_v8_object(memory[v8_memory_frame + 1]) || !is_v8_object(function)) return v8_other_frame;
  u64 of = script_memo_key(function, memo_function);
  struct script_memo* memo = script_memo_at(memos, of ^ pc);
  if (!is_script_memo(memos, memo, of) || memo->value[v8_memo_pc] != pc ||
      memo->value[v8_memo_thread] != thread) {
    enum v8_frame found = read_v8_function(layout, function, memory, memo);
    memo->value[v8_memo_key] = 0;
    if (found == v8_function_frame)
      found = read_v8_key(layout, thread, memory, last, &memo->value[v8_memo_key]);
    if (found == v8_unreadable_frame) return found;
    keep_script_memo(memos, memo, of);
    memo->value[v8_memo_pc] = pc;
    memo->value[v8_memo_thread] = thread;
  }
  *info = memo->value[v8_memo_info];
  *key = memo->value[v8_memo_key];
  if (!*key) return v8_other_frame;
  site->pc = pc;
  site->code = memo->value[v8_memo_code];
  site->offset = v8_no_offset;
  if (pc && is_v8_bytecode(layout, pc, memory, memo->value[v8_memo_data]))
    site->offset = (u32)(memory[v8_memory_offset] >> 32);
  return v8_function_frame;
}

// The name and the position in ScopeInfo, or what there is of them.
struct v8_scope {
  u64 name, inferred_name, position;
  u32 has_position, pad;
};
// Returns 0 if they cannot be read.
SCRIPT_FUNCTION int read_v8_scope(u64 object, struct v8_scope* scope) {
  enum { kind_mask = 15, eval_scope = 1, function_scope, module_scope, script_scope };
  enum { class_variable = 1 << 10, function_variable = 3 << 12, inferred_name = 1 << 14 };
  u64 flags = 0, locals = 0;
  if (!scope) return 0;
  if (read_v8_word(&flags, object, v8_scope_flags) ||
      read_v8_word(&locals, object, v8_scope_locals) || !is_v8_number(locals) || locals >> 60)
    return 0;
  flags >>= 32;
  locals >>= 32;
  u64 at = v8_scope_fields + 8 * locals;
  at += 8 * (locals < v8_most_inlined_locals ? locals : 1);
  u32 kind = flags & kind_mask;
  if (kind == module_scope) at += 8;  // number of variables
  if (flags & class_variable) at += 8;
  if (flags & function_variable) {
    if (read_v8_word(&scope->name, object, at)) return 0;
    at += 16;
  }
  if (flags & inferred_name) {
    if (read_v8_word(&scope->inferred_name, object, at)) return 0;
    at += 8;
  }
  if (kind < eval_scope || kind > script_scope) return 1;
  u64 position = 0;
  if (read_v8_word(&position, object, at) || !is_v8_number(position) || position >> 62) return 1;
  scope->position = position >> 32;
  scope->has_position = 1;
  return 1;
}

// What is read of a function before its texts. It lies in the record, as programs have little room.
struct v8_function {
  u64 name, script, file, table, source, offset, map;
  struct v8_scope scope;
  struct v8_text text;
  struct v8_counting counting;
};

// Reads the name, the script and the first line of a function. Returns 0 if they cannot be read.
static inline int read_v8_code(const struct v8_layout* layout, u64 info,
                               struct script_code_record* record) {
  struct v8_function* read = (struct v8_function*)record->lines;
  __builtin_memset(read, 0, __builtin_offsetof(struct v8_function, counting));
  record->line_bytes = 0;
  record->first_line = 0;
  if (read_v8_word(&read->name, info, v8_info_name) ||
      read_v8_word(&read->script, info, v8_info_script) ||
      read_v8_word(&read->map, read->script, 0))
    return 0;
  read->script = moved_v8_object(read->script, read->map);
  u64 script = read->script;
  if (v8_type_of(script) != layout->script_type ||
      read_v8_word(&read->file, script, v8_script_name) ||
      read_v8_word(&read->table, script, v8_script_line_ends) ||
      read_v8_word(&read->source, script, v8_script_source) ||
      read_v8_word(&read->offset, script, v8_script_line_offset))
    return 0;
  if (!read_v8_word(&read->map, read->name, 0)) read->name = moved_v8_object(read->name, read->map);
  if (v8_type_of(read->name) != layout->scope_type)
    read->scope.name = read->name;  // of a function that is not compiled yet
  else if (!read_v8_scope(read->name, &read->scope))
    return 0;
  if (!read_v8_text(read->scope.name, &read->text, &record->name, record->name_text,
                    max_script_name))
    return 0;
  if (!record->name.bytes && !read_v8_text(read->scope.inferred_name, &read->text, &record->name,
                                           record->name_text, max_script_name))
    return 0;
  if (!read_v8_text(read->file, &read->text, &record->file, record->file_text, max_script_file))
    return 0;
  if (!read->scope.has_position) return 1;
  u32 line =
      v8_type_of(read->table) == layout->array_type
          ? line_in_v8_table(read->table, read->scope.position)
          : line_in_v8_source(read->source, read->scope.position, &read->text, &read->counting);
  if (line && is_v8_number(read->offset)) record->first_line = line + (u32)(read->offset >> 32);
  return 1;
}
