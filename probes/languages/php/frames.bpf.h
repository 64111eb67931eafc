// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Reads which PHP functions a thread runs, from PHP 8.1 to 8.4. Plain C that only reads: BPF
// programs read live memory with it, tests copied and hostile one.
//
// PHP keeps a frame for each function. One C function, the interpreter's loop, runs many of them;
// the outermost of these is marked (TOP). No frame knows its loop's place on the C stack, so loops
// and marks are matched in order, and only if there are as many of one as of the other: a loop that
// has left its last function runs destructors without one. A fiber has a C stack of its own, and
// its outermost frame belongs to a native function without a name. Sources: PHP's zend_compile.h,
// zend_execute.h, zend_fibers.c, zend_builtin_functions.c (debug_backtrace).
//
// A function's object is thrown away at the end of a request, without a call for each, and copied
// for each closure. So a function is not known by its address, but by its content: its names, file
// and first line. PHP keeps hashes of nearly all names.
//
// Define before you include it: SCRIPT_READ(to, size, address) copies target memory, and returns 0
// if all of it could be read. SCRIPT_FUNCTION begins a function of its own, which the verifier
// looks at once, without its callers: so it has to be told that the chain is there.
#pragma once

#include "../python/frames.bpf.h"

// More functions than this are not counted, and so none is placed.
enum { max_php_frames = 16384 };

enum php_kind { php_native, php_function, php_fiber_end };
// What is known of a function.
enum php_memo { php_memo_kind, php_memo_word, php_memo_last };

static inline u64 mix_php(u64 hash, u64 value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ hash >> 29;
}

// The same for a text without a hash: its last characters, which tell the code of one eval() from
// that of another.
SCRIPT_FUNCTION u64 mix_php_end(struct script_chain* chain, u64 hash, u64 end, u64 bytes) {
  if (!chain) return 0;
  for (int i = 0; i < script_text_words; ++i) chain->text[i] = 0;
  if (bytes > sizeof(chain->text)) bytes = sizeof(chain->text);
  end -= bytes;
  asm volatile("" : "+r"(bytes));  // or the compiler leaves out the check, which the verifier needs
  if (bytes > sizeof(chain->text)) return 0;
  if (bytes && SCRIPT_READ(chain->text, (u32)bytes, end)) return 0;
  for (int i = 0; i < script_text_words; ++i) hash = mix_php(hash, chain->text[i]);
  return hash | 1;
}

// A hash of what a string says; 0 if it cannot be read.
SCRIPT_FUNCTION u64 hash_of_php_text(struct script_chain* chain, u64 address) {
  if (!chain) return 0;
  if (!address) return 1;
  if (!is_script_pointer(address)) return 0;
  u64 of = script_memo_key(address, memo_text);
  struct script_memo* memo = script_memo_at(&chain->memos, of);
  if (is_script_memo(&chain->memos, memo, of)) return memo->value[0];
  u64* words = chain->text;
  if (SCRIPT_READ(words, php_text_head_bytes, address)) return 0;
  u64 known = words[1], bytes = words[2], first = words[3];
  if (bytes < 8) first &= (1ULL << 8 * bytes) - 1;
  u64 hash = mix_php(mix_php(mix_php(0, known), bytes), first) | 1;
  if (!known) hash = mix_php_end(chain, hash, address + php_text_chars + bytes, bytes);
  begin_script_memo(&chain->memos, memo, of);
  memo->value[0] = hash;
  return hash;
}

// The same for the name of a class. One that has no name and one without a class differ.
// Inlined, as calls are nested to the limit.
ALWAYS_INLINE u64 hash_of_php_class(struct script_chain* chain, u64 address) {
  if (!address) return 3;
  if (!is_script_pointer(address)) return 0;
  u64 of = script_memo_key(address, memo_class);
  struct script_memo* memo = script_memo_at(&chain->memos, of);
  if (is_script_memo(&chain->memos, memo, of)) return memo->value[0];
  if (SCRIPT_READ(chain->text, 8, address + php_class_name)) return 0;
  u64 hash = hash_of_php_text(chain, chain->text[0]);
  begin_script_memo(&chain->memos, memo, of);
  memo->value[0] = hash;
  return hash;
}

// A function's last line, and whether it stays where it is.
enum { php_stays_shift = 32 };

static inline void begin_php_memo(struct script_chain* chain, struct script_memo* memo, u64 of,
                                  u64 stays) {
  if (stays)
    keep_script_memo(&chain->memos, memo, of);
  else
    begin_script_memo(&chain->memos, memo, of);
}

// Finds out what function `chain->function` is, and a word for it without a line: puts them into
// its memo. Returns 0 if they cannot be read.
SCRIPT_FUNCTION int read_php_function(struct script_chain* chain) {
  if (!chain) return 0;
  u64 function = chain->function;
  u64* words = (u64*)(chain->memory + script_window_bytes);
  u64 of = script_memo_key(function, memo_function);
  struct script_memo* memo = script_memo_at(&chain->memos, of);
  if (!is_script_pointer(function)) return 0;
  // A native function has less memory, at whose end may be none.
  int is_whole = !SCRIPT_READ(words, php_function_bytes, function);
  if (!is_whole && SCRIPT_READ(words, php_function_head_bytes, function)) return 0;
  u8 kind = (u8)words[0];
  u64 name = words[php_function_name / 8], owner = words[php_function_class / 8];
  u64 stays = name && !(words[0] >> 32 & php_function_passing) ? 1 : 0;
  if (kind == php_kind_native) {
    u64 handler = words[chain->php.function_handler / 8 & (php_function_words - 1)];
    begin_php_memo(chain, memo, of, stays);
    memo->value[php_memo_kind] = name || handler ? php_native : php_fiber_end;
    return 1;
  }
  if (!is_whole || (kind != php_kind_function && kind != php_kind_evaluated)) return 0;
  u32 at = chain->php.function_file / 8 & (php_function_words - 1);
  u64 file = words[at], lines = words[at + 1];
  u64 of_file = hash_of_php_text(chain, file), of_name = hash_of_php_text(chain, name);
  u64 of_class = hash_of_php_class(chain, owner);
  if (!of_file || !of_name || !of_class) return 0;
  u64 hash = mix_php(mix_php(mix_php(mix_php(0, lines), of_file), of_name), of_class);
  u64 word = script_word(language_php, hash, 0);
  begin_php_memo(chain, memo, of, stays);
  memo->value[php_memo_kind] = php_function;
  memo->value[php_memo_word] = script_code(word) ? word : script_word(language_php, 8, 0);
  memo->value[php_memo_last] = stays << php_stays_shift | lines >> 32;
  return 1;
}

static inline u32 php_line_or_none(u64 line) {
  return line && line < script_no_place ? (u32)line : (u32)script_no_place;
}

// The line that a frame's function runs, as debug_backtrace() has it; script_no_place if it is
// unknown, or too far to be told.
SCRIPT_FUNCTION u32 read_php_line(struct script_chain* chain, u64 instruction) {
  if (!chain) return script_no_place;
  u64* words = chain->text;
  if (!is_script_pointer(instruction) || SCRIPT_READ(words, 8, instruction + php_instruction_line))
    return script_no_place;
  u64 line = (u32)words[0];
  if ((words[0] >> 32 & 255) == php_code_exception) {
    line = (u32)chain->last;
    if (SCRIPT_READ(words, 8, chain->state + chain->php.globals_exception)) return script_no_place;
    if (words[0]) {
      if (!is_script_pointer(words[0]) || SCRIPT_READ(words, 4, words[0] + php_instruction_line))
        return script_no_place;
      line = (u32)words[0];
    }
    return php_line_or_none(line);  // for this function only
  }
  u64 of = script_memo_key(instruction, memo_instruction);
  struct script_memo* memo = script_memo_at(&chain->memos, of);
  begin_php_memo(chain, memo, of, chain->last >> php_stays_shift);
  memo->value[0] = php_line_or_none(line);
  return php_line_or_none(line);
}

// Generators that wait for an inner one (yield from) have no place in the chain: one frame without
// a function stands for them, which knows the outermost. Returns 0 if they cannot be read, or are
// too many.
SCRIPT_FUNCTION int find_php_waiting(struct script_chain* chain, u64 generator) {
  if (!chain) return 0;
  u64* words = chain->text;
  u64 inner = 0;
  if (!is_script_pointer(generator) || SCRIPT_READ(words, 8, generator + php_generator_inner))
    return 0;
  inner = words[0];
  for (u32 i = 0; i < php_most_waiting; ++i) {
    // The innermost one of all does not wait, but runs.
    if (!is_script_pointer(generator) || !is_script_pointer(inner) ||
        SCRIPT_READ(words, 8, generator + php_generator_frame) ||
        SCRIPT_READ(words + 1, 8, inner + php_generator_inner))
      return 0;
    chain->waiting[i] = words[0];
    if (!words[1]) {
      chain->waits = i + 1;
      return 1;
    }
    generator = inner;
    inner = words[1];
  }
  return 0;
}

static inline int drop_php(struct script_chain* chain) {
  chain->count = 0;
  return end_script(chain, script_unreadable);
}

// All frames were met: does each function have a loop?
static inline int end_php(struct script_chain* chain) {
  if (chain->held) return drop_php(chain);
  if (chain->run < max_script_items) chain->count = chain->run;  // the last one, still empty
  return end_script(chain, chain->run < max_script_items ? script_whole : script_too_long);
}

// Begins a run if there is room; else its functions are only counted. All loops look alike, so the
// run has no address.
static inline void open_php_run(struct script_chain* chain) {
  u32 at = chain->count;
  chain->held = 0;
  chain->run = at;
  if (at >= max_script_items) return;
  chain->items[at & (max_script_items - 1)] = php_any_loop;
  chain->count = at + 1;
}

// Takes the next frame of the chain. Returns 0, with `end` set, when there is none left.
static inline int take_php_frame(struct script_chain* chain) {
  u64 frame = chain->frame;
  u32 waits = chain->waits;
  if (waits) {
    chain->waits = --waits;
    asm volatile("" : "+r"(waits));  // or the compiler leaves out the mask, which Linux 6.1 needs
    frame = chain->waiting[waits & (php_most_waiting - 1)];
    waits = 1;
  }
  if (!frame) return waits ? drop_php(chain) : end_php(chain);
  u32 at = script_frame_unread;
  if (is_script_pointer(frame)) at = script_frame_at(chain, frame, chain->anchor);
  asm volatile("" : "+r"(at));  // or the compiler leaves out the check, which the verifier needs
  if (at > script_window_bytes) return drop_php(chain);
  const u8* memory = chain->memory + at;
  u64 instruction = *(const u64*)(memory + php_frame_instruction);
  u32 flags = *(const u32*)(memory + php_frame_flags);
  u64 function = *(const u64*)(memory + php_frame_function);
  if (!waits) chain->frame = *(const u64*)(memory + php_frame_previous);
  if (!function) {
    if (waits) return drop_php(chain);
    return find_php_waiting(chain, *(const u64*)(memory + php_frame_object)) || drop_php(chain);
  }
  if (!(flags & php_flag_generator)) chain->anchor = frame;
  u64 of = script_memo_key(function, memo_function);
  const struct script_memo* memo = script_memo_at(&chain->memos, of);
  if (!is_script_memo(&chain->memos, memo, of)) {
    chain->function = function;
    if (!read_php_function(chain)) return drop_php(chain);
    asm volatile("" : "+r"(function));  // or the compiler keeps the memo on the stack until here
    memo = script_memo_at(&chain->memos, script_memo_key(function, memo_function));
  }
  u64 kind = memo->value[php_memo_kind], word = memo->value[php_memo_word];
  if (kind == php_fiber_end) return end_php(chain);
  if (kind == php_native) return 1;
  chain->held = 1;
  u32 count = chain->count;
  if (count < max_script_items) {
    chain->last = memo->value[php_memo_last];
    of = script_memo_key(instruction, memo_instruction);
    memo = script_memo_at(&chain->memos, of);
    u32 line = is_script_memo(&chain->memos, memo, of) ? (u32)memo->value[0]
                                                       : read_php_line(chain, instruction);
    asm volatile("" : "+r"(count));  // or the compiler leaves out the mask, which Linux 6.1 needs
    count &= max_script_items - 1;
    chain->items[count] = word | (line & script_no_place);
    chain->objects[count] = function;
    chain->count = count + 1;
  }
  if (waits || !(flags & php_flag_loop)) return 1;  // what waits has no loop
  ++chain->runs;
  open_php_run(chain);
  return 1;
}

// Begins with the globals of the executor. Returns 0 if it runs nothing.
static inline int begin_php(struct script_chain* chain, const struct php_layout* layout, u64 base,
                            u64 globals) {
  chain->state = globals;
  chain->php = layout->offsets;
  ++chain->memos.stack;
  chain->runs = chain->loops = chain->waits = 0;
  chain->loop.begin = base + layout->loop_begin;
  chain->loop.bytes = layout->loop_end - layout->loop_begin;
  chain->loop.cold_begin = base + layout->cold_begin;
  chain->loop.cold_bytes = layout->cold_end - layout->cold_begin;
  if (!is_script_pointer(globals) ||
      SCRIPT_READ(&chain->frame, sizeof(chain->frame), globals + php_globals_frame))
    return end_script(chain, script_unreadable);
  if (!chain->frame) return end_script(chain, script_none);
  chain->anchor = chain->frame;
  open_php_run(chain);
  return 1;
}

// The text of a string.
static inline int read_php_text(u64 address, u64* words, struct script_text* text, u8* to,
                                u32 most) {
  text->bytes = 0;
  if (!is_script_pointer(address) || SCRIPT_READ(words, 8, address + php_text_length)) return 0;
  u64 bytes = words[0];
  if (bytes > most) bytes = most;
  text->bytes = (u32)bytes;
  asm volatile("" : "+r"(bytes));
  if (bytes > most) return 0;
  return !bytes || !SCRIPT_READ(to, (u32)bytes, address + php_text_chars);
}

// Reads the name, the class and the file of a function. The class is where other languages have the
// table of lines. Returns 0 if they cannot be read.
static inline int read_php_code(const struct php_layout* layout, u64 function,
                                struct script_code_record* record) {
  u64* words = record->work;
  struct script_text* owner = (struct script_text*)&words[6];
  record->line_bytes = 0;
  record->name.bytes = record->name.form = 0;
  if (SCRIPT_READ(words, 24, function) ||
      SCRIPT_READ(words + 3, php_function_place_bytes, function + layout->offsets.function_file))
    return 0;
  record->first_line = (u32)words[4];
  if (words[1] &&
      !read_php_text(words[1], words + 5, &record->name, record->name_text, max_script_name))
    return 0;
  if (!read_php_text(words[3], words + 5, &record->file, record->file_text, max_script_file))
    return 0;
  if (words[2]) {
    if (!is_script_pointer(words[2]) || SCRIPT_READ(words + 3, 8, words[2] + php_class_name) ||
        !read_php_text(words[3], words + 5, owner, record->lines, max_script_name))
      return 0;
    record->line_bytes = owner->bytes;
  }
  record->name.form = 1;
  return 1;
}
