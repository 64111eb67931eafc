// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which functions of an interpreted language the current thread runs (languages/script.h), and the
// names of these. An interpreter's memory may change as soon as the thread goes on, so names are
// copied when a stack is new. When code is freed, `code_freed` counts it: that count is a part of a
// stack's hash, so a stack with other code at the same address is another stack.
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

// The state that Python keeps for the current thread, among its thread-specific data: glibc has
// the first 32 keys in the thread's own block, which the register fs points to (struct pthread,
// specific_1stblock).
enum { first_specific_data = 0x310, most_specific_keys = 32 };
enum { state_unreadable = 1 };  // no address of a state is odd
ALWAYS_INLINE u64 python_state(struct interpreter* interpreter) {
  u32 key = interpreter->key;
  if (!key) {
    u32 words[2] = {};  // whether it is set, and the key
    if (bpf_probe_read_user(words, sizeof(words), (void*)interpreter->key_at))
      return state_unreadable;
    if (!words[0]) return 0;  // Python has not begun yet
    if (words[1] >= most_specific_keys) return state_unreadable;
    key = words[1] + 1;
    interpreter->key = key;
  }
  u64 state = 0;
  u64 base = bpf_get_current_task_btf()->thread.fsbase;
  u64 at = base + first_specific_data + 16 * (u64)(key - 1) + 8;
  if (bpf_probe_read_user(&state, sizeof(state), (void*)at)) return state_unreadable;
  return state;
}

// The state that Ruby keeps for the current thread or fiber, in a thread-local variable of its
// library: glibc has a vector of all libraries' blocks in the thread's own block (tcbhead_t), 16
// bytes for each.
enum { thread_vector = 8, thread_guard = 0x30 };
static __attribute__((noinline)) int begin_ruby_thread(struct script_chain* chain,
                                                       struct interpreter* interpreter) {
  u64* words = (u64*)(chain->memory + script_window_bytes);
  u64 base = bpf_get_current_task_btf()->thread.fsbase;
  chain->end = script_unreadable;
  if (bpf_probe_read_user(words, 16, (void*)interpreter->key_at)) return 0;
  u64 number = words[0], offset = words[1];
  if (bpf_probe_read_user(words, 8, (void*)(base + thread_vector)) ||
      bpf_probe_read_user(words, 8, (void*)(words[0] + 16 * number)))
    return 0;
  if (words[0] == ~0ULL || !words[0]) return end_script(chain, script_none);  // not used here yet
  if (bpf_probe_read_user(words, 8, (void*)(words[0] + offset)) ||
      bpf_probe_read_user(words + 1, 8, (void*)(base + thread_guard)))
    return 0;
  return begin_ruby(chain, &interpreter->ruby, interpreter->base, words[0], words[1]);
}

struct reading_scripts {
  struct script_chain* chain;
  struct interpreter* interpreter;
};

static int take_ruby(u32 turn, struct reading_scripts* reading) {
  return !take_ruby_frames(reading->chain, &reading->interpreter->ruby);
}

static int take_script(u32 turn, struct reading_scripts* reading) {
  return !take_python_frames(reading->chain, &reading->interpreter->python);
}

static int take_php(u32 turn, struct reading_scripts* reading) {
  return !take_php_frame(reading->chain);
}

static __attribute__((noinline)) int read_php(struct script_chain* chain,
                                              struct interpreter* interpreter) {
  struct reading_scripts reading = {chain, interpreter};
  if (!begin_php(chain, &interpreter->php, interpreter->base, interpreter->key_at)) return 0;
  bpf_loop(max_php_frames, take_php, &reading, 0);
  if (chain->end == script_none) drop_php(chain);
  return 0;
}

// Reads what the current thread runs into the chain of a scratch.
__attribute__((noinline)) int read_scripts(u32 number, u32 code) {
  struct scratch* scratch = scratch_at(number);
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &code);
  if (!scratch || !interpreter) return 0;
  struct script_chain* chain = &scratch->chain;
  chain->freed = interpreter->freed;
  chain->language = interpreter->language;
  chain->slot = code;
  struct reading_scripts reading = {chain, interpreter};
  chain->filled = 0;
  if (interpreter->language == language_ruby) {
    if (!begin_ruby_thread(chain, interpreter)) return 0;
    bpf_loop(max_script_items + 1, take_ruby, &reading, 0);
    if (chain->end == script_none) drop_ruby(chain);
    return 0;
  }
  if (interpreter->language == language_php) return read_php(chain, interpreter);
  if (interpreter->language != language_python) return 0;
  chain->anchor = 0;
  chain->record = 0;
  if (!begin_python(chain, &interpreter->python, python_state(interpreter))) return 0;
  bpf_loop(max_script_items + 1, take_script, &reading, 0);
  return 0;
}

// What read_v8_frame() needs of a frame's words.
ALWAYS_INLINE long read_v8_words(struct walk* walk, u64* to, u64 address) {
  u32 at = in_window(walk, address, v8_frame_words * sizeof(u64));
  if (at == window_unreadable) return -14;
  if (at > window_bytes - v8_frame_words * sizeof(u64))
    return bpf_probe_read_user(to, v8_frame_words * sizeof(u64), (void*)address);
  for (int i = 0; i < v8_frame_words; ++i) to[i] = *(u64*)(walk->window + at + 8 * i);
  return 0;
}

// The word for the function of V8 that runs in the frame with this frame pointer, which is the
// current one of the walk; 0 if none does.
__attribute__((noinline)) u64 v8_frame_word(u32 number, u64 frame, u32 at) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct script_chain* chain = &scratch->chain;
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &chain->slot);
  if (!interpreter || frame & 7) return 0;
  at &= max_script_items - 1;
  u64* memory = (u64*)chain->memory;
  u64 address = scratch->walk.address;
  enum v8_frame found = v8_unreadable_frame;
  if (!read_v8_words(&scratch->walk, memory + v8_memory_offset, frame - v8_frame_offset))
    // In its innermost frame, a function has not said where it is.
    found = read_v8_frame(&interpreter->v8, address & exact_address ? 0 : address,
                          bpf_get_current_pid_tgid(), memory, &chain->last_script, &chain->memos,
                          &chain->items[at], &chain->objects[at], &scratch->sites[at]);
  if (found == v8_other_frame) return 0;
  if (found == v8_unreadable_frame) {
    COUNT(scripts_unread, 1);
    return script_word(language_v8, 0, script_unreadable);
  }
  return v8_word(chain->objects[at], &scratch->sites[at]);
}

ALWAYS_INLINE void begin_java_walk(struct scratch* scratch) {
  u32 slot = scratch->chain.slot;
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &slot);
  if (!interpreter || !begin_java(&interpreter->java, interpreter->base)) return;
  scratch->walking.java_low = interpreter->java.low;
  scratch->walking.java_bytes = interpreter->java.bytes;
}

// One step of the walk in Java's code.
ALWAYS_INLINE enum java_step step_in_java(struct scratch* scratch, struct java_frame* frame) {
  u32 slot = scratch->chain.slot;
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &slot);
  if (!interpreter) return java_unreadable;
  u64 locals = 0;
  if (!scratch->walking.frames) {
    // The interpreter of Java keeps the place of the locals in r14.
    struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
    locals = regs->r14;
  }
  return step_java(&interpreter->java, &scratch->walk.at, scratch->chain.memory,
                   &scratch->chain.memos, locals, frame);
}

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
  if (interpreter->language == language_v8) return read_v8_code(&interpreter->v8, object, record);
  if (interpreter->language == language_ruby)
    return read_ruby_script(&interpreter->ruby, object, record);
  if (interpreter->language == language_php)
    return read_php_script(&interpreter->php, object, record);
  return read_python_script(&interpreter->python, object, record);
}

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
  record->language = language_v8;
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

// Has a method told later, as functions are nested to the limit where it is met.
ALWAYS_INLINE void queue_java_method(struct script_chain* chain, u64 method) {
  u32 count = chain->count;
  if (count >= max_script_items) return;
  if (count && chain->items[(count - 1) & (max_script_items - 1)] == method) return;
  chain->items[count & (max_script_items - 1)] = method;
  chain->count = count + 1;
}

ALWAYS_INLINE void queue_java_methods(struct scratch* scratch, struct script_code_record* record) {
  struct java_scopes* scopes = (struct java_scopes*)record->lines;
  for (u32 i = 0; i < java_most_inlined && i < scopes->count; ++i)
    queue_java_method(&scratch->chain, scopes->inlined[i].method);
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
  if (record->name.form == java_place_text) queue_java_methods(scratch, record);
  long error = send_script(record, key.space, key.code, wake_if_filling());
  buffer->busy = 0;
  if (error) return 0;
  if (readable && *instance) bpf_map_update_elem(&known_scripts, &key, instance, BPF_ANY);
  return 1;
}

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
  if (script_language(word) == language_v8) {
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
  if (chain->end == script_none || count > max_script_items) return 1;
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

// At the entry of the function that frees a code object: its address is the first argument.
SEC("uprobe")
int memflame_code_freed(struct pt_regs* ctx) {
  struct process* process = current_process();
  if (!process) return 0;
  u64 code = ctx->di;
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &process->code);
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
