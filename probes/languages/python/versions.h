// SPDX-License-Identifier: BSD-2-Clause
// The layouts of the versions of CPython that are known. Also for code without a C++ library.
#pragma once

#include <stdint.h>  // NOLINT(modernize-deprecated-headers)

#include "probes/languages/python/layout.h"

namespace memflame {

// Offsets of the headers of 3.11.7, 3.12.1 and 3.13.0 (pycore_runtime.h, pycore_frame.h,
// cpython/code.h, cpython/unicodeobject.h), and of the debug information of Debian's 3.14.10
// and 3.15.2. Releases of one version share them.
inline constexpr bpf::python_layout layout_3_11{.innermost = 56,
                                                .has_record = 1,
                                                .record_frame = 8,
                                                .record_previous = 16,
                                                .frame_code = 32,
                                                .frame_previous = 48,
                                                .frame_instruction = 56,
                                                .frame_owner = 69,
                                                .frame_is_entry = 68,
                                                .entry_owner = 0,
                                                .code_first_line = 72,
                                                .code_file = 112,
                                                .code_name = 128,
                                                .code_lines = 136,
                                                .code_instructions = 184,
                                                .bytes_size = 16,
                                                .bytes_text = 32,
                                                .text_length = 16,
                                                .text_state = 32,
                                                .text_ascii = 48,
                                                .text_any = 72,
                                                .state_by = bpf::python_by_key,
                                                .state_offset = 0};

constexpr bpf::python_layout layout_3_12() {
  bpf::python_layout layout = layout_3_11;
  layout.record_frame = 0;
  layout.record_previous = 8;
  layout.frame_code = 0;
  layout.frame_previous = 8;
  layout.frame_owner = 70;
  layout.frame_is_entry = 0;
  layout.entry_owner = 3;
  layout.code_first_line = 68;
  layout.code_instructions = 192;
  layout.text_ascii = 40;
  layout.text_any = 56;
  return layout;
}

constexpr bpf::python_layout layout_3_13() {
  bpf::python_layout layout = layout_3_12();
  layout.innermost = 72;
  layout.has_record = layout.record_frame = layout.record_previous = 0;
  layout.code_instructions = 200;
  return layout;
}

constexpr bpf::python_layout layout_3_14() {
  bpf::python_layout layout = layout_3_13();
  layout.frame_owner = 74;
  layout.code_instructions = 208;
  return layout;
}

constexpr bpf::python_layout layout_3_15() {
  bpf::python_layout layout = layout_3_14();
  layout.state_by = bpf::python_by_offset;  // or in a block: program.cc finds out
  return layout;
}

// Since 3.13 the runtime begins with a table of offsets (struct _Py_DebugOffsets), numbers of eight
// bytes.
enum DebugOffset : unsigned {
  debug_free_threaded = 2,
  debug_offsets = 73,  // as many as are read
};
inline constexpr char debug_cookie[] = "xdebugpy";
using DebugOffsets = uint64_t[debug_offsets];

// Which of them are compared with a layout.
struct DebugPlaces {
  unsigned innermost = 0;  // 0 = the version has no table
  unsigned frame_previous = 0, frame_code = 0, frame_instruction = 0, frame_owner = 0;
  unsigned code_file = 0, code_name = 0, code_lines = 0, code_first_line = 0;
  unsigned code_instructions = 0;
};

// The layout of a version and where, in _PyRuntime, the key lies (autoTSSkey), if it has one.
struct PythonVersion {
  unsigned minor = 0;  // 3.minor
  uint64_t key = 0;
  bpf::python_layout layout{};
  DebugPlaces places{};
};
inline constexpr PythonVersion python_versions[] = {
    {.minor = 11, .key = 592, .layout = layout_3_11, .places = {}},
    {.minor = 12, .key = 1544, .layout = layout_3_12(), .places = {}},
    {.minor = 13,
     .key = 2160,
     .layout = layout_3_13(),
     .places = {.innermost = 23,
                .frame_previous = 29,
                .frame_code = 30,
                .frame_instruction = 31,
                .frame_owner = 33,
                .code_file = 35,
                .code_name = 37,
                .code_lines = 38,
                .code_first_line = 39,
                .code_instructions = 43}},
    {.minor = 14,
     .key = 2336,
     .layout = layout_3_14(),
     .places = {.innermost = 26,
                .frame_previous = 32,
                .frame_code = 33,
                .frame_instruction = 34,
                .frame_owner = 36,
                .code_file = 40,
                .code_name = 42,
                .code_lines = 43,
                .code_first_line = 44,
                .code_instructions = 48}},
    {.minor = 15,
     .key = 0,
     .layout = layout_3_15(),
     .places = {.innermost = 26,
                .frame_previous = 40,
                .frame_code = 41,
                .frame_instruction = 42,
                .frame_owner = 44,
                .code_file = 48,
                .code_name = 50,
                .code_lines = 51,
                .code_first_line = 52,
                .code_instructions = 56}},
};
inline constexpr char python_versions_read[] = "3.11 to 3.15";

inline bool has_table(const PythonVersion& version) { return version.places.innermost != 0; }

inline bool has_offsets(const DebugOffsets& table, const PythonVersion& version) {
  const bpf::python_layout& layout = version.layout;
  const DebugPlaces& at = version.places;
  return table[at.innermost] == layout.innermost &&
         table[at.frame_previous] == layout.frame_previous &&
         table[at.frame_code] == layout.frame_code &&
         table[at.frame_instruction] == layout.frame_instruction &&
         table[at.frame_owner] == layout.frame_owner && table[at.code_file] == layout.code_file &&
         table[at.code_name] == layout.code_name && table[at.code_lines] == layout.code_lines &&
         table[at.code_first_line] == layout.code_first_line &&
         table[at.code_instructions] == layout.code_instructions;
}

}  // namespace memflame
