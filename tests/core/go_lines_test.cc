// SPDX-License-Identifier: BSD-2-Clause
#include "core/go_lines.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t code_start = 0x401000, trees = 0x700000;

// A table of Go 1.18 or 1.20 with main.work at 0x401000, and behind it what runtime.goexit needs.
// main.work has lines 10 and, from its 17th byte on, 12; there main.half is inlined, and in its
// last 8 bytes main.quarter into main.half.
struct LinesTable {
  std::vector<std::byte> bytes = std::vector<std::byte>(0x800);
  std::vector<std::byte> tree;
  bool is_new;

  explicit LinesTable(bool is_new) : is_new(is_new) {
    constexpr uint32_t names = 0x100, units = 0x200, files = 0x240, lists = 0x280,
                       functions = 0x300;
    put<uint32_t>(0, is_new ? 0xfffffff1 : 0xfffffff0);
    put<uint32_t>(4, 0x08010000);
    size_t at = 8;
    for (const uint64_t word :
         {uint64_t{3}, uint64_t{2}, code_start, uint64_t{names}, uint64_t{units}, uint64_t{files},
          uint64_t{lists}, uint64_t{functions}})
      put(at, word), at += 8;
    text(names,
         {"", "main.work", "main.half", "main.quarter", "runtime.goexit", "runtime.goexit1"});
    put<uint32_t>(units, UINT32_MAX);
    put<uint32_t>(units + 4, 1);  // the unit's second file
    text(files, {"", "/src/work.go"});
    // Pairs: a change (twice its amount, and one less if it is negative), and a length.
    list(lists + 1, {4, 64, 0});                // file 1 of the unit
    list(lists + 8, {22, 16, 4, 48, 0});        // lines 10, then 12
    list(lists + 16, {0, 16, 2, 40, 2, 8, 0});  // no call, the first one, the second one
    const size_t starts[] = {0, 64, 80, 96};
    const uint32_t name_of[] = {1, 34, 49};
    for (size_t i = 0; i < 3; ++i) {
      const size_t info = 0x100 + 0x60 * i;
      put<uint32_t>(functions + 8 * i, static_cast<uint32_t>(starts[i]));
      put<uint32_t>(functions + 8 * i + 4, static_cast<uint32_t>(info));
      put<uint32_t>(functions + info, static_cast<uint32_t>(starts[i]));
      put<uint32_t>(functions + info + 4, name_of[i]);
    }
    put<uint32_t>(functions + 24, 96);
    const size_t work = functions + 0x100, size = is_new ? 44 : 40;
    put<uint32_t>(work + 20, 1);
    put<uint32_t>(work + 24, 8);
    put<uint32_t>(work + 28, 3);
    put<std::byte>(work + size - 1, std::byte{4});
    put<uint32_t>(work + size + 8, 16);
    put<uint32_t>(work + size + 12 + 12, 0x40);  // where its tree is
    call(11, 10);                                // main.half, called at 0x40100a
    call(21, 30);                                // main.quarter, called at 0x40101e
  }

  template <class T>
  void put(size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  void text(size_t at, std::initializer_list<std::string> words) {
    for (const std::string& word : words) {
      std::memcpy(bytes.data() + at, word.c_str(), word.size() + 1);
      at += word.size() + 1;
    }
  }
  void list(size_t at, std::initializer_list<int> values) {
    for (const int value : values) put(at++, static_cast<std::byte>(value));
  }
  void call(uint32_t name, uint32_t from) {
    const size_t at = tree.size(), size = is_new ? 16 : 20;
    tree.resize(at + size);
    std::memcpy(tree.data() + at + (is_new ? 4 : 12), &name, 4);
    std::memcpy(tree.data() + at + (is_new ? 8 : 16), &from, 4);
  }

  bool read(uint64_t address, std::span<std::byte> to) const {
    if (address == code_start + 64) {  // runtime.goexit calls runtime.goexit1
      constexpr std::byte goexit[] = {std::byte{0x90}, std::byte{0xe8}, std::byte{10},
                                      std::byte{0},    std::byte{0},    std::byte{0},
                                      std::byte{0x90}};
      std::ranges::copy(std::span(goexit).first(std::min(to.size(), sizeof goexit)), to.begin());
      return to.size() == sizeof goexit;
    }
    if (address < trees + 0x40 || address - trees - 0x40 + to.size() > tree.size()) return false;
    std::ranges::copy(std::span(tree).subspan(address - trees - 0x40, to.size()), to.begin());
    return true;
  }
};

std::vector<std::string> words_of(const std::vector<GoLines::Frame>& frames) {
  std::vector<std::string> words;
  words.reserve(frames.size());
  for (const GoLines::Frame& frame : frames)
    words.push_back(std::string(frame.function) + " " + std::string(frame.file) + ":" +
                    std::to_string(frame.line));
  return words;
}

}  // namespace

TEST_CASE("lines and inlined functions of Go 1.18 and 1.20") {
  for (const bool is_new : {false, true}) {
    CAPTURE(is_new);
    const LinesTable made(is_new);
    const GoFunctions::ReadCode read = [&](uint64_t at, std::span<std::byte> to) {
      return made.read(at, to);
    };
    const GoFunctions functions(made.bytes, 0, read);
    REQUIRE(functions.functions().size() == 3);
    const GoLines lines(functions, read, trees);
    CHECK(words_of(lines.at(code_start)) == std::vector<std::string>{"main.work /src/work.go:10"});
    CHECK(words_of(lines.at(code_start + 20)) ==
          std::vector<std::string>{"main.half /src/work.go:12", "main.work /src/work.go:10"});
    const std::vector<GoLines::Frame> three = lines.at(code_start + 60);
    CHECK(words_of(three) == std::vector<std::string>{"main.quarter /src/work.go:12",
                                                      "main.half /src/work.go:12",
                                                      "main.work /src/work.go:10"});
    CHECK(three[1].address == code_start + 30);
    CHECK(three[2].address == code_start + 10);
    CHECK(lines.at(code_start - 1).empty());
    CHECK(lines.at(code_start + 96).empty());
    // Without the trees there are the lines.
    CHECK(words_of(GoLines(functions, read, 0).at(code_start + 60)) ==
          std::vector<std::string>{"main.work /src/work.go:12"});
  }
}

TEST_CASE("a tree of inlined calls that has no end is cut") {
  LinesTable made(true);
  made.tree.clear();
  made.call(11, 20);  // inlined at its own call
  const GoFunctions::ReadCode read = [&](uint64_t at, std::span<std::byte> to) {
    return made.read(at, to);
  };
  const GoFunctions functions(made.bytes, 0, read);
  CHECK(GoLines(functions, read, trees).at(code_start + 20).size() == 65);
}

TEST_CASE("lines of a table that was cut short") {
  const LinesTable made(true);
  const GoFunctions::ReadCode read = [&](uint64_t at, std::span<std::byte> to) {
    return made.read(at, to);
  };
  for (size_t size = 0; size < made.bytes.size(); ++size) {
    const GoFunctions functions({made.bytes.data(), size}, 0, read);
    const GoLines lines(functions, read, trees);
    for (uint64_t address = code_start; address < code_start + 96; address += 7)
      CHECK(lines.at(address).size() <= 3);
  }
}
