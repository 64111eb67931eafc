// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which methods run at a place in compiled code: the one that it was compiled for, and those that
// were inlined there. Tables behind the code lead from the place to a chain of scopes.
#pragma once

#include "blobs.bpf.h"

// What is read of compiled code: the methods at one place of it, the inlined ones first.
struct java_scopes {
  struct java_inlined inlined[java_most_inlined];
  u64 places, scopes, metadata, metadata_bytes;
  u64 low, high;  // of places, as long as one is searched
  u64 pc;
  u32 next;  // where the next scope is
  u32 count, failed;
  u32 lowest_digit;
  u8 text[16];
  u8 memory[java_offset_mask + 9];
};
enum { java_place_bytes = 16, java_place_scope = 4, java_place_steps = 32 };
struct java_scopes_in {
  struct java_scopes* scopes;
};

static int search_java_place(u32 turn, struct java_scopes_in* in) {
  struct java_scopes* scopes = in->scopes;
  s32 at = 0;
  if (scopes->low >= scopes->high || turn >= java_place_steps) return 1;
  u64 middle = scopes->low + (scopes->high - scopes->low) / 2;
  if (SCRIPT_READ(&at, sizeof(at), scopes->places + middle * java_place_bytes)) {
    scopes->failed = 1;
    return 1;
  }
  if (at < 0 || (u64)at < scopes->pc)
    scopes->low = middle + 1;
  else
    scopes->high = middle;
  return 0;
}

// A number of the form UNSIGNED5: digits of six bits, of which the last is below 192.
static inline u32 next_java_number(struct java_scopes* scopes, u32* at) {
  u32 sum = 0;
  for (u32 i = 0; i < 5; ++i) {
    u32 digit = scopes->text[*at & 15];
    ++*at;
    sum += (digit - scopes->lowest_digit) << 6 * i;
    if (digit < 192) break;
  }
  return sum;
}

static int read_java_scope(u32 turn, struct java_scopes_in* in) {
  struct java_scopes* scopes = in->scopes;
  if (turn >= java_most_inlined || !scopes->next) return 1;
  u32 at = 0;
  scopes->failed = 1;
  if (SCRIPT_READ(scopes->text, sizeof(scopes->text), scopes->scopes + scopes->next)) return 1;
  u32 next = next_java_number(scopes, &at);
  u64 index = next_java_number(scopes, &at);
  u32 place = next_java_number(scopes, &at) - 1;
  if (!index || index * 8 > scopes->metadata_bytes) return 1;
  u64 method = java_pointer_at(scopes->metadata + (index - 1) * 8);
  if (!method) return 1;
  struct java_inlined* inlined = &scopes->inlined[turn];
  inlined->method = method;
  inlined->place = place < (u32)script_no_place ? place : (u32)script_no_place;
  scopes->count = turn + 1;
  scopes->next = next;
  scopes->failed = 0;
  return 0;
}

// Where the tables of compiled code are. Returns 0 if its head cannot be right. `pc`: in `scopes`.
static inline int find_java_tables(const struct java_layout* layout, struct java_scopes* scopes,
                                   u64 blob) {
  const u8* memory = scopes->memory;
  scopes->lowest_digit = layout->lowest_digit;
  const u16* offset = layout->offset;
  u32 places = java_int_in(memory, offset[java_code_places]);
  u32 end = java_int_in(memory, offset[java_code_places_end]);
  u32 metadata = java_int_in(memory, offset[java_code_metadata]);
  u32 size = java_int_in(memory, offset[java_blob_size]);
  if (places > end) return 0;
  scopes->low = 0;
  scopes->high = (end - places) / java_place_bytes;
  scopes->pc -= java_place_in(layout, blob, memory, java_blob_code);
  if (scopes->pc > size) return 0;
  if (layout->apart) {
    u64 tables = java_word_in(memory, offset[java_code_immutable]);
    u32 bytes = java_int_in(memory, offset[java_code_mutable_bytes]);
    if (metadata > bytes || end >> 28) return 0;
    scopes->places = tables + places;
    scopes->scopes = tables + java_int_in(memory, offset[java_code_scopes]);
    scopes->metadata = java_word_in(memory, offset[java_code_mutable]) + metadata;
    scopes->metadata_bytes = bytes - metadata;
    return 1;
  }
  u64 begin = java_word_in(memory, offset[java_code_scopes]);
  if (end > size || begin - blob > size || metadata > begin - blob) return 0;
  scopes->places = blob + places;
  scopes->scopes = begin;
  scopes->metadata = blob + metadata;
  scopes->metadata_bytes = begin - scopes->metadata;
  return 1;
}

// Finds the innermost method at scopes->pc. Returns 0 if there is none. A function of its own, as
// its caller has no room on the stack.
SCRIPT_FUNCTION int find_java_scope(struct java_layout* layout, struct java_scopes* scopes,
                                    u64 blob) {
  struct java_scopes_in in = {scopes};
  if (!layout || !scopes || !find_java_tables(layout, scopes, blob)) return 0;
  SCRIPT_LOOP(java_place_steps, search_java_place, &in);
  u64 place = scopes->places + scopes->low * java_place_bytes;
  return !scopes->failed &&
         !SCRIPT_READ(&scopes->next, sizeof(scopes->next), place + java_place_scope) &&
         !(scopes->next >> 31);
}

// Reads the methods at an address in compiled code into `scopes`, whose `memory` has the head of
// the blob. Returns 0 if they cannot be read.
static inline int read_java_scopes(struct java_layout* layout, struct java_scopes* scopes,
                                   enum java_blob kind, u64 blob, u64 pc) {
  struct java_scopes_in in = {scopes};
  scopes->count = scopes->failed = 0;
  scopes->inlined[0].method = java_word_in(scopes->memory, layout->offset[java_code_method]);
  scopes->inlined[0].place = script_no_place;
  if (kind == java_native) {
    scopes->count = 1;
    return is_java_pointer(scopes->inlined[0].method);
  }
  scopes->pc = pc;
  if (!find_java_scope(layout, scopes, blob)) return 0;
  SCRIPT_LOOP(java_most_inlined, read_java_scope, &in);
  return scopes->count && !scopes->failed;
}
