// SPDX-License-Identifier: BSD-2-Clause
// How `leaks` of macOS names a leaked block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memflame {

struct LeakedObject {
  bool is_root = false;   // nothing leaked points to it, or it begins a cycle
  std::string_view text;  // as printed, without what is behind it
  std::string name;       // without addresses; "malloc<64>" for a block without a type
  int64_t size = -1;      // of this block alone; -1 if unknown
};

// "ROOT LEAK: <malloc in make 0x137f04200> [64]", "0x7fb213463680 [144]  length: 3  \"abc\"".
LeakedObject parse_leaked_object(std::string_view text);

struct LeakedBlock {
  std::string name;
  int64_t size = 0;
};

// "0x600000d506c0  size=64  zone: DefaultMallocZone_0x11da72000   Song  Swift  server".
std::optional<LeakedBlock> parse_leaked_block(std::string_view text);

}  // namespace memflame
