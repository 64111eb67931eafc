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

// Since 3.13 the runtime begins with a table of offsets (struct _Py_DebugOffsets), numbers of eight
// bytes.
enum DebugOffset : unsigned {
  debug_free_threaded = 2,
  debug_offsets = 73,  // as many as are read
};
inline constexpr char debug_cookie[] = "xdebugpy";
using DebugOffsets = uint64_t[debug_offsets];

// Where in it those begin that are compared with a layout; they follow each other in one order.
struct DebugPlaces {
  unsigned innermost = 0;  // 0 = the version has no table
  unsigned frame = 0, code = 0;
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
     .places = {.innermost = 23, .frame = 29, .code = 35}},
    {.minor = 14,
     .key = 2336,
     .layout = layout_3_14(),
     .places = {.innermost = 26, .frame = 32, .code = 40}},
    {.minor = 15,
     .key = 0,  // program.cc finds out where a thread's state is
     .layout = layout_3_14(),
     .places = {.innermost = 26, .frame = 40, .code = 48}},
};
inline constexpr char python_versions_read[] = "3.11 to 3.15";

inline bool has_table(const PythonVersion& version) { return version.places.innermost != 0; }

inline bool has_offsets(const DebugOffsets& table, const PythonVersion& version) {
  const bpf::python_layout& layout = version.layout;
  const uint64_t* const frame = table + version.places.frame;
  const uint64_t* const code = table + version.places.code;
  return table[version.places.innermost] == layout.innermost && frame[0] == layout.frame_previous &&
         frame[1] == layout.frame_code && frame[2] == layout.frame_instruction &&
         frame[4] == layout.frame_owner && code[0] == layout.code_file &&
         code[2] == layout.code_name && code[3] == layout.code_lines &&
         code[4] == layout.code_first_line && code[8] == layout.code_instructions;
}

}  // namespace memflame
