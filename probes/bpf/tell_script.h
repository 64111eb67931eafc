// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copies what names one function for user space, unless that has it.
#pragma once

#include "script_state.h"

ALWAYS_INLINE long send_script(struct script_code_record* record, u32 space, u64 code, u64 wake) {
  record->type = record_script;
  record->space = space;
  record->thread = bpf_get_current_pid_tgid();
  record->time = bpf_ktime_get_ns();
  record->code = code;
  u32 size = __builtin_offsetof(struct script_code_record, lines) + record->line_bytes;
  if (size > sizeof(*record)) size = sizeof(*record);
  return bpf_ringbuf_output(&ring, record, size, wake);
}

// Makes sure that user space has the names of some code, which `object` has now. Returns 0 if it
// cannot be told now.
__attribute__((noinline)) int tell_script(u32 slot, u32 space, u64 code, u64 object) {
  struct script_key key = {.code = code, .space = space};
  u32 known = 1;
  if (bpf_map_lookup_elem(&known_scripts, &key)) return 1;
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &slot);
  u32 at = claim(&script_buffers, config.script_buffers) - 1;
  struct script_buffer* buffer = bpf_map_lookup_elem(&script_buffers, &at);
  if (!buffer) return 0;
  struct script_code_record* record = &buffer->record;
  int readable = interpreter && read_code(interpreter, object, record);
  if (!readable)
    record->name.bytes = record->name.form = record->file.bytes = record->line_bytes = 0;
  long error = send_script(record, space, code, wake_if_filling());
  buffer->busy = 0;
  if (error) return 0;
  // What could not be read may be there when it is met next.
  if (readable) insert(&known_scripts, &key, &known);
  return 1;
}

// The same for the place of a call in a function of V8: what user space needs to read it.
__attribute__((noinline)) int tell_v8_call(u32 number, u32 slot, u32 turn) {
  struct scratch* scratch = scratch_at(number);
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &slot);
  if (!scratch || !interpreter) return 1;
  struct script_chain* chain = &scratch->chain;
  turn &= max_script_items - 1;
  struct script_key key = {.code = v8_word(chain->objects[turn], &scratch->sites[turn]),
                           .space = scratch->stack.space};
  u32 known = 1;
  if (bpf_map_lookup_elem(&known_scripts, &key)) return 1;
  u32 at = claim(&script_buffers, config.script_buffers) - 1;
  struct script_buffer* buffer = bpf_map_lookup_elem(&script_buffers, &at);
  if (!buffer) return 0;
  struct script_code_record* record = &buffer->record;
  struct v8_call* call = (struct v8_call*)record->lines;
  record->language = language_javascript;
  record->first_line = 0;
  record->name.form = v8_call_text;
  record->name.bytes = record->file.bytes = record->file.form = 0;
  record->line_bytes = sizeof(*call);
  call->layout = interpreter->v8;
  call->key = chain->objects[turn];
  call->info = chain->items[turn];
  call->site = scratch->sites[turn];
  call->tgid = shown_tgid(bpf_get_current_task_btf());
  // User space reads the process, so it should not wait.
  long error = send_script(record, key.space, key.code, BPF_RB_FORCE_WAKEUP);
  buffer->busy = 0;
  if (error) return 0;
  insert(&known_scripts, &key, &known);
  return 1;
}
