// SPDX-License-Identifier: BSD-2-Clause
// Sections of unwind information, written byte by byte.
#pragma once

#include <doctest/doctest.h>
#include <dwarf.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "probes/unwind/eh_frame.h"
#include "probes/unwind/row.h"

namespace memflame::unwind::fixture {

inline constexpr uint64_t code_begin = 0x401000, frames_begin = 0x500000;
inline constexpr uint8_t rbx = 3, rbp = 6, rsp = 7, rip = 16;

struct Builder {
  std::vector<std::byte> bytes;

  template <typename T>
  Builder& put(T value) {
    const auto* raw = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof(T));
    return *this;
  }
  Builder& raw(std::initializer_list<int> values) {
    for (const int v : values) put(static_cast<uint8_t>(v));
    return *this;
  }
  Builder& text(std::string_view value) {
    for (const char c : value) put(c);
    return put('\0');
  }
  Builder& add(const std::vector<std::byte>& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return *this;
  }
};

using Raw = std::initializer_list<int>;

// CFA = rsp + 8, return address at CFA - 8: what every x86-64 CIE begins with.
inline constexpr Raw usual{DW_CFA_def_cfa, rsp, 8, DW_CFA_offset | rip, 1};

std::vector<std::byte> cie(Raw program = usual, std::string_view augmentation = "zR",
                           Raw data = {DW_EH_PE_absptr}, int version = 1);

// Together with the bytes that they were read from.
struct Read : Frames {
  std::vector<std::byte> bytes;
};

struct Section {
  Builder out;

  explicit Section(const std::vector<std::byte>& first = cie()) { out.add(first); }

  // An FDE of the CIE at `owner`, with the bytes between the CIE pointer and the program.
  Section& fde(const std::vector<std::byte>& head, Raw program, uint64_t owner = 0) {
    Builder body;
    body.put(static_cast<uint32_t>(out.bytes.size() + 4 - owner)).add(head).raw(program);
    out.put(static_cast<uint32_t>(body.bytes.size())).add(body.bytes);
    return *this;
  }
  Section& fde(Raw program, uint64_t size = 64) {
    return fde(Builder().put(code_begin).put(size).put('\0').bytes, program);
  }
  Read read(bool ends_at_zero = false) const {
    Read frames;
    frames.bytes = out.bytes;
    FrameSection section{frames.bytes, frames_begin};
    section.ends_at_zero = ends_at_zero;
    section.text = 0x400000;
    section.data = 0x600000;
    read_frames(section, frames);
    return frames;
  }
};

std::vector<row> rows_of(const Frames& frames, size_t index = 0);
std::vector<row> rows_of(Raw program);

bool malformed(Raw program);

bool is(const row& r, uint32_t pc, int kind, int cfa, int saved = 0);

// The only row of a program that never advances.
bool only(Raw program, int kind, int cfa = 0, int saved = 0);

}  // namespace memflame::unwind::fixture
