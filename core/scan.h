// SPDX-License-Identifier: BSD-2-Clause
// Finds the end of a paragraph and hashes it in one pass, 64 bytes at a time: with AVX2 if the
// processor has it, else with SSE2, which every x86-64 processor has. Both give the same result.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/hash.h"
#include "core/scan_chunks.h"

namespace memflame {

// The lines of a text, which begins with a line, before its first empty line. No lines if the text
// begins with a line feed.
struct Paragraph {
  bool ended = false;  // false: the text has no empty line, and the rest says nothing
  size_t size = 0;     // with the last line's feed; the empty line's feed follows
  size_t lines = 0;
  Hash128 hash{};
};
Paragraph first_paragraph(std::string_view text);

// The same by one way, and byte by byte: for tests.
Paragraph first_paragraph_by(ScanChunks scan, std::string_view text);
Paragraph first_paragraph_by_bytes(std::string_view text);

}  // namespace memflame
