// SPDX-License-Identifier: BSD-2-Clause
// The memory of a watched program, and the layout of what is in it, as an input has them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace memflame {

// The input lies at one place, and beside it is nothing; or it is repeated at each address, so that
// any pointer leads somewhere, and often in a circle.
struct MadeMemory {
  static constexpr uint64_t base = 1 << 20;
  std::span<const uint8_t> bytes;
  bool everywhere = false;

  // 0 if all of it could be read.
  long read(void* to, size_t size, uint64_t address) const {
    if (bytes.empty()) return -14;
    const uint64_t at = address - base;
    if (!everywhere) {
      if (at > bytes.size() || bytes.size() - at < size) return -14;
      std::memcpy(to, bytes.data() + at, size);
      return 0;
    }
    auto* next = static_cast<uint8_t*>(to);
    for (size_t from = at % bytes.size(); size > 0; from = 0) {
      const size_t piece = std::min(size, bytes.size() - from);
      std::memcpy(next, bytes.data() + from, piece);
      next += piece;
      size -= piece;
    }
    return 0;
  }
};

// What stands at the front of the input; zeros behind its end.
template <class T>
T take_made(std::span<const uint8_t>& input) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value{};
  const size_t size = std::min(sizeof(T), input.size());
  if (size > 0) std::memcpy(&value, input.data(), size);
  input = input.subspan(size);
  return value;
}

// What the first byte of an input chooses; the rest is each language's own.
enum MadeChoice : uint8_t { made_everywhere = 0x80, made_layout = 0x40 };

}  // namespace memflame
