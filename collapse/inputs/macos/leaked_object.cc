// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/macos/leaked_object.h"

#include "collapse/inputs/scan.h"
#include "collapse/inputs/text_frame.h"
#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

std::string untyped(int64_t size) {
  return size < 0 ? "malloc" : "malloc<" + std::to_string(size) + ">";
}

// Where " [64]" begins; the text's length if there is none.
size_t find_size(std::string_view text, int64_t& size) {
  for (size_t at = text.find(" ["); at != std::string_view::npos; at = text.find(" [", at + 1)) {
    Scan scan{text.substr(at + 2)};
    uint64_t value = 0;  // a sign is not a digit
    if (!scan.small_number(value) || value > INT64_MAX || !scan.literal("]")) continue;
    size = static_cast<int64_t>(value);
    return at;
  }
  return text.size();
}

// Addresses differ from block to block. The one in "<NSArray 0x7fcebf607c10>" is left out, one that
// stands alone is a block without a type.
std::string without_addresses(std::string_view text, int64_t size) {
  constexpr std::string_view mark = "0x";
  std::string name;
  for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark)) {
    const size_t end = at + mark.size() + first_not_in(text.substr(at + mark.size()), hex_bytes);
    name += text.substr(0, at);
    if (text.substr(end).starts_with('>') && at != 0 && text[at - 1] == ' ') {
      name.pop_back();
      if (name.ends_with(':')) name.pop_back();
    } else {
      name += untyped(size);
    }
    text.remove_prefix(end);
  }
  return name += text;
}

}  // namespace

LeakedObject parse_leaked_object(std::string_view text) {
  LeakedObject object;
  object.text = trimmed(text.substr(0, find_size(text, object.size)));
  object.is_root =
      object.text.starts_with("ROOT LEAK: ") || object.text.starts_with("ROOT CYCLE: ");
  object.name = without_addresses(object.text, object.size);
  return object;
}

std::optional<LeakedBlock> parse_leaked_block(std::string_view text) {
  Scan scan{trimmed(text)};
  uint64_t address = 0;
  LeakedBlock block;
  if (!scan.literal("0x") || !scan.hex(address) || !scan.blanks() || !scan.literal("size="))
    return std::nullopt;
  if (!scan.number(block.size) || block.size < 0) return std::nullopt;
  scan.blanks();
  if (scan.literal("zone: ")) take_until(scan.rest, " ");
  std::string_view rest = trimmed(scan.rest);
  const std::string_view type = trimmed(take_until(rest, "  "));
  block.name = type.empty() ? untyped(block.size) : "<" + std::string(type) + ">";
  return block;
}

}  // namespace memflame
