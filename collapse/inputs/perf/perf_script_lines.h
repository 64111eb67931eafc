// SPDX-License-Identifier: BSD-2-Clause
// The lines of `perf script`: the header of a sample, the frames below it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/stack.h"

namespace memflame {

// "V8 Worker 12/34 [000] 94564.109216:  100 cycles:u:  what follows"
struct PerfHeader {
  std::string_view comm;  // may hold blanks; "" if not printed
  std::string_view pid;   // "" if only one number is printed, which is the thread's
  std::string_view tid;
  std::string_view period;  // "" if not printed
  std::string_view event;   // without the colon at its end; "" if not printed
  std::string_view rest;    // fields of the event, or the only frame
  bool placed = false;      // a processor or a time is printed: only headers have these
};
std::optional<PerfHeader> parse_perf_header(std::string_view line);

// "    7f12 main+0x2d (/bin/app)"
struct PerfFrame {
  std::string_view address;  // hexadecimal digits
  std::string_view symbol;   // without the offset
  std::string_view offset;   // "+0x2d" or ""
  std::string_view module;   // without " (deleted)"; "" if not printed
  FrameKind kind = FrameKind::user;
};
std::optional<PerfFrame> parse_perf_frame(std::string_view line);

// The text after an event is a frame, possibly preceded by the address of data that was touched.
std::optional<PerfFrame> parse_perf_single_frame(std::string_view rest);

// "  file.cpp:137", which `-F +srcline` prints below a frame.
struct PerfSource {
  std::string_view file;  // "" if it is only a module's name again
  uint32_t line = 0;
};
std::optional<PerfSource> parse_perf_source(std::string_view line);

// "bytes_req" in "call_site=ffff bytes_req=100" and "fd: 0x01, count: 0x40": the value's text.
// Nothing if there is no such field.
std::optional<std::string_view> perf_field(std::string_view fields, std::string_view name);

// A field's value as a number: decimal, or hexadecimal after 0x. Throws std::out_of_range beyond 64
// bits.
std::optional<int64_t> perf_number(std::string_view text);

// The name of the file without its folders; "[kernel.kallsyms]" without its brackets.
std::string_view perf_module_name(std::string_view module);

}  // namespace memflame
