// SPDX-License-Identifier: BSD-2-Clause
// The folded text format, which collapse reads and render writes:
//
//   # memflame folded unit=bytes value=live total=5120
//   # memflame title="Of my server"
//   main;parse;operator new(unsigned long) 4096
//   main;[lost: ring buffer full] 1024
//
// A line is the frames of one stack from its root, joined by ';', a blank or TAB, and a number,
// which may have a minus sign and decimals. Lines that begin with "# " are comments. Ours carry
// what the stacks alone do not say, as key=value with JSON quotes where a value is text; no comment
// of ours ends in a blank and a number, so that other tools cannot take one for a stack. What
// memflame writes holds no ';' and no control character in a name.
//
// Lines of several numbers, with blanks or TABs between them, have columns in their header; value=
// and total= are of the one that is shown:
//
//   # memflame folded unit=bytes value=live total=5120 columns="live:bytes,live-count:count"
//   main;parse;operator new(unsigned long)	4096	3
#pragma once

#include <array>
#include <string_view>

#include "core/stack.h"

namespace memflame {

inline constexpr std::string_view folded_comment = "# memflame ";

// The customary marks of frame kinds, at the end of a name.
struct FoldedSuffix {
  FrameKind kind;
  std::string_view text;
};
inline constexpr std::array<FoldedSuffix, 3> folded_suffixes{
    {{FrameKind::kernel, "_[k]"}, {FrameKind::inlined, "_[i]"}, {FrameKind::jit, "_[j]"}}};

}  // namespace memflame
