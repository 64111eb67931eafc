// SPDX-License-Identifier: BSD-2-Clause
// Scans text 64 bytes at a time with SSE2, which every x86-64 processor has. AVX2 and AVX-512 were
// not measurably faster, because the time goes into reading the bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace memflame {

// The lines of a text before its first empty line ("\n\n").
struct Paragraph {
  size_t size = 0;  // with the last line's feed; 0 if there is no empty line, or it comes first
  size_t lines = 0;
  size_t first = 0;  // the size of the first line, without its feed
};
Paragraph first_paragraph(std::string_view text);

}  // namespace memflame
