// SPDX-License-Identifier: BSD-2-Clause
// What the functions of each language are called: LANGUAGE/names.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/recording.h"
#include "probes/bpf/shared.h"

namespace memflame {

// Fills in what programs have read of a function. `lines`: what is behind its texts;
// `instructions`: what to take from a place in its code before it is looked up in its lines. False:
// nothing could be read.
using NameScript = bool(const bpf::script_code_record& record, std::span<const uint8_t> lines,
                        ScriptCode& code, uint32_t& instructions);

#define MEMFLAME_LANGUAGE(name, word, mark, versions) NameScript name_##name;
#include "core/languages.def"
#undef MEMFLAME_LANGUAGE

// A text that a program has cut at `most` bytes, if it is that long.
std::string script_text_of(const uint8_t* from, size_t bytes, size_t most);
// Whether there is such a character.
inline bool is_character(uint32_t point) {
  return point < 0x110000 && (point < 0xd800 || point >= 0xe000);
}

// Python's characters have 1, 2 or 4 bytes each, as the state of the text says; V8's 1 or 2.
std::string python_text(std::span<const uint8_t> text, uint32_t state);
std::string v8_text(std::span<const uint8_t> text, uint32_t form);

}  // namespace memflame
