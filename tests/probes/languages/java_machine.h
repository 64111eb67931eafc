// SPDX-License-Identifier: BSD-2-Clause
// A process in which Java's virtual machine runs, made by a test.
#pragma once

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "tests/probes/languages/java_memory.h"

namespace memflame::bpf {

inline constexpr uint64_t java_base = 0x200000000000, java_bytes = 1 << 20;
inline constexpr uint64_t code_low = java_base + 0x40000, code_bytes = 0x40000, segment_bits = 7;
inline constexpr uint64_t stack_at = java_base + 0xf0000;
inline constexpr uint64_t interpreter_at = code_low + 0x20000, call_stub_at = code_low + 0x30010;

// The memory of a process: one piece, with the machine's objects at its begin, then the memory for
// code, and a stack.
struct JavaMachine {
  std::vector<uint8_t> memory = std::vector<uint8_t>(java_bytes);
  uint64_t next = java_base + 0x1000;
  uint64_t collector = 0;
  java_layout layout{};
  JavaRoom room{};
  java_chunk chunk{};

  JavaMachine() {
    read_java_memory = [this](void* to, size_t size, uint64_t address) -> long {
      const uint64_t at = address - java_base;
      if (at > memory.size() || size > memory.size() - at) return -14;
      std::memcpy(to, memory.data() + at, size);
      return 0;
    };
    layout.table = 0x100;
    layout.const_bytes = 48;
    layout.pool_bytes = 72;
    layout.block_bytes = 16;
    // The table of fields: the offset of each is in the process.
    constexpr uint16_t offsets[java_field_count] = {
        0,   8,  16,  128, 240, 8,  16,  8,  16,  8,   16,  32, 20, 40, 100,
        104, 48, 112, 120, 52,  56, 128, 60, 136, 144, 152, 8,  20, 8,  24,
        28,  30, 32,  34,  36,  24, 64,  24, 4,   6,   8,   16, 12, 16};
    for (uint16_t i = 0; i < java_field_count; ++i) {
      layout.entry[i] = static_cast<uint16_t>(java_field_count - i);
      put(java_base + 0x100 + uint64_t{layout.entry[i]} * java_entry_bytes + java_entry_offset,
          uint64_t{offsets[i]});
    }
    const uint64_t heap = make(256), heaps = make(16), list = make(8), stubs = make(32);
    const uint64_t segments = make(code_bytes >> segment_bits);
    std::memset(&memory[segments - java_base], java_free_segment, code_bytes >> segment_bits);
    put(heap + 16 + 8, code_low);
    put(heap + 16 + 16, code_low + code_bytes);
    put(heap + 128 + 8, segments);
    put(heap + 240, uint32_t{segment_bits});
    put(heaps, uint32_t{1});
    put(heaps + 8, list);
    put(list, heap);
    put(stubs + 8, interpreter_at);
    put(stubs + 16, uint32_t{0x1000});
    put(java_base + 0x10, heaps);
    put(java_base + 0x18, call_stub_at);
    layout.heaps_at = 0x10;
    layout.call_stub_at = 0x18;
    layout.interpreter_at = 0x20;
    layout.references_at = 0x28;
    layout.reference_bits_at = 0x30;
    layout.stale_marked_at = 0x38;
    layout.stale_whole_at = 0x40;
    layout.collector_at = 0x48;
    collector = make(24);
    put(java_base + 0x48, collector);
    segments_ = segments;
    stubs_ = stubs;
  }
  ~JavaMachine() { read_java_memory = nullptr; }
  JavaMachine(const JavaMachine&) = delete;
  JavaMachine& operator=(const JavaMachine&) = delete;

  template <class T>
  void put(uint64_t at, T value) {
    std::memcpy(&memory.at(at - java_base), &value, sizeof(value));
  }
  uint64_t make(uint64_t size) {
    const uint64_t at = next;
    next += (size + 15) / 8 * 8;
    return at;
  }
  void begin() {
    put(java_base + 0x20, stubs_);
    REQUIRE(begin_java(&layout, java_base));
  }
  uint64_t text(std::string_view value) {
    const uint64_t at = make(value.size() + 1);
    std::memcpy(&memory[at - java_base], value.data(), value.size());
    return at;
  }
  uint64_t symbol(std::string_view value) {
    const uint64_t at = make(8 + value.size());
    put(at + 4, static_cast<uint16_t>(value.size()));
    std::memcpy(&memory[at + 6 - java_base], value.data(), value.size());
    return at;
  }
  // A method of 20 bytes: place 0 is at line 40, place 5 at 42, place 9 at 30.
  uint64_t method(std::string_view type, std::string_view name) {
    const uint64_t holder = make(128), pool = make(72 + 8 * 8), made = make(64);
    const uint64_t constant = make(48 + 20 + 28);
    put(holder + 24, symbol(type));
    put(pool + 24, holder);
    put(pool + 64, uint16_t{5});
    put(pool + 96, symbol(name));
    put(pool + 112, symbol("App.java"));
    put(made + 8, constant);
    put(constant + 8, pool);
    put(constant + 24, uint32_t{12});  // words
    put(constant + 28, uint16_t{java_has_lines});
    put(constant + 30, uint16_t{20});
    put(constant + 32, uint16_t{3});
    constexpr uint8_t lines[] = {0xff, 0, 80, 5 << 3 | 2, 0xff, 8, 23, 0};
    std::memcpy(&memory[constant + 48 + 20 - java_base], lines, sizeof(lines));
    return made;
  }
  uint64_t bytecode(uint64_t method, uint64_t place) {
    uint64_t constant = 0;
    std::memcpy(&constant, &memory[method + 8 - java_base], 8);
    return constant + 48 + place;
  }
  // Code of four segments at `at`, with a frame of `words`. Returns the address of the first
  // instruction.
  uint64_t code(uint64_t at, std::string_view name, uint32_t words, uint64_t method = 0) {
    const uint64_t segment = (at - code_low) >> segment_bits, blob = at + 16;
    for (uint64_t i = 0; i < 4; ++i)
      put(segments_ + segment + i, static_cast<uint8_t>(i == 0 ? 0 : 1));
    put(blob + 8, text(name));
    put(blob + 16, uint32_t{496});
    put(blob + 20, uint32_t{12});  // the frame is complete
    put(blob + 32, words);
    put(blob + 40, blob + 200);
    put(blob + 104, method);
    put(blob + 112, blob + 256);
    put(blob + 120, blob + 260);
    return blob + 200;
  }
  enum java_step step(frame& at, java_frame& made, uint64_t locals = 0) {
    const enum java_step step =
        step_java(&layout, &at, room.bytes, &room.memos, locals, &chunk, &made);
    if (step != java_frozen) return step;
    return enter_java_heap(&layout, &at, &chunk, room_for_chunk(room)) ? java_passed : java_frozen;
  }

 private:
  uint64_t segments_ = 0, stubs_ = 0;
};

inline frame java_at(uint64_t ip, uint64_t sp, uint64_t bp) {
  frame at{};
  at.ip = ip;
  at.sp = sp;
  at.bp = bp;
  return at;
}

}  // namespace memflame::bpf
