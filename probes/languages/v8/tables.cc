// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/v8/tables.h"

#include <string_view>

namespace memflame {
namespace {

// Numbers of seven bits a byte, the lowest first; the last one has its highest bit clear.
class V8Numbers {
 public:
  explicit V8Numbers(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool is_at_end() const { return bytes_.empty(); }
  std::optional<uint64_t> next() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const uint8_t byte = bytes_.front();
      bytes_ = bytes_.subspan(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    return std::nullopt;
  }
  // The lowest bit is the sign.
  std::optional<int64_t> next_signed() {
    const std::optional<uint64_t> value = next();
    if (!value) return std::nullopt;
    return static_cast<int64_t>(*value >> 1U ^ (0 - (*value & 1U)));
  }

 private:
  std::span<const uint8_t> bytes_;
};

// Bytes of each bytecode, as letters from 'a' = 0 on: with operands of the usual size, and of twice
// that. From Bytecodes::kBytecodeSizes of the programs that were tried.
struct BytecodeSizes {
  uint16_t version;
  std::string_view single, twice;
};
constexpr BytecodeSizes known_sizes[] = {
    {.version = 0x0a02,
     .single = "bbbbbcdeffgcbcbbbbbceecccdcccbbbcdddecceeceedeedddeeeeefcddddddddddddddddddddddddc"
               "cccbbbcccffefgfdefffgeeffddddddddccccbeebcebedecddddbbbdccccccccccccccccccccccecdd"
               "fcbbbbcbbcefeebccbbbbbbbbbbbbbbbbb",
     .twice = "bbbbbdfhjhjdbdbbbbbdhhdddfdddbbbcfffhddhhdhhehhfffhhhhhidffffffffffffffffffffffffd"
              "dddbbbdddjjhjljfhjjhjggjjffffffffddddbggbdgbgfgdffffbbbfddddddddddddddddddddddhdff"
              "jdbbbbdbbdhjhhbddbbbbbbbbbbbbbbbbb"},
    {.version = 0x0b03,
     .single = "bbbbbcdeffgcbcbbbbbceecccdcccbbbcdddecceeceedeedddeeefefddddddddddddddddddddddddcc"
               "ccbbbccceffefgfdefffgeeffddddddddccccbfebcebedecddddbbbeccccccccccccccccccccccecdd"
               "fcbbbbcbbcefeebccbbbbbbbbbbbbbbbbb",
     .twice = "bbbbbdfhjhjdbdbbbbbdhhdddfdddbbbcfffhddhhdhhehhfffhhhihiffffffffffffffffffffffffdd"
              "ddbbbdddhjjhjljfhjjhjggjjffffffffddddbhgbdgbgfgdffffbbbhddddddddddddddddddddddhdff"
              "jdbbbbdbbdhjhhbddbbbbbbbbbbbbbbbbb"},
    {.version = 0x0c04,
     .single = "bbbbbcdeffgcbcbbbbbceecccdcccbbbcdddececceeceedeedfddeeefefddddddddddddddddddddddd"
               "dccccbbbccceffefgfdefffgeeffdddddddddbcccbbfebcebedecddddbbbeccccccccccccccccccccc"
               "cecddfcbbbbcbbcefeebccbbbbbbbbbbbbbbbbb",
     .twice = "bbbbbdfhjhjdbdbbbbbdhhdddfdddbbbcfffhdhddhhdhhehhfjffhhhihifffffffffffffffffffffff"
              "fddddbbbdddhjjhjljfhjjhjggjjfffffffffbdddbbhgbdgbgfgdffffbbbhddddddddddddddddddddd"
              "dhdffjdbbbbdbbdhjhhbddbbbbbbbbbbbbbbbbb"},
};
// Bytecodes that say how large the next one's operands are, also those for debuggers.
enum : uint8_t { wide = 0, extra_wide = 1, debug_wide = 2, debug_extra_wide = 3 };

// Bytes of the bytecode at a place, with what says how large its operands are; 0 if it is unknown.
size_t bytecode_bytes(std::span<const uint8_t> bytecode, size_t at, const BytecodeSizes& sizes) {
  if (at >= bytecode.size()) return 0;
  const uint8_t first = bytecode[at];
  if (first > debug_extra_wide)
    return first < sizes.single.size() ? static_cast<size_t>(sizes.single[first] - 'a') : 0;
  if (at + 1 >= bytecode.size()) return 0;
  const uint8_t second = bytecode[at + 1];
  if (second <= debug_extra_wide || second >= sizes.single.size()) return 0;
  const auto single = static_cast<size_t>(sizes.single[second] - 'a');
  const auto twice = static_cast<size_t>(sizes.twice[second] - 'a');
  const bool is_extra = first == extra_wide || first == debug_extra_wide;
  return 1 + (is_extra ? single + 3 * (twice - single) : twice);
}

}  // namespace

std::optional<V8Position> v8_position(uint64_t value) {
  constexpr uint64_t offset_mask = (1U << 30U) - 1, inlined_mask = 0xffff;
  const uint64_t offset = value >> 1U & offset_mask, inlined = value >> 31U & inlined_mask;
  // Another language's, or unknown. Both numbers are one more than what they mean.
  if ((value & 1U) != 0 || offset == 0) return std::nullopt;
  V8Position position{.offset = static_cast<uint32_t>(offset - 1), .inlined = {}};
  if (inlined != 0) position.inlined = static_cast<uint32_t>(inlined - 1);
  return position;
}

std::optional<V8Position> v8_position_in(std::span<const uint8_t> table, uint32_t at) {
  V8Numbers numbers(table);
  uint64_t place = UINT64_MAX;  // one before the first
  uint64_t value = 0;
  std::optional<uint64_t> found;
  while (!numbers.is_at_end()) {
    // The distance of a place that does not begin a statement is complemented.
    const std::optional<int64_t> distance = numbers.next_signed(), change = numbers.next_signed();
    if (!distance || !change) return std::nullopt;
    place += static_cast<uint64_t>(*distance < 0 ? ~*distance : *distance);
    if (place != UINT64_MAX && place > at) break;
    value += static_cast<uint64_t>(*change);
    found = value;
  }
  return found ? v8_position(*found) : std::nullopt;
}

std::optional<uint32_t> v8_baseline_bytecode(std::span<const uint8_t> ends,
                                             std::span<const uint8_t> bytecode, uint16_t version,
                                             uint32_t at) {
  const BytecodeSizes* sizes = nullptr;
  for (const BytecodeSizes& each : known_sizes)
    if (each.version == version) sizes = &each;
  if (sizes == nullptr) return std::nullopt;
  V8Numbers numbers(ends);
  // The first one is the end of what comes before the bytecode.
  uint64_t end = numbers.next().value_or(UINT64_MAX);
  if (end >= at) return std::nullopt;
  for (size_t place = 0;;) {
    const size_t bytes = bytecode_bytes(bytecode, place, *sizes);
    const std::optional<uint64_t> length = numbers.next();
    if (bytes == 0 || !length || *length > UINT32_MAX) return std::nullopt;
    end += *length;
    if (end >= at) return static_cast<uint32_t>(place);
    place += bytes;
  }
}

}  // namespace memflame
