// SPDX-License-Identifier: BSD-2-Clause
// Numbers and texts as the chunks of a recording hold them; core/byte_cursor.h reads them.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/byte_cursor.h"
#include "core/error.h"

namespace memflame {

// LEB128, seven bits a byte, the lowest first.
class ByteWriter {
 public:
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  void signed_number(int64_t value) {
    for (; value < -64 || value >= 64; value >>= 7U)
      bytes_.push_back(static_cast<char>((static_cast<uint64_t>(value) & 0x7f) | 0x80));
    bytes_.push_back(static_cast<char>(static_cast<uint64_t>(value) & 0x7f));
  }
  // `from` is what the reader knows. Differences wrap, so any two numbers have one.
  void step(uint64_t from, uint64_t to) { signed_number(static_cast<int64_t>(to - from)); }
  void step(int64_t from, int64_t to) {
    step(static_cast<uint64_t>(from), static_cast<uint64_t>(to));
  }
  void real(double value) { number(std::bit_cast<uint64_t>(value)); }
  void text(std::string_view text) {
    number(text.size());
    bytes_.append(text);
  }
  void append(const ByteWriter& other) { bytes_.append(other.bytes_); }

  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// A chunk whose checksum fits, but whose content cannot be: what follows it is not to be trusted.
struct DamagedChunk : Error {
  explicit DamagedChunk(const std::string& why) : Error(why) {}
};

// Reads one chunk. All numbers are checked; DamagedChunk is thrown for those that cannot be.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(std::as_bytes(std::span(bytes))) {}

  size_t left() const { return bytes_.left(); }
  bool at_end() const { return left() == 0; }
  uint64_t number() { return checked(bytes_.uleb()); }
  int64_t signed_number() { return checked(bytes_.sleb()); }
  uint64_t number_below(uint64_t end, const char* what) {
    const uint64_t value = number();
    if (value >= end) throw DamagedChunk(std::string("it has ") + what + " that cannot be");
    return value;
  }
  uint32_t small(const char* what) {
    return static_cast<uint32_t>(number_below(uint64_t{UINT32_MAX} + 1, what));
  }
  bool flag() { return number_below(2, "a flag") != 0; }
  uint64_t step(uint64_t from) { return from + static_cast<uint64_t>(signed_number()); }
  int64_t step(int64_t from) { return static_cast<int64_t>(step(static_cast<uint64_t>(from))); }
  double real() { return std::bit_cast<double>(number()); }
  // A number of things that take at least one byte each.
  size_t count() { return number_below(bytes_.left() + 1, "a count"); }
  std::string_view text() {
    const auto bytes = bytes_.take(count());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  template <class Number>
  Number checked(Number value) const {
    if (bytes_.failed()) throw DamagedChunk("it ends too soon");
    return value;
  }

  ByteCursor bytes_;
};

// Counts the memory and the work that a recording asks for, so that a small file cannot ask for
// more than a machine has. The limits are far above what a file has that memflame wrote.
class MemoryBudget {
 public:
  // `bytes` more of the file were read.
  void allow(uint64_t bytes) {
    constexpr uint64_t memory_of_a_byte = 4096, work_of_a_byte = uint64_t{64} << 10U;
    memory_ += bytes * memory_of_a_byte;
    work_ += bytes * work_of_a_byte;
  }
  void take(uint64_t bytes) {
    constexpr uint64_t most = uint64_t{32} << 30U;
    if (bytes > memory_ || bytes > most - taken_)
      throw DamagedChunk("what it describes needs more memory than a recording of its size");
    memory_ -= bytes;
    taken_ += bytes;
  }
  void give_back(uint64_t bytes) {
    memory_ += bytes;
    taken_ -= bytes;
  }
  // Cells that are copied from one survey to the next.
  void work(uint64_t cells) {
    if (cells > work_) throw DamagedChunk("it repeats too much");
    work_ -= cells;
  }

 private:
  uint64_t memory_ = uint64_t{64} << 20U, taken_ = 0;
  uint64_t work_ = uint64_t{4} << 30U;
};

}  // namespace memflame
