// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/source/unpack.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace memflame {
namespace {

using namespace std::string_view_literals;

class Beginning : public ByteStream {
 public:
  Beginning(std::string begin, std::unique_ptr<ByteStream> rest)
      : begin_(std::move(begin)), rest_(std::move(rest)) {}

  size_t read(char* into, size_t size) override {
    if (taken_ == begin_.size()) return rest_->read(into, size);
    const size_t part = std::min(size, begin_.size() - taken_);
    std::memcpy(into, begin_.data() + taken_, part);
    taken_ += part;
    return part;
  }

  // The file has the beginning before what is not read yet: nobody makes one of other bytes for it.
  std::optional<FilePart> part_of_file() const override {
    std::optional<FilePart> part = rest_->part_of_file();
    if (part) part->begin -= begin_.size() - taken_;
    return part;
  }

 private:
  std::string begin_;
  std::unique_ptr<ByteStream> rest_;
  size_t taken_ = 0;
};

// "BZh", the level, and the first block or the end of an empty file.
bool is_bzip2(std::string_view begin) {
  if (!begin.starts_with("BZh") || begin.size() < 4 || begin[3] < '1' || begin[3] > '9')
    return false;
  return begin.substr(4).starts_with("1AY&SY") ||
         begin.substr(4).starts_with("\x17\x72\x45\x38\x50\x90");
}

bool is_zip(std::string_view begin) {
  return begin.starts_with("PK\x03\x04") || begin.starts_with("PK\x05\x06");
}

struct Packing {
  bool (*matches)(std::string_view begin);
  std::unique_ptr<ByteStream> (*unpack)(std::unique_ptr<ByteStream>);
};

constexpr std::array packings{
    Packing{[](std::string_view begin) { return begin.starts_with("\x1f\x8b"); }, unpack_gzip},
    Packing{[](std::string_view begin) { return begin.starts_with("\x28\xb5\x2f\xfd"); },
            unpack_zstd},
    Packing{[](std::string_view begin) {
              return begin.starts_with(
                  "\xfd"
                  "7zXZ\0"sv);
            },
            unpack_xz},
    Packing{is_bzip2, unpack_bzip2},
    Packing{is_zip, unpack_zip},
    Packing{[](std::string_view begin) { return begin.starts_with("\x04\x22\x4d\x18"); },
            unpack_lz4},
    Packing{is_bytehound_blocks, unpack_bytehound},
};

}  // namespace

std::unique_ptr<ByteStream> with_beginning(std::string begin, std::unique_ptr<ByteStream> rest) {
  return std::make_unique<Beginning>(std::move(begin), std::move(rest));
}

std::unique_ptr<ByteStream> unpacked(std::string begin, std::unique_ptr<ByteStream> stream) {
  const std::string_view magic = begin;
  for (const Packing& packing : packings)
    if (packing.matches(magic))
      return packing.unpack(with_beginning(std::move(begin), std::move(stream)));
  const bool little = magic.starts_with("\xff\xfe");
  if (little || magic.starts_with("\xfe\xff"))
    return utf16_as_utf8(with_beginning(begin.substr(2), std::move(stream)), !little);
  if (magic.starts_with("\xef\xbb\xbf")) begin.erase(0, 3);
  return with_beginning(std::move(begin), std::move(stream));
}

}  // namespace memflame
