// SPDX-License-Identifier: BSD-2-Clause
// A frame as gcc's and clang's sanitizers print it, behind its number and address:
//
//   in f(int) /src/f.cc:12:5                              debug information
//   in malloc (/lib/liblsan.so.0+0x13545) (BuildId: 432a)  a symbol only
//    (/bin/server+0x118f)                                 neither
#pragma once

#include <string_view>

#include "collapse/inputs/text_frame.h"

namespace memflame {

struct SanitizerFrame {
  TextFrame frame;            // its function is empty if there is none
  std::string_view offset{};  // in the module: "0x118f"
};

// Whatever does not fit is part of the function's name. Views point into `text`.
SanitizerFrame parse_sanitizer_frame(std::string_view text);

}  // namespace memflame
