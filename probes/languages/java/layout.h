// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where HotSpot, the virtual machine of OpenJDK, keeps what is read of it. Plain C.
//
// HotSpot has a table of its own fields for debuggers (gHotSpotVMStructs). The names are in the
// file of libjvm.so, but up to JDK 21 the offsets are stored when the library is loaded. So user
// space tells which entries of the table count, and programs read the offsets from the process.
#pragma once

#include "../../bpf/types.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

// The fields that are read. Where versions differ, `program.cc` has both names.
enum java_field {
  java_array_length,
  java_array_data,
  java_heap_memory,
  java_heap_segments,
  java_heap_segment_bits,
  java_space_low,
  java_space_end,
  java_stubs_begin,
  java_stubs_bytes,
  java_blob_name,
  java_blob_size,
  java_blob_frame_size,
  java_blob_frame_complete,
  java_blob_code,
  java_code_number,  // of the compilation
  java_code_method,
  java_code_original_pc,
  java_code_deoptimized,
  java_code_deoptimized_call,  // of a method handle
  java_code_places,
  java_code_places_end,
  java_code_scopes,
  java_code_metadata,
  java_code_immutable,  // since 25: where its tables are
  java_code_mutable,    // since 25: where the pointers that tables refer to are
  java_code_mutable_bytes,
  java_method_const,
  java_method_intrinsic,  // the number of a method that Java knows; 0 = it knows it not
  java_const_pool,
  java_const_size,
  java_const_flags,
  java_const_code_size,
  java_const_name,
  java_const_signature,
  java_const_number,
  java_pool_class,
  java_pool_file,
  java_class_name,
  java_symbol_length,
  java_symbol_text,
  java_stale_marked,  // marks of references that ZGC has still to look at, since 21
  java_stale_whole,   // the same of the ZGC that 21 has besides
  java_collecting,    // whether a collection runs that stops Java's threads
  java_collections,   // how many have begun
  java_field_count,
};

enum {
  // VMStructEntry: five words and the offset between them.
  java_entry_bytes = 48,
  java_entry_offset = 32,
  java_entry_address = 40,
  java_most_entries = 4096,
  java_most_heaps = 4,
  java_blob_bytes = 352,   // of the head of compiled code
  java_stub_bytes = 104,   // of the head of other code
  java_offset_mask = 511,  // offsets in these are smaller
  java_const_bytes = 64,   // at most, of ConstMethod
  java_has_lines = 1,      // in ConstMethod's flags
  java_most_inlined = 64,  // methods in one place of compiled code
  java_most_name = 512,    // of a class, a method or a file
  // From the frame pointer of an interpreted method (frame_x86.hpp).
  java_frame_sender = 8,
  java_frame_method = 24,
  java_frame_locals = 56,
  java_frame_instruction = 64,
};

// A part of the memory for compiled code.
struct java_heap {
  u64 low, bytes;
  u64 segments;  // a byte for each segment: how far back its block begins
  u64 segment_bits;
};

// A method at a place in compiled code.
struct java_inlined {
  u64 method;
  u32 place;  // in its bytecode; script_no_place if it is not known
  u32 pad;
};

// A frame of Java's code.
struct java_frame {
  u64 word;      // what stands for it in a stack
  u32 instance;  // which of those that had or will have the same word
  u32 pad;
};

// The part of a virtual thread's frames in Java's heap in which the walk is.
struct java_chunk {
  u64 came;         // to this stack pointer, from a frame of Java's code; 0 = not yet
  u64 end;          // of its frames; 0 = the walk is on the stack
  u64 next;         // the part with their callers; 0 = there is none
  u64 of;           // the object that both belong to
  u32 form;         // of the objects
  u32 collections;  // that had begun when the walk came here
};

struct java_layout {
  // Addresses in the file.
  u64 table;
  u64 heaps_at, interpreter_at, call_stub_at;                             // of pointers
  u64 references_at, reference_bits_at, stale_marked_at, stale_whole_at;  // of the values below
  u64 collector_at;                                                       // of a pointer
  u16 entry[java_field_count];  // by enum java_field: the number in the table
  u16 const_bytes, pool_bytes;  // of ConstMethod and ConstantPool
  u16 block_bytes;              // of what lies before each blob
  // What programs read of the process, once its interpreter is there.
  u16 offset[java_field_count];
  u16 lowest_digit;   // of numbers in compiled code's tables
  u16 virtual_entry;  // the intrinsic that enters a virtual thread, once it was met
  u16 apart;          // compiled code's tables lie apart from it, as since 25
  u16 chunk_form;     // of virtual threads' frames in the heap, plus 1, once some were met
  u32 begun;
  u32 heaps;
  u64 references;  // what short references to objects are added to, shifted by
  u64 reference_bits;
  u64 stale_marked, stale_whole;  // addresses of these marks; 0 = another collector
  u64 collector;                  // what knows of collections
  struct java_heap heap[java_most_heaps];
  u64 low, bytes;  // of all of these
  u64 interpreter, interpreter_bytes;
  u64 call_stub;
  // Addresses of names, once they were read.
  u64 compiled_name, native_name;
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
