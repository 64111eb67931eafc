// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The same as tell_script.h for a word of Java: a method, or a place in compiled code, which leads
// to several. A word may stand for one thing after the other.
#pragma once

#include "tell_script.h"

// Has a method told later, as functions are nested to the limit where it is met.
ALWAYS_INLINE void queue_java_method(struct script_chain* chain, u64 method) {
  u32 count = chain->count;
  if (count >= max_script_items) return;
  if (count && chain->items[(count - 1) & (max_script_items - 1)] == method) return;
  chain->items[count & (max_script_items - 1)] = method;
  chain->count = count + 1;
}

struct queueing_java {
  struct script_chain* chain;
  struct java_scopes* scopes;
};
static int queue_java_scope(u32 turn, struct queueing_java* queueing) {
  if (turn >= java_most_inlined || turn >= queueing->scopes->count) return 1;
  queue_java_method(queueing->chain, queueing->scopes->inlined[turn].method);
  return 0;
}
static __attribute__((noinline)) int queue_java_scopes(struct script_chain* chain,
                                                       struct script_code_record* record) {
  struct queueing_java queueing = {chain, (struct java_scopes*)record->lines};
  bpf_loop(java_most_inlined, queue_java_scope, &queueing, 0);
  return 0;
}

// Reads what a word of Java stands for into a record. Returns 0 if it cannot be read. `instance`:
// which of the things that the word has stood for.
ALWAYS_INLINE int read_java(struct java_layout* layout, u64 word, u32 known,
                            struct script_code_record* record, u32* instance) {
  if (!is_java_code(word)) {
    u64 method = script_code(word);
    if (read_java_const(layout, method, record->lines))
      *instance = java_instance(layout, record->lines);
    return *instance && *instance == known ? 1 : read_java_method(layout, method, record);
  }
  struct java_scopes* scopes = (struct java_scopes*)record->lines;
  // There, as the stack has no room for it.
  scopes->pc = layout->low + java_code_place(word);
  record->name.form = java_place_text;
  scopes->count = 0;
  u64 blob = read_java_blob(layout, scopes->pc, scopes->memory);
  if (!blob) return 0;
  u64 name = java_word_in(scopes->memory, layout->offset[java_blob_name]);
  enum java_blob kind = kind_of_java_blob(layout, scopes->memory);
  if (kind == java_compiled || kind == java_native) {
    *instance = java_int_in(scopes->memory, layout->offset[java_code_number]) | 1U << 31;
    if (*instance == known) return 1;
    int readable = read_java_scopes(layout, scopes, kind, blob, scopes->pc);
    u32 count = scopes->count;
    record->line_bytes = count <= java_most_inlined ? count * sizeof(struct java_inlined) : 0;
    return readable;
  }
  *instance = (u32)blob | 1;
  record->name.form = java_stub_text;
  long bytes = bpf_probe_read_user_str(record->name_text, 128, (void*)name);
  record->name.bytes = bytes > 1 ? bytes - 1 : 0;
  return bytes > 1;
}

// The same as tell_script() for a word of Java.
__attribute__((noinline)) int tell_java(u32 number, u32 slot, u64 word) {
  struct scratch* scratch = scratch_at(number);
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &slot);
  u32 at = claim(&script_buffers, config.script_buffers) - 1;
  struct script_buffer* buffer = bpf_map_lookup_elem(&script_buffers, &at);
  if (!buffer) return 0;
  if (!scratch || !interpreter) {
    buffer->busy = 0;
    return 0;
  }
  struct script_code_record* record = &buffer->record;
  struct script_key key = {.code = script_identity(word), .space = scratch->stack.space};
  u32* told = bpf_map_lookup_elem(&known_scripts, &key);
  u32 known = told ? *told : 0;
  u32* instance = &scratch->walking.java.instance;  // the stack has no room for it
  *instance = 0;
  record->language = language_java;
  record->line_bytes = 0;
  record->name.bytes = record->file.bytes = record->file.form = 0;
  int readable = read_java(&interpreter->java, word, known, record, instance);
  if (*instance && *instance == known) {
    buffer->busy = 0;
    return 1;
  }
  if (!readable) record->name.form = record->name.bytes = record->line_bytes = 0;
  if (record->name.form == java_place_text) queue_java_scopes(&scratch->chain, record);
  long error = send_script(record, key.space, key.code, wake_if_filling());
  buffer->busy = 0;
  if (error) return 0;
  if (readable && *instance) bpf_map_update_elem(&known_scripts, &key, instance, BPF_ANY);
  return 1;
}
