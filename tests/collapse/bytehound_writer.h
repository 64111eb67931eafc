// SPDX-License-Identifier: BSD-2-Clause
// Writes what bytehound's library writes, for tests: there is no package of bytehound.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memflame {

class BytehoundWriter {
 public:
  static constexpr uint64_t initial_us = 5'000'000;

  BytehoundWriter& number(uint64_t value, size_t width) {
    for (size_t i = 0; i < width; ++i) events_ += static_cast<char>(value >> (8 * i) & 0xffU);
    return *this;
  }
  BytehoundWriter& u32(uint64_t value) { return number(value, 4); }
  BytehoundWriter& u64(uint64_t value) { return number(value, 8); }
  BytehoundWriter& bytes(std::string_view text) {
    events_ += text;
    return *this;
  }
  BytehoundWriter& text(std::string_view text) { return u32(text.size()).bytes(text); }
  BytehoundWriter& varint(uint64_t value) {
    unsigned more = 0;
    while (more < 8 && value >> (7 * (more + 1)) != 0) ++more;
    const uint64_t ones = (0xff00U >> more) & 0xffU;
    events_ += static_cast<char>(ones | (more < 7 ? value >> (8 * more) : 0));
    return number(value, more);
  }

  BytehoundWriter& header(std::string_view program = "/opt/brew", std::string_view arch = "x86_64",
                          uint64_t flags = 1) {
    u32(0).u64(0x1122334455667788).u64(0x99aabbccddeeff00);
    u64(initial_us).u64(initial_us + 20).u64(1'700'000'000).u64(20'000).u32(4711);
    text(std::string(program) + std::string("\0--tea\0", 7)).text(program).text(arch);
    return u64(flags).number(8, 1);
  }
  BytehoundWriter& maps(std::string_view list) { return file("/proc/self/maps", list); }
  BytehoundWriter& file(std::string_view path, std::string_view contents) {
    return u32(23).u64(0).text(path).u64(contents.size()).bytes(contents);
  }
  BytehoundWriter& backtrace(uint64_t id, const std::vector<uint64_t>& leaf_first) {
    u32(5).u64(id).u32(leaf_first.size());
    for (const uint64_t address : leaf_first) u64(address);
    return *this;
  }
  BytehoundWriter& allocation(uint64_t address, uint64_t size, uint64_t backtrace,
                              uint32_t thread) {
    return u64(address).u64(size).u64(backtrace).u32(thread).u32(0).u32(0).u64(0);
  }
  // `us`: microseconds after the start.
  BytehoundWriter& alloc(uint64_t us, uint64_t number, uint64_t address, uint64_t size,
                         uint64_t trace, uint32_t thread = 1) {
    return u32(20).u64(1).u64(number).u64(initial_us + us).allocation(address, size, trace, thread);
  }
  BytehoundWriter& realloc(uint64_t us, uint64_t number, uint64_t old_address, uint64_t address,
                           uint64_t size, uint64_t trace) {
    u32(21).u64(1).u64(number).u64(initial_us + us).u64(old_address);
    return allocation(address, size, trace, 1);
  }
  BytehoundWriter& free(uint64_t us, uint64_t number, uint64_t address, uint32_t thread = 1) {
    u32(22).u64(1).u64(number).u64(initial_us + us).u64(address).u64(0);
    return u32(thread);
  }

  const std::string& events() const { return events_; }
  // As blocks, of LZ4 with literals only, or plain. bytehound's first block has few literals first.
  std::string packed(size_t block = 1000) const {
    std::string all;
    for (size_t at = 0; at < events_.size(); at += block) {
      const std::string_view part = std::string_view(events_).substr(at, block);
      std::string lz4;
      const bool is_long = part.size() >= 15;
      lz4 += static_cast<char>((is_long ? 15 : part.size()) << 4U);
      for (size_t left = is_long ? part.size() - 15 : 0; is_long; left -= 255) {
        lz4 += static_cast<char>(std::min<size_t>(left, 255));
        if (left < 255) break;
      }
      lz4 += part;
      all += head(1, lz4.size()) + lz4;
    }
    return all;
  }
  std::string plain() const { return head(2, events_.size()) + events_; }
  static std::string head(char kind, size_t length) {
    std::string bytes(1, kind);
    for (size_t i = 0; i < 4; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xffU);
    return bytes;
  }

 private:
  std::string events_;
};

}  // namespace memflame
