// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Strings of V8, and in which line of a script a position is.
#pragma once

#include "objects.bpf.h"

// A string without its indirections.
struct v8_text {
  u64 from;    // of its characters
  u32 length;  // in characters
  u32 wide;    // they have two bytes
  u32 cut;     // there are more
  u32 pad;
};

// String types: what a string is made of, and two bits.
enum { v8_plain = 0, v8_joined = 1, v8_external = 2, v8_part = 3, v8_alias = 5 };
enum { v8_form_mask = 7, v8_one_byte = 8, v8_uncached = 16, v8_string_types = 128 };

// What find_v8_text() found. Memory that is not there may be read the next time.
enum { v8_text_unreadable, v8_text_found, v8_no_text };

SCRIPT_FUNCTION int find_v8_text(u64 object, struct v8_text* text) {
  u64 first = 0;
  u32 most = ~0U;
  if (!text) return v8_text_unreadable;
  text->cut = 0;
  for (int turn = 0; turn < 5; ++turn) {
    u64 words[2];
    if (!is_v8_object(object)) return v8_no_text;
    // A short string ends soon. What follows may be a page that nobody has used.
    if (SCRIPT_READ(words, sizeof(words), object - 1)) return v8_text_unreadable;
    u64 moved = moved_v8_object(object, words[0]);
    if (moved != object) {
      object = moved;
      continue;
    }
    u32 type = v8_type_of_map(words[0]), length = (u32)(words[1] >> 32);
    if (type == v8_no_type) return v8_text_unreadable;
    if (type >= v8_string_types) return v8_no_text;
    if (length < most) most = length;
    u32 wide = type & v8_one_byte ? 0 : 1;
    if ((type & v8_form_mask) != v8_plain &&
        SCRIPT_READ(words, sizeof(words), object - 1 + v8_string_other))
      return v8_text_unreadable;
    u64 other = words[0], data = words[1];
    switch (type & v8_form_mask) {
      case v8_plain:
        text->from = object - 1 + v8_string_text + (first << wide);
        text->length = most;
        text->wide = wide;
        // A part that is not in the other, or the first of two that were joined.
        if (first > length || most > length - first) {
          text->length = first < length ? (u32)(length - first) : 0;
          text->cut = 1;
        }
        return v8_text_found;
      case v8_external:
        if (type & v8_uncached || !data || data >> 47) return v8_text_unreadable;
        text->from = data + (first << wide);
        text->length = most;
        text->wide = wide;
        return first <= length && most <= length - first ? v8_text_found : v8_text_unreadable;
      case v8_part:
        if (!is_v8_number(data) || data >> 62) return v8_text_unreadable;
        first += data >> 32;
        object = other;
        break;
      case v8_joined:
      case v8_alias:
        object = other;
        break;
      default:
        return v8_text_unreadable;
    }
  }
  return v8_text_unreadable;
}

// Returns 0 if there is a text that cannot be read.
static inline __attribute__((always_inline)) int read_v8_text(u64 object, struct v8_text* text,
                                                              struct script_text* to, u8* bytes_to,
                                                              u32 most) {
  to->bytes = 0;
  to->form = v8_text_latin;
  int found = find_v8_text(object, text);
  if (found != v8_text_found) return found;
  u32 wide = text->wide;
  to->form = (wide ? v8_text_wide : v8_text_latin) | (text->cut ? v8_text_cut : 0);
  u64 bytes = (u64)text->length << wide;
  if (bytes > most) bytes = most;
  to->bytes = (u32)bytes;
  asm volatile("" : "+r"(bytes));
  if (bytes > most) return 0;
  return !bytes || !SCRIPT_READ(bytes_to, (u32)bytes, text->from);
}

// The line of a position: from the table of lines, if V8 has made one.
SCRIPT_FUNCTION u32 line_in_v8_table(u64 table, u64 position) {
  u64 size = 0;
  if (read_v8_word(&size, table, v8_array_length) || !is_v8_number(size)) return 0;
  u64 low = 0, high = size >> 32;  // the first line that ends at or behind the position
  for (int turn = 0; turn < 32 && low < high; ++turn) {
    u64 middle = low + (high - low) / 2, end = 0;
    if (read_v8_word(&end, table, v8_array_items + 8 * middle)) return 0;
    if (end >> 32 < position)
      low = middle + 1;
    else
      high = middle;
  }
  return (u32)low + 1;
}

// Otherwise by counting. A script may be long, and the program waits. Larger pieces would save a
// little of that, but the verifier goes through all words of one.
enum { v8_piece_bytes = 128, v8_most_counted_bytes = 1 << 20 };
struct v8_counting {
  u64 from;
  u32 bytes;
  u32 wide, lines, failed;
  u64 piece[v8_piece_bytes / 8];
};
// Programs have little room on their stack, so the rest is in the record.
struct counting_v8 {
  struct v8_counting* counting;
};

// Counts '\n' in a word of eight characters or four. `one`: a word of ones in each character.
static inline u64 v8_line_ends(u64 word, u64 one, u32 bits) {
  u64 low = (one << (bits - 1)) - one, other = word ^ one * '\n';
  u64 ends = ~(((other & low) + low) | other | low);  // the highest bit of each that was '\n'
  return (ends >> (bits - 1)) * one >> (64 - bits);
}

static int count_v8_lines(u32 turn, struct counting_v8* in) {
  struct v8_counting* counting = in->counting;
  // Nothing that decides over a read is carried from turn to turn: the verifier would follow all.
  u32 begin = turn * v8_piece_bytes;
  if (turn >= v8_most_counted_bytes / v8_piece_bytes || begin >= counting->bytes) return 1;
  u64 size = counting->bytes - begin;
  if (size > v8_piece_bytes) size = v8_piece_bytes;
  u64 count = 0, one = counting->wide ? 0x0001000100010001ULL : 0x0101010101010101ULL;
  u32 bits = counting->wide ? 16 : 8;
  __builtin_memset(counting->piece, 0, v8_piece_bytes);
  asm volatile("" : "+r"(size));
  if (size > v8_piece_bytes || SCRIPT_READ(counting->piece, (u32)size, counting->from + begin)) {
    counting->failed = 1;
    return 1;
  }
  // Without a branch, which the verifier would have to follow each time.
  for (u32 i = 0; i < v8_piece_bytes / 8; ++i) count += v8_line_ends(counting->piece[i], one, bits);
  // Through memory, of which the verifier knows no range: one that grows with each turn is a new
  // state each time.
  counting->piece[0] = count;
  asm volatile("" ::: "memory");
  counting->lines += (u32)counting->piece[0];
  return 0;
}

static inline u32 line_in_v8_source(u64 source, u64 position, struct v8_text* text,
                                    struct v8_counting* counting) {
  if (find_v8_text(source, text) != v8_text_found || position > text->length) return 0;
  u64 bytes = position << text->wide;
  if (bytes > v8_most_counted_bytes) return 0;
  counting->from = text->from;
  counting->bytes = (u32)bytes;
  counting->wide = text->wide;
  counting->lines = counting->failed = 0;
  struct counting_v8 in = {counting};
  SCRIPT_LOOP(v8_most_counted_bytes / v8_piece_bytes + 1, count_v8_lines, &in);
  return counting->failed ? 0 : counting->lines + 1;
}
