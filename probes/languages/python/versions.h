// SPDX-License-Identifier: BSD-2-Clause
// The layouts of the versions of CPython that are known. Also for code without a C++ library.
#pragma once

#include <stdint.h>  // NOLINT(modernize-deprecated-headers)

#include "probes/languages/python/layout.h"

namespace memflame {

// Offsets of the headers of 3.11.7, 3.12.1 and 3.13.0 (pycore_runtime.h, pycore_frame.h,
// cpython/code.h, cpython/unicodeobject.h), which releases of one version share.
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
                                                .pad = 0};

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

// The layout of a version and where, in _PyRuntime, the key lies (autoTSSkey).
struct PythonVersion {
  unsigned minor = 0;  // 3.minor
  uint64_t key = 0;
  bpf::python_layout layout{};
};
inline constexpr PythonVersion python_versions[] = {
    {.minor = 11, .key = 592, .layout = layout_3_11},
    {.minor = 12, .key = 1544, .layout = layout_3_12()},
    {.minor = 13, .key = 2160, .layout = layout_3_13()},
};

// Since 3.13 the runtime begins with a table of offsets (struct _Py_DebugOffsets), numbers of eight
// bytes. These are their places in it.
enum DebugOffset : unsigned {
  debug_version = 1,
  debug_free_threaded = 2,
  debug_innermost = 23,
  debug_frame_previous = 29,
  debug_frame_code = 30,
  debug_frame_instruction = 31,
  debug_frame_owner = 33,
  debug_code_file = 35,
  debug_code_name = 37,
  debug_code_lines = 38,
  debug_code_first_line = 39,
  debug_code_instructions = 43,
  debug_offsets = 73,
};
inline constexpr char debug_cookie[] = "xdebugpy";
using DebugOffsets = uint64_t[debug_offsets];

inline bool has_offsets(const DebugOffsets& table, const bpf::python_layout& layout) {
  return table[debug_innermost] == layout.innermost &&
         table[debug_frame_previous] == layout.frame_previous &&
         table[debug_frame_code] == layout.frame_code &&
         table[debug_frame_instruction] == layout.frame_instruction &&
         table[debug_frame_owner] == layout.frame_owner &&
         table[debug_code_file] == layout.code_file && table[debug_code_name] == layout.code_name &&
         table[debug_code_lines] == layout.code_lines &&
         table[debug_code_first_line] == layout.code_first_line &&
         table[debug_code_instructions] == layout.code_instructions;
}

}  // namespace memflame
