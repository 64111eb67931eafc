// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/source/unpacker.h"

#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

std::string byte_text(uint64_t bytes) { return with_commas(static_cast<int64_t>(bytes)); }

}  // namespace

size_t Unpacker::read(char* into, size_t size) {
  if (size == 0 || is_cut_) return 0;
  const size_t got = unpack(into, size);
  unpacked_ += got;
  return got;
}

std::string Unpacker::missing() const {
  if (!is_cut_) return "";
  return "its " + std::string(format_) + " data ends in the middle: its " + byte_text(taken_) +
         " bytes unpack to " + byte_text(unpacked_) +
         (expected_ > unpacked_ ? " of " + byte_text(expected_) + " bytes" : " bytes") +
         ", the rest is missing";
}

std::span<char> Unpacker::more() {
  const size_t got = packed_->read(buffer_.data(), buffer_.size());
  taken_ += got;
  return std::span(buffer_).first(got);
}

void Unpacker::damaged(std::string_view why) const {
  throw Error("its " + std::string(format_) + " data is damaged" +
              (why.empty() ? "" : ": " + std::string(why)));
}

}  // namespace memflame
