// SPDX-License-Identifier: BSD-2-Clause
// Zydis, set up for the code of 64-bit programs.
#pragma once

#include <Zydis/Zydis.h>

namespace memflame {

inline const ZydisDecoder& x86_decoder() {
  static const ZydisDecoder made = [] {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return decoder;
  }();
  return made;
}

}  // namespace memflame
