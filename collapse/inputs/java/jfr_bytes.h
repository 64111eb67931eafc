// SPDX-License-Identifier: BSD-2-Clause
// Numbers and texts as Java Flight Recorder writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memflame {

// Reads from a part of a chunk. After the end or damage everything is 0 and good() is false.
class JfrBytes {
 public:
  JfrBytes() = default;
  explicit JfrBytes(std::string_view bytes) : rest_(bytes) {}

  bool good() const { return good_; }
  std::string_view rest() const { return rest_; }
  void fail() {
    good_ = false;
    rest_ = {};
  }

  uint64_t fixed(size_t size);  // big-endian
  // 7 bits a byte, the lowest first; the ninth byte has 8.
  int64_t number();
  bool flag() { return fixed(1) != 0; }
  std::string_view bytes(size_t size);
  // A count of things that take a byte or more each.
  size_t count();

  // Passes over a text, which has one of six forms.
  void skip_text();
  // Its beginning, as long as a name may be. `constant` is the key of a text in the pool of strings
  // if that is its form, otherwise -1.
  std::string text(int64_t& constant) const;

 private:
  std::string utf16(size_t units);

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace memflame
