// SPDX-License-Identifier: BSD-2-Clause
// Numbers as the scripts of pictures read them (viewer/decode.mjs): LEB128, signed ones in zigzag
// form, all together as base64 of a gzip stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memflame {

void append_number(std::string& out, uint64_t value);
void append_signed(std::string& out, int64_t value);

// Appends the bytes packed, as lines of base64.
void append_packed(std::string& out, std::string_view bytes, unsigned threads);

// RFC 4648 with "+" and "/".
std::string base64(std::string_view bytes);

}  // namespace memflame
