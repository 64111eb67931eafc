// SPDX-License-Identifier: BSD-2-Clause
// The folded text format, which collapse reads and render writes:
//
//   # memflame folded unit=bytes value=live total=5120
//   # memflame title="my server"
//   main;parse;operator new(unsigned long) 4096
//   main;[lost: ring buffer full] 1024
//
// A line holds the frames of one stack from its root, joined by ';', then a blank or TAB, then a
// number, which may have a minus sign and decimals. Lines that begin with "# " are comments. Our
// comments hold what the stacks alone do not say, as key=value, with JSON quotes around text; none
// ends in a blank and a number, so other tools cannot take it for a stack. The names memflame
// writes contain no ';' and no control character.
//
// Lines with several numbers, separated by blanks or TABs, have columns in their header; value= and
// total= belong to the column that is shown:
//
//   # memflame folded unit=bytes value=live total=5120 columns="live:bytes,live-count:count"
//   main;parse;operator new(unsigned long)	4096	3
#pragma once

#include <array>
#include <string_view>

#include "core/stack.h"

namespace memflame {

inline constexpr std::string_view folded_comment = "# memflame ";

// The customary suffixes that mark a frame's kind.
struct FoldedSuffix {
  FrameKind kind;
  std::string_view text;
};
inline constexpr std::array<FoldedSuffix, 3> folded_suffixes{
    {{FrameKind::kernel, "_[k]"}, {FrameKind::inlined, "_[i]"}, {FrameKind::jit, "_[j]"}}};

}  // namespace memflame
