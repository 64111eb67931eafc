// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "collapse/inputs/text_frame.h"

namespace memflame {

struct GdbFrame {
  TextFrame frame;
  std::string_view address;  // "0x00401136"; empty if gdb prints none
  bool special = false;      // "<signal handler called>"
};

// "#12  …": 12.
std::optional<int64_t> gdb_frame_number(std::string_view line);

// "#1  0x00401136 in f (n=5) at f.c:3", "#0  f (n=5) at f.c:3", "#2  0x7f12 in g () from
// /lib/g.so".
GdbFrame parse_gdb_frame(std::string_view line);

}  // namespace memflame
