// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/bytehound_bytes.h"

#include <algorithm>
#include <bit>

#include "core/error.h"

namespace memflame {

bool BytehoundBytes::at_end() {
  if (at_ == end_) fill();
  return end_ == 0;
}

void BytehoundBytes::fill() {
  before_ += at_;
  at_ = 0;
  end_ = source_.read(buffer_.data(), buffer_.size());
}

std::string_view BytehoundBytes::some(uint64_t most) {
  if (at_end()) throw Ended{};
  const size_t size = std::min<uint64_t>(most, end_ - at_);
  const std::string_view bytes(buffer_.data() + at_, size);
  at_ += size;
  return bytes;
}

uint64_t BytehoundBytes::number(size_t width) {
  uint64_t value = 0;
  constexpr unsigned byte_bits = 8;
  for (size_t i = 0; i < width; ++i)
    value |= uint64_t{static_cast<unsigned char>(some(1)[0])} << (i * byte_bits);
  return value;
}

uint64_t BytehoundBytes::varint() {
  const uint8_t first = u8();
  const auto more = static_cast<unsigned>(std::countl_one(first));
  constexpr unsigned byte_bits = 8;
  const uint64_t low = number(more);
  if (more >= byte_bits - 1) return low;  // the first byte has no bits of the value
  const uint64_t high = first & (0xffU >> more);
  return high << (more * byte_bits) | low;
}

void BytehoundBytes::skip(uint64_t size) {
  while (size != 0) size -= some(size).size();
}

std::string BytehoundBytes::text(size_t most) {
  const size_t length = u32();
  if (length > most) throw Error("a text is longer than " + std::to_string(most) + " bytes");
  std::string all;
  while (all.size() < length) all += some(length - all.size());
  return all;
}

void BytehoundBytes::numbers(size_t width, size_t most, std::vector<uint64_t>& into) {
  const size_t count = u32();
  if (count > most) throw Error("a list has more than " + std::to_string(most) + " numbers");
  for (size_t i = 0; i < count; ++i) into.push_back(number(width));
}

}  // namespace memflame
