// SPDX-License-Identifier: BSD-2-Clause
// The blocks that bytehound writes its events in: a byte, 1 for LZ4 and 2 for plain bytes, and the
// block's length. bytehound makes blocks of 512 KiB.
#include <algorithm>
#include <cstring>
#include <vector>

#include "collapse/source/lz4_block.h"
#include "collapse/source/unpack.h"
#include "collapse/source/unpacker.h"

namespace memflame {
namespace {

constexpr size_t most_unpacked = size_t{4} << 20U;
// LZ4 needs at most a byte more for 255 bytes.
constexpr size_t most_packed = most_unpacked + most_unpacked / 255 + 16;
enum BlockKind : uint8_t { packed_block = 1, plain_block = 2 };
constexpr size_t block_head = 5;  // the kind, and the length

uint32_t length_in(std::string_view head) {
  uint32_t length = 0;
  for (size_t i = block_head; i-- > 1;) length = length << 8U | static_cast<unsigned char>(head[i]);
  return length;
}

class BytehoundBlocks : public Unpacker {
 public:
  explicit BytehoundBlocks(std::unique_ptr<ByteStream> packed)
      : Unpacker("bytehound", std::move(packed)) {}

 protected:
  size_t unpack(char* into, size_t size) override {
    while (taken_ == block_.size() && plain_ == 0) {
      if (!fill(block_head)) return packed_.empty() ? 0 : cut_off();
      const char kind = packed_[0];
      const size_t length = length_in({packed_.data(), packed_.size()});
      if (kind == plain_block) {
        plain_ = length;
        packed_.clear();
      } else if (kind == packed_block && length <= most_packed) {
        if (!fill(block_head + length)) return cut_off();
        if (!unpack_lz4_block(std::span(packed_).subspan(block_head), block_, most_unpacked))
          damaged("a block is not LZ4");
        taken_ = 0;
        packed_.clear();
      } else {
        damaged(kind == packed_block ? "a block is too large" : "a block of an unknown kind");
      }
    }
    if (plain_ != 0) {
      if (in_.empty()) in_ = more();
      if (in_.empty()) return cut_off();
      const size_t part = std::min({size, in_.size(), plain_});
      std::memcpy(into, in_.data(), part);
      in_ = in_.subspan(part);
      plain_ -= part;
      return part;
    }
    const size_t part = std::min(size, block_.size() - taken_);
    std::memcpy(into, block_.data() + taken_, part);
    taken_ += part;
    return part;
  }

 private:
  // Adds packed bytes until `packed_` has `size` of them; false if they end before.
  bool fill(size_t size) {
    while (packed_.size() < size) {
      if (in_.empty()) in_ = more();
      if (in_.empty()) return false;
      const size_t part = std::min(in_.size(), size - packed_.size());
      packed_.insert(packed_.end(), in_.begin(), in_.begin() + static_cast<ptrdiff_t>(part));
      in_ = in_.subspan(part);
    }
    return true;
  }

  std::span<char> in_;  // packed bytes not looked at yet
  std::vector<char> packed_, block_;
  size_t taken_ = 0;  // of block_
  size_t plain_ = 0;  // bytes left of a plain block
};

}  // namespace

// There is no magic number. The first event is a header: its kind is 0 in 32 bits, and 16 random
// bytes follow, so LZ4 begins with these as literal bytes.
bool is_bytehound_blocks(std::string_view begin) {
  constexpr std::string_view header("\0\0\0\0", 4);
  constexpr size_t more_follow = 15;
  if (begin.size() < block_head + header.size() + 3 || length_in(begin) > most_packed) return false;
  if (begin[0] == plain_block) return begin.substr(block_head).starts_with(header);
  const size_t literals = static_cast<unsigned char>(begin[block_head]) >> 4U;
  if (begin[0] != packed_block || literals < header.size()) return false;
  size_t at = block_head + 1;
  if (literals == more_follow) {
    while (at < begin.size() && begin[at] == '\xff') ++at;
    ++at;
  }
  return begin.substr(std::min(at, begin.size())).starts_with(header);
}

std::unique_ptr<ByteStream> unpack_bytehound(std::unique_ptr<ByteStream> packed) {
  return std::make_unique<BytehoundBlocks>(std::move(packed));
}

}  // namespace memflame
