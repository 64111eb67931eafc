// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Functions of interpreted languages in a stack: how one is told in a word, and what a program
// reads of a thread before the walk puts these words between the frames of native code. Plain C:
// BPF programs, user space and tests compile it.
#pragma once

#include "../bpf/types.h"
#include "java/layout.h"
#include "php/layout.h"
#include "python/layout.h"
#include "ruby/layout.h"
#include "v8/layout.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

// In the order of core/languages.def.
enum language {
  language_none,
#define MEMFLAME_LANGUAGE(name, word, mark, versions) language_##name,
#include "../../core/languages.def"
#undef MEMFLAME_LANGUAGE
  language_count
};

// Whether its functions are met frame by frame in the walk, and so are not known of a stack that is
// walked in user space.
static inline int is_met_by_frame(u32 language) {
  return language == language_javascript || language == language_java;
}

// A word among the addresses of a stack: the language, the address of the object that holds the
// function's code, and the place in that code. User addresses end at 2^47, so no address looks like
// one. Bit 63 stays free for exact_address.
enum {
  script_place_bits = 16,
  script_code_bits = 44,  // the lowest three bits of the code's address are 0, and not kept
  script_language_shift = script_place_bits + script_code_bits,
  script_no_place = (1 << script_place_bits) - 1,  // unknown, or too far to be told
};

static inline u64 script_word(enum language language, u64 code, u64 place) {
  return (u64)language << script_language_shift |
         (code >> 3 & ((1ULL << script_code_bits) - 1)) << script_place_bits |
         (place < (u64)script_no_place ? place : (u64)script_no_place);
}

static inline enum language script_language(u64 word) {
  return (enum language)(word >> script_language_shift & 7);
}
static inline u64 script_code(u64 word) {
  return (word >> script_place_bits & ((1ULL << script_code_bits) - 1)) << 3;
}
static inline u32 script_place(u64 word) { return word & script_no_place; }

// V8 has no place and no address, as its collector moves code and functions, but hashes. A function
// has that of its thread, as each has scripts of its own, and of two numbers that are never used
// again: of its script, and its own in the script. 0: it has none. A function that calls another
// has a hash of where. No word has a script_code() of 0.
static inline u64 mix_v8(u64 hash, u64 value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ hash >> 29;
}
static inline u64 v8_hash_word(u64 hash) {
  return (u64)language_javascript << script_language_shift | 1ULL << (script_language_shift - 1) |
         hash >> (64 - script_language_shift + 1);
}
static inline u64 v8_script_hash(u64 thread, u64 script) {
  return script ? mix_v8(mix_v8(1, thread), script) | 1 : 0;
}
static inline u64 v8_key_in(u64 script_hash, u64 function) {
  return script_hash ? v8_hash_word(mix_v8(script_hash, function)) : 0;
}
static inline u64 v8_key(u64 thread, u64 script, u64 function) {
  return v8_key_in(v8_script_hash(thread, script), function);
}

// Where in its code the function in a frame calls the next one.
enum { v8_no_offset = 0xffffffff };
struct v8_site {
  u64 code;    // that the function had then; the frame may run other code of it
  u64 pc;      // the return address; 0 = the function does not call
  u32 offset;  // of the bytecode, if the frame says it
  u32 pad;
};
static inline u64 v8_word(u64 key, const struct v8_site* site) {
  if (!site->pc || !key) return key;
  u64 place = site->offset == v8_no_offset ? site->code : site->offset;
  return v8_hash_word(mix_v8(mix_v8(mix_v8(2, key), site->pc), place));
}

// What is told of such a word (v8/calls.h).
struct v8_call {
  struct v8_layout layout;
  u64 key;   // of the function
  u64 info;  // its information
  struct v8_site site;
  u32 tgid;  // in memflame's own namespace
  u32 pad;
};

// Java has a word of the usual form for interpreted methods. One for compiled code is told by its
// place in the memory for code, which has at most 2 GiB. No method lies as low as such a word's
// script_code().
enum { java_code_bits = 31 };
static inline u64 java_code_word(u64 place) {
  return (u64)language_java << script_language_shift | 1ULL << java_code_bits |
         (place & ((1ULL << java_code_bits) - 1));
}
static inline int is_java_code(u64 word) {
  u64 code = script_code(word);
  return script_language(word) == language_java && code && code < 1 << 20;
}
static inline u32 java_code_place(u64 word) { return word & ((1ULL << java_code_bits) - 1); }

// PHP has a hash of the function's names in place of an address, and the line as the place.

// What a function's names are told and found by.
static inline u64 script_identity(u64 word) {
  return script_language(word) == language_javascript || is_java_code(word) ? word & ~(1ULL << 63)
                                                                            : script_code(word);
}

// What was read of an object, for as long as one stack is read: functions that call each other
// again are met many times, and a thread that waits in a probe changes nothing that its frames
// refer to. What cannot change without a call of a function that has a probe is kept longer.
enum { script_memo_bits = 10 };
enum script_memo_kind { memo_function, memo_text, memo_class, memo_instruction, memo_code };
struct script_memo {
  u64 of;     // which object, and what of it
  u64 since;  // the stack or the life that it was read in
  u64 value[6];
};
struct script_memos {
  u64 stack;  // the number of the one that is read; what is known of others does not count
  u64 life;   // of what the process keeps: script_life()
  struct script_memo memo[1 << script_memo_bits];
};

// `address`: below 2^47.
static inline u64 script_memo_key(u64 address, enum script_memo_kind kind) {
  return address << 3 | (u64)kind;
}
// Where an object's memo is, if there is one.
static inline struct script_memo* script_memo_at(struct script_memos* memos, u64 of) {
  return &memos->memo[of * 0x9e3779b97f4a7c15ULL >> (64 - script_memo_bits)];
}
static inline int is_script_memo(const struct script_memos* memos, const struct script_memo* memo,
                                 u64 of) {
  return memo->of == of && (memo->since == memos->stack || memo->since == memos->life);
}
static inline void begin_script_memo(const struct script_memos* memos, struct script_memo* memo,
                                     u64 of) {
  memo->of = of;
  memo->since = memos->stack;
}
// The same for what the process keeps.
static inline void keep_script_memo(const struct script_memos* memos, struct script_memo* memo,
                                    u64 of) {
  memo->of = of;
  memo->since = memos->life ? memos->life : memos->stack;
}

// What is known of a process's code for longer than for one stack: nothing, or what is read is
// checked each time.
enum script_keeping { script_keeps_nothing, script_checks = 4 };

// An interpreter in a process: what user space tells the programs.
struct interpreter {
  u32 language;  // enum language; 0 = none that is known
  u32 key;       // of the thread's state among its thread-specific data, plus one; 0 = not read yet
  u32 freed;     // whether known code was ever freed
  u32 frees;     // how often probes have met functions that free or move code
  u32 probes;    // how many of these functions have to be met, or enum script_keeping
  u8 met[4];     // by a probe's cookie: whether it is known to be there
  u64 base;      // what its file's addresses count from in the process
  u64 key_at;    // Python: address of the pthread_key_t, behind a word that says whether it is set
                 // Ruby, Python 3.15 in a library: of the number of the library's block of
                 // thread-local variables, and an offset in it
                 // PHP: of the executor's globals
  struct python_layout python;
  struct v8_layout v8;
  struct java_layout java;  // so are addresses in it
  struct ruby_layout ruby;  // addresses in it are those of the file
  struct php_layout php;    // the same
};

// Which of a process's lives it is: another one begins whenever code is freed or moved. 0 = nobody
// would tell. No number of a stack is one of these.
static inline u64 script_life(const struct interpreter* interpreter, u32 space) {
  u32 probes = interpreter->probes;
  if (probes == script_keeps_nothing) return 0;
  if (probes != script_checks && (!interpreter->met[0] || (probes > 1 && !interpreter->met[1])))
    return 0;
  return 1ULL << 63 | (u64)space << 31 | (interpreter->frees & ((1U << 31) - 1));
}

// The functions that a thread runs, innermost first, in runs: a run is an address on the thread's
// own stack and the functions that the interpreter runs above it in one loop. The loop's native
// frame is the one that holds the address.
enum {
  max_script_items = 1024,
  script_window_bytes = 1024,                       // of memory, read at once
  script_frame_bytes = 80,                          // of one function's frame: no frame has fewer
  script_memory_bytes = script_window_bytes + 256,  // offsets in a frame are below 128
  script_text_words = 32,
  php_most_waiting = 32,  // generators that wait for one another
  php_any_loop = 1,       // in place of an address on the stack: PHP keeps none
};
enum script_end {
  script_none,        // the thread runs no function of an interpreter
  script_whole,       // all are here
  script_unreadable,  // memory was not there, or is not what it should be
  script_too_long,
  script_virtual_thread,  // the rest is of the thread that carries it
};
// Code of the interpreter's loop, and what was split off it.
struct script_loop {
  u64 begin, bytes;
  u64 cold_begin, cold_bytes;
};
struct script_chain {
  // What is sent with a copied stack (record_chain).
  u32 type;
  u32 space;
  u64 key;    // of the copied stack
  u32 count;  // of items
  u32 end;    // enum script_end
  u32 told_language;
  u32 runs;                 // PHP: their number, also of those that found no room
  struct script_loop loop;  // PHP
  u64 items[max_script_items];

  u32 next;    // the run that the walk has to meet next
  u32 run;     // the one that is being read
  u64 frame;   // to be read next; 0 = none
  u64 state;   // of the thread, in the interpreter
  u64 record;  // the interpreter's own record of the loop that is being read; 0 = it has none
  u64 below;   // the record of the loop that runs below
  u64 anchor;  // a frame beside which others are expected; 0 = none
  u64 base;    // the interpreter's
  u64 core_begin, core_bytes;  // Ruby: the code of the loop; 0 = none
  struct v8_last_script last_script;
  u64 window_at;
  u32 filled;
  u32 freed;     // as in the interpreter
  u32 language;  // enum language
  u32 slot;      // the interpreter's
  u32 held;      // the run that is being read has functions
  u32 loops;     // PHP: those that the walk has met
  u8 memory[script_memory_bytes];
  // PHP: the function that is being read, and what its memo has as the last.
  struct php_offsets php;
  u64 function;
  u64 last;
  u32 waits;  // how many of `waiting` are to be read next, the last one first
  u64 waiting[php_most_waiting];
  u64 text[script_text_words];
  // Ruby: the stack of values that functions work with, and a part of it that was read.
  u64 stack;
  u64 values_at;
  u8 values[script_window_bytes];
  u64 objects[max_script_items];  // of the functions in `items`; V8: their keys
  struct script_memos memos;      // last, as instructions of BPF reach 32 KiB
};

// Whether a frame of the native stack is one of PHP's loop. A return address may be behind its end.
static inline int is_php_loop(const struct script_loop* loop, u64 address, int exact) {
  u64 inside = exact ? address : address - 1;
  return inside - loop->begin < loop->bytes || inside - loop->cold_begin < loop->cold_bytes;
}

// Whether the loops that a walk has met are those of PHP's functions. A walk that ended at its
// greatest depth has not met all.
static inline int are_php_loops(u32 end, u32 runs, u32 loops, int too_deep) {
  if (end != script_whole && end != script_too_long) return 0;
  return loops == runs || (too_deep && loops < runs);
}

// The texts of one function's code, as they lie in the interpreter's memory.
enum { max_script_name = 512, max_script_file = 1024, max_script_lines = 32768 };
// What a record of Java is about: a method, a place in compiled code (`lines` has the methods
// there, as struct java_inlined), or a stub of the virtual machine.
enum { java_method_text = 1, java_place_text, java_stub_text };
// Forms of V8's. v8_call_text: the record is about a call, `lines` has struct v8_call.
enum { v8_text_latin = 1, v8_text_wide = 2, v8_text_cut = 4, v8_call_text = 8 };
struct script_text {
  u32 bytes;  // of what was read; shorter than the text if that is longer
  u32 form;   // what the language says about its characters
};
struct script_code_record {
  u32 type;
  u32 space;
  u64 time;
  u64 code;
  u32 language;
  u32 first_line;
  struct script_text name, file;
  u32 line_bytes;  // of the table of lines; 0 if it is longer than what is read
  u32 thread;      // V8: whose function it is
  u8 name_text[max_script_name];
  u8 file_text[max_script_file];
  u8 lines[max_script_lines];
  u64 work[8];  // room for the reader, as programs have little; never sent
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
