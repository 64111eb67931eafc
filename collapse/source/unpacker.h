// SPDX-License-Identifier: BSD-2-Clause
// What the streams that unpack have in common: they count, and know when the packed bytes end too
// soon.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "collapse/source/source.h"

namespace memflame {

class Unpacker : public ByteStream {
 public:
  // `format` is a literal.
  Unpacker(std::string_view format, std::unique_ptr<ByteStream> packed)
      : format_(format), packed_(std::move(packed)) {}

  size_t read(char* into, size_t size) final;
  std::string missing() const final;

 protected:
  // As read(), for at least one byte.
  virtual size_t unpack(char* into, size_t size) = 0;

  // More packed bytes, valid until the next call; empty at their end.
  std::span<char> more();
  // To be returned by unpack() if more() is empty and should not be.
  size_t cut_off() {
    is_cut_ = true;
    return 0;
  }
  [[noreturn]] void damaged(std::string_view why) const;

  // How many bytes the packed data says it becomes; 0 = unknown.
  void expect(uint64_t size) { expected_ = size; }
  uint64_t unpacked() const { return unpacked_; }

 private:
  const std::string_view format_;
  std::unique_ptr<ByteStream> packed_;
  std::array<char, size_t{256} << 10U> buffer_{};
  uint64_t taken_ = 0, unpacked_ = 0, expected_ = 0;
  bool is_cut_ = false;
};

}  // namespace memflame
