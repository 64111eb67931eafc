// SPDX-License-Identifier: BSD-2-Clause
// Objects of V8 in the memory of a process.
#pragma once

#include <optional>

#include "probes/languages/v8/calls.h"

namespace memflame {

class V8Memory {
 public:
  V8Memory(const bpf::v8_layout& layout, uint32_t thread, const ReadV8Memory& read)
      : layout_(layout), thread_(thread), read_(read) {}

  const bpf::v8_layout& layout() const { return layout_; }
  bool read(uint64_t address, void* to, size_t bytes) const { return read_(address, to, bytes); }

  static bool is_object(uint64_t value) { return (value & 3U) == 1 && value >> 47U == 0; }
  // A number as V8 keeps it; none if the word has another form, or the number is negative.
  static std::optional<uint32_t> number(uint64_t value);
  // A field of an object; 0, which is not an object's address, if it cannot be read.
  uint64_t field(uint64_t object, uint64_t offset) const;
  bool is(uint64_t object, uint16_t type) const;
  // A function's key; 0 if this is not the information of one.
  uint64_t key_of(uint64_t info) const;
  // An array of bytes; none if it is not of this type, or too long.
  std::optional<std::vector<uint8_t>> bytes(uint64_t object, uint16_t type, uint64_t items) const;
  // The words of an array. The same.
  std::optional<std::vector<uint64_t>> words(uint64_t object, uint16_t type) const;

 private:
  std::optional<uint32_t> length(uint64_t object, uint16_t type, size_t item) const;

  const bpf::v8_layout& layout_;
  uint32_t thread_;
  const ReadV8Memory& read_;
};

}  // namespace memflame
