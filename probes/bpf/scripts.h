// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which functions of an interpreted language the current thread runs (languages/script.h), and the
// names of these. An interpreter's memory may change as soon as the thread goes on, so names are
// copied when a stack is new. When code is freed, `code_freed` counts it: that count is a part of a
// stack's hash, so a stack with other code at the same address is another stack.
#pragma once

#include "read_scripts.h"
#include "tell_java.h"
#include "tell_script.h"

struct telling_scripts {
  struct stack_record* stack;
  struct script_chain* chain;
  u32 slot;
  u32 failed;
  u32 number;
};

// All of Java's code at the turn's place in the stack, then the methods in it.
static int tell_one_java(u32 turn, struct telling_scripts* telling) {
  struct stack_record* stack = telling->stack;
  u32 at = stack->kernel_frames + turn;
  if (turn >= stack->frames || at >= max_kernel_frames + max_frames) return 1;
  u64 word = stack->pcs[at];
  if (script_language(word) != language_java || !script_code(word)) return 0;
  if (!is_java_code(word)) {
    queue_java_method(telling->chain, script_code(word));
    return 0;
  }
  if (tell_java(telling->number, telling->slot, word)) return 0;
  telling->failed = 1;
  return 1;
}
static int tell_java_method(u32 turn, struct telling_scripts* telling) {
  struct script_chain* chain = telling->chain;
  if (turn >= chain->count) return 1;
  u64 word = script_word(language_java, chain->items[turn & (max_script_items - 1)], 0);
  if (tell_java(telling->number, telling->slot, word)) return 0;
  telling->failed = 1;
  return 1;
}

static int tell_one_script(u32 turn, struct telling_scripts* telling) {
  struct stack_record* stack = telling->stack;
  u32 at = stack->kernel_frames + turn;
  if (turn >= stack->frames || at >= max_kernel_frames + max_frames) return 1;
  u64 word = stack->pcs[at];
  if (!script_language(word) || !script_code(word)) return 0;
  u64 code = script_identity(word), object = code;
  if (script_language(word) == language_javascript) {
    object = telling->chain->items[turn & (max_script_items - 1)];
    code = telling->chain->objects[turn & (max_script_items - 1)];
  }
  if (tell_script(telling->slot, stack->space, code, object) &&
      (code == script_identity(word) || tell_v8_call(telling->number, telling->slot, turn)))
    return 0;
  telling->failed = 1;
  return 1;
}

// The same for all of a stack's functions.
__attribute__((noinline)) int tell_scripts(u32 number, u32 slot) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct telling_scripts telling = {
      .stack = &scratch->stack, .chain = &scratch->chain, .slot = slot, .number = number};
  if (telling.chain->language == language_java) {
    telling.chain->count = 0;
    bpf_loop(max_frames, tell_one_java, &telling, 0);
    bpf_loop(max_script_items, tell_java_method, &telling, 0);
    telling.chain->count = 0;
    return !telling.failed;
  }
  bpf_loop(max_frames, tell_one_script, &telling, 0);
  return !telling.failed;
}

struct telling_chain {
  struct script_chain* chain;
  u32 slot;
  u32 space;
  u32 failed;
};

static int tell_chained_script(u32 turn, struct telling_chain* telling) {
  struct script_chain* chain = telling->chain;
  if (turn >= chain->count) return 1;
  u64 word = chain->items[turn & (max_script_items - 1)];
  u64 code = script_code(word), object = code;
  if (script_language(word) == language_php) object = chain->objects[turn & (max_script_items - 1)];
  if (!script_language(word) || tell_script(telling->slot, telling->space, code, object)) return 0;
  telling->failed = 1;
  return 1;
}

// All functions of a chain, placed or not.
__attribute__((noinline)) int tell_chain(u32 number, u32 slot) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct telling_chain telling = {
      .chain = &scratch->chain, .slot = slot, .space = scratch->stack.space};
  bpf_loop(max_script_items, tell_chained_script, &telling, 0);
  return !telling.failed;
}

__attribute__((noinline)) int send_chain(u32 number, u64 key) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct script_chain* chain = &scratch->chain;
  u32 count = chain->count;
  if (chain->end == script_none && !is_met_by_frame(chain->language)) return 1;
  if (count > max_script_items) return 1;
  struct telling_chain telling = {
      .chain = chain, .slot = scratch->code, .space = scratch->stack.space};
  bpf_loop(max_script_items, tell_chained_script, &telling, 0);
  if (telling.failed) return 0;
  chain->type = record_chain;
  chain->space = scratch->stack.space;
  chain->key = key;
  chain->told_language = chain->language;
  u32 size = __builtin_offsetof(struct script_chain, items) + count * sizeof(u64);
  return !bpf_ringbuf_output(&ring, chain, size, wake_if_filling());
}

// At the entry of a function that frees or moves code; the cookie says which of a language's. Those
// of Python and Ruby free one object of code, whose address is the first argument.
SEC("uprobe")
int memflame_code_freed(struct pt_regs* ctx) {
  struct process* process = current_process();
  if (!process) return 0;
  u64 code = ctx->di;
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &process->code);
  if (interpreter) {
    __sync_fetch_and_add(&interpreter->frees, 1);
    interpreter->met[bpf_get_attach_cookie(ctx) & 3] = 1;
    if (interpreter->language == language_javascript || interpreter->language == language_php)
      return 0;
  }
  // Objects of Ruby can move, so a function is known by what its object points to.
  if (interpreter && interpreter->language == language_ruby &&
      bpf_probe_read_user(&code, sizeof(code), (void*)(code + ruby_code_body)))
    return 0;
  struct script_key key = {.code = code, .space = process->space};
  if (bpf_map_delete_elem(&known_scripts, &key)) return 0;
  if (interpreter) interpreter->freed = 1;
  u32* freed = times_freed(code);
  if (freed) __sync_fetch_and_add(freed, 1);
  return 0;
}
