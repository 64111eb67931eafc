// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What is known of interpreters (languages/script.h), and of the code that they run.
#pragma once

#include "copy.h"

#define SCRIPT_READ(to, size, address) bpf_probe_read_user(to, size, (void*)(address))
#define SCRIPT_FUNCTION __attribute__((noinline))
#define SCRIPT_LOOP(turns, function, context) bpf_loop(turns, function, context, 0)
#include "../languages/java/frames.bpf.h"
#include "../languages/php/frames.bpf.h"
#include "../languages/python/frames.bpf.h"
#include "../languages/ruby/frames.bpf.h"
#include "../languages/v8/frames.bpf.h"

// What names a function, by its language.
// Functions of their own: before Linux 6.13, functions that call each other share 512 bytes of
// stack.
static __attribute__((noinline)) int read_python_script(const struct python_layout* layout,
                                                        u64 code,
                                                        struct script_code_record* record) {
  return read_python_code(layout, code, record);
}

static __attribute__((noinline)) int read_ruby_script(const struct ruby_layout* layout, u64 body,
                                                      struct script_code_record* record) {
  return read_ruby_code(layout, body, record);
}

static __attribute__((noinline)) int read_php_script(const struct php_layout* layout, u64 function,
                                                     struct script_code_record* record) {
  return read_php_code(layout, function, record);
}

ALWAYS_INLINE int read_code(struct interpreter* interpreter, u64 object,
                            struct script_code_record* record) {
  record->language = interpreter->language;
  if (interpreter->language == language_javascript)
    return read_v8_code(&interpreter->v8, object, record);
  if (interpreter->language == language_ruby)
    return read_ruby_script(&interpreter->ruby, object, record);
  if (interpreter->language == language_php)
    return read_php_script(&interpreter->php, object, record);
  return read_python_script(&interpreter->python, object, record);
}

// By the number of a code slot.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);  // user space sets it before load, also below
  __type(key, u32);
  __type(value, struct interpreter);
} interpreters SEC(".maps");

// By the address of an inode (files of learnt.h): what to tell of a process that maps the file.
// `base` and `key_at` count from where the file's first byte would be.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, max_interpreter_files);
  __type(key, u64);
  __type(value, struct interpreter);
} interpreter_files SEC(".maps");

// A process's code was found in this file, whose first byte is at `base`.
ALWAYS_INLINE void meet_interpreter(u32 slot, u64 inode, u64 base) {
  struct interpreter* file = bpf_map_lookup_elem(&interpreter_files, &inode);
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &slot);
  if (!file || !interpreter || interpreter->language) return;
  interpreter->key = 0;
  interpreter->probes = file->probes;
  interpreter->base = base + file->base;
  interpreter->key_at = base + file->key_at;
  interpreter->python = file->python;
  interpreter->v8 = file->v8;
  interpreter->java = file->java;
  interpreter->ruby = file->ruby;
  interpreter->php = file->php;
  *(volatile u32*)&interpreter->language = file->language;
}

// Code whose names user space has.
struct script_key {
  u64 code;
  u32 space;
  u32 pad;
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1);
  __type(key, struct script_key);
  __type(value, u32);
} known_scripts SEC(".maps");

// How often known code was freed, by a hash of its address.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1 << freed_scripts_bits);
  __type(key, u32);
  __type(value, u32);
} freed_scripts SEC(".maps");

struct script_buffer {
  u32 busy;
  u32 pad;
  struct script_code_record record;
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct script_buffer);
} script_buffers SEC(".maps");

ALWAYS_INLINE u32* times_freed(u64 code) {
  u32 at = code * 0x9e3779b97f4a7c15ULL >> (64 - freed_scripts_bits);
  return bpf_map_lookup_elem(&freed_scripts, &at);
}

// The same for a word of Java, which may stand for one thing after the other.
ALWAYS_INLINE u64 hashed_java(u64 word, u32 instance) {
  return word ^ (u64)instance * 0x9e3779b97f4a7c15ULL;
}

// What stands for a word in a stack's hash. Few programs of Python ever free code that was seen.
ALWAYS_INLINE u64 hashed_script(u64 word, u32 any_freed) {
  if (!any_freed) return word;
  u32* freed = times_freed(script_code(word));
  return word ^ (freed ? (u64)*freed << 32 : 0);
}
