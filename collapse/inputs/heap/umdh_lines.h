// SPDX-License-Identifier: BSD-2-Clause
// Lines of Windows' UMDH. Numbers are hexadecimal, in comparisons decimal with `umdh -d`, and
// nothing says which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collapse/inputs/text_frame.h"

namespace memflame {

// "5320" in both notations; no `decimal` if it has a digit above 9 or is beyond 64 bits.
struct UmdhNumber {
  int64_t hex = 0;
  std::optional<int64_t> decimal = 0;
};

// "30 bytes + 2C at 206EDDA8BA0 by BackTraceEDD4EEA6": a block. Or all of one size and stack, in
// older versions: "00005320 bytes in 0x14 allocations (@ 0x00000428) by: BackTrace00053".
struct UmdhBlocks {
  int64_t bytes = 0, overhead = 0, count = 1;
  std::string_view trace;  // "BackTraceEDD4EEA6"
};

// "+ 5320 ( f110 - 9df0) 3a allocs BackTrace00053", and the blocks:
// "+ 3 ( 3a - 37) BackTrace00053 allocations".
struct UmdhChange {
  bool negative = false;
  UmdhNumber delta, after, before;
  std::optional<UmdhNumber> count;  // of blocks, in a line with bytes only
  bool of_blocks = false;
  std::string_view trace;
};

// "Total increase == 5320 requested + 1654 overhead = 6974", or a decrease.
struct UmdhTotal {
  bool negative = false;
  UmdhNumber requested;
};

// "//            7ffe82260000   1f8000 C:\Windows\SYSTEM32\ntdll.dll".
struct UmdhModule {
  uint64_t base = 0, size = 0;
  std::string_view path;
};

// None if the line does not have this form. Throw Error if a number does not fit in 64 bits.
std::optional<UmdhBlocks> umdh_blocks(std::string_view line);
std::optional<UmdhChange> umdh_change(std::string_view line);
std::optional<UmdhTotal> umdh_total(std::string_view line);
std::optional<UmdhModule> umdh_module(std::string_view line);

// "server!make+2C (c:\src\make.cc, 163)". `address` if it has only that: "7FFE82352933".
struct UmdhFrame {
  TextFrame frame;
  std::string_view offset;  // "2C"
  std::optional<uint64_t> address;
};
UmdhFrame umdh_frame(std::string_view text);

// "ntdll.dll" of "C:\Windows\SYSTEM32\ntdll.dll".
std::string_view windows_file_name(std::string_view path);

}  // namespace memflame
