// SPDX-License-Identifier: BSD-2-Clause
// The stacks that `memflame PROBE --check-stacks FILE` writes: each as walked by the probe, with
// the registers and the memory it was walked from.
//
// Records follow one another, little endian, without padding:
//   u32 magic, u32 bytes of the record, u32 pid, u32 frames, u32 enum stop, u32 copied bytes,
//   u32 at a function's entry, u32 reserved, u64 registers[17], u64 pcs[frames], u8 stack[copied]
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memflame::oracle {

inline constexpr uint32_t dump_magic = 0x4b53464d;  // "MFSK"
inline constexpr uint32_t most_frames = 1 << 16;
inline constexpr uint32_t most_stack_bytes = 1 << 20;

enum { reg_rbp = 6, reg_rsp = 7, reg_rip = 16, reg_count = 17 };  // DWARF's numbers

struct DumpedStack {
  uint32_t pid = 0;
  uint32_t stop = 0;  // enum stop (probes/bpf/shared.h)
  bool at_entry = false;
  std::array<uint64_t, reg_count> registers{};
  std::vector<uint64_t> pcs;    // leaf first, return addresses as they are
  std::vector<uint8_t> memory;  // from rsp upwards
  uint64_t rsp() const { return registers[reg_rsp]; }
};

struct Dump {
  std::vector<DumpedStack> stacks;
  std::string damage;  // why reading ended before the end of the file; "" if it did not
};

Dump parse_dump(std::string_view bytes);
void append_to_dump(std::string& bytes, const DumpedStack& stack);

}  // namespace memflame::oracle
