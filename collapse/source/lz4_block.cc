// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/source/lz4_block.h"

#include <optional>

namespace memflame {
namespace {

class BlockBytes {
 public:
  explicit BlockBytes(std::span<const char> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  size_t size() const { return bytes_.size(); }

  std::span<const char> take(size_t length) {
    const std::span<const char> taken = bytes_.first(length);
    bytes_ = bytes_.subspan(length);
    return taken;
  }

  std::optional<size_t> byte() {
    if (bytes_.empty()) return std::nullopt;
    return static_cast<unsigned char>(take(1)[0]);
  }

  // A length whose first part is four bits of a token: 15 means that bytes follow, the last of
  // which is not 255.
  std::optional<size_t> length(size_t nibble) {
    constexpr size_t more_follow = 15, full = 255;
    if (nibble != more_follow) return nibble;
    for (;;) {
      const auto next = byte();
      if (!next) return std::nullopt;
      nibble += *next;
      if (*next != full) return nibble;
    }
  }

 private:
  std::span<const char> bytes_;
};

}  // namespace

bool unpack_lz4_block(std::span<const char> block, std::vector<char>& out, size_t most) {
  constexpr size_t shortest_match = 4, low_bits = 15;
  BlockBytes in(block);
  out.clear();
  while (const auto token = in.byte()) {
    const auto literals = in.length(*token >> 4U);
    if (!literals || *literals > in.size() || *literals > most - out.size()) return false;
    const std::span<const char> bytes = in.take(*literals);
    out.insert(out.end(), bytes.begin(), bytes.end());
    if (in.empty()) return true;
    const auto low = in.byte(), high = in.byte();
    const auto rest = high ? in.length(*token & low_bits) : std::nullopt;
    if (!rest) return false;
    const size_t distance = *low | *high << 8U, match = *rest + shortest_match;
    if (distance == 0 || distance > out.size() || match > most - out.size()) return false;
    // The match may overlap what it makes.
    for (size_t i = 0; i < match; ++i) out.push_back(out[out.size() - distance]);
  }
  return true;
}

}  // namespace memflame
