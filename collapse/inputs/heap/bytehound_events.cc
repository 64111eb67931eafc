// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/bytehound_events.h"

#include <algorithm>
#include <array>
#include <optional>

#include "collapse/inputs/heap/bytehound.h"

namespace memflame {
namespace {

constexpr std::array<std::string_view, 4> architectures{"x86_64", "aarch64", "arm", "mips64"};

// A time, a number, an address and a length, and what follows them.
void pass_over_region(BytehoundBytes& bytes, int more) {
  bytes.skip(8);
  bytes.varint();
  bytes.skip(8);
  for (int i = 0; i <= more; ++i) bytes.varint();
}
void pass_over_source(BytehoundBytes& bytes) {
  bytes.skip(8);
  bytes.varint();
  bytes.skip(4);
}

}  // namespace

bool pass_over(BytehoundEvent kind, BytehoundBytes& bytes) {
  constexpr uint64_t word = 4, long_word = 8;
  switch (kind) {
    case BytehoundEvent::memory_dump:
      bytes.skip(2 * long_word);
      bytes.skip_text();
      break;
    case BytehoundEvent::marker:
      bytes.skip(word);
      break;
    case BytehoundEvent::memory_map:
      bytes.skip(6 * long_word + 4 * word);
      break;
    case BytehoundEvent::memory_unmap:
      bytes.skip(4 * long_word + word);
      break;
    case BytehoundEvent::mallopt:
      bytes.skip(2 * long_word + 4 * word);
      break;
    case BytehoundEvent::environ:
      bytes.skip_text();
      break;
    case BytehoundEvent::wall_clock:
      bytes.skip(3 * long_word);
      break;
    case BytehoundEvent::add_region:
      pass_over_region(bytes, 2);
      bytes.skip(3 * word);
      bytes.skip(bytes.varint());
      break;
    case BytehoundEvent::remove_region:
      pass_over_region(bytes, 0);
      for (uint64_t left = bytes.varint(); left != 0; --left) {
        bytes.skip(long_word);
        bytes.varint();
        pass_over_source(bytes);
      }
      break;
    case BytehoundEvent::update_region_usage:
      pass_over_region(bytes, 6);
      break;
    case BytehoundEvent::memory_map_with_id:
      bytes.varint();
      bytes.skip(long_word);
      bytes.varint();
      bytes.varint();
      bytes.skip(3 * word);
      bytes.varint();
      pass_over_source(bytes);
      break;
    default:
      return false;
  }
  return true;
}

bool is_bytehound(std::string_view head) {
  // The kind 0, a random number, four times, and the process id.
  constexpr size_t before_command = 4 + 16 + 4 * 8 + 4;
  const auto text = [&](size_t at) -> std::optional<std::string_view> {
    if (head.size() < at + 4) return std::nullopt;
    uint32_t length = 0;
    for (size_t i = 4; i-- > 0;) length = length << 8U | static_cast<unsigned char>(head[at + i]);
    if (length > head.size() - at - 4) return std::nullopt;
    return head.substr(at + 4, length);
  };
  if (!head.starts_with(std::string_view("\0\0\0\0", 4))) return false;
  const auto command = text(before_command);
  if (!command) return false;
  const size_t after_command = before_command + 4 + command->size();
  const auto program = text(after_command);
  if (!program) return false;
  const auto architecture = text(after_command + 4 + program->size());
  return architecture && std::find(architectures.begin(), architectures.end(), *architecture) !=
                             architectures.end();
}

}  // namespace memflame
