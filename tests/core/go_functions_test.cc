// SPDX-License-Identifier: BSD-2-Clause
#include "core/go_functions.h"

#include <doctest/doctest.h>

#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Bytes = std::vector<std::byte>;

template <class T>
void put(Bytes& bytes, size_t at, T value) {
  if (bytes.size() < at + sizeof value) bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

struct Described {
  uint64_t start = 0;
  std::string name;
  Bytes depths;
};

constexpr uint64_t text = 0x401000, end_of_text = 0x1000;
constexpr uint32_t goexit = 0x800, goexit1 = 0x900;

Bytes bytes(std::initializer_list<int> values) {
  Bytes result;
  for (const int value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

// Go's own: main.work with a frame of 24 bytes from its fifth byte on, which ends before its
// padding.
const std::vector<Described> program = {
    {0, "main.work", bytes({2, 4, 48, 0x8c, 1, 47, 1, 0})},
    {0x400, "main.(*Server).Run", bytes({2, 0x80, 8, 0})},
    {goexit, "runtime.goexit", bytes({2, 7, 0})},
    {goexit1, "runtime.goexit1", bytes({2, 16, 0})},
};

// A table of the version with this magic; `from` is the base address in its header.
Bytes table(uint32_t magic, uint64_t from) {
  constexpr uint32_t names = 0x100, depths = 0x200, functions = 0x300, infos = 0x400;
  const bool wide = magic == 0xfffffffb || magic == 0xfffffffa, old = magic == 0xfffffffb;
  Bytes made;
  put<uint32_t>(made, 0, magic);
  put<uint32_t>(made, 4, 0x08010000);
  put<uint64_t>(made, 8, program.size());
  size_t word = 24;  // behind the number of files
  if (magic == 0xfffffff0 || magic == 0xfffffff1)
    put<uint64_t>(made, std::exchange(word, 32), from);
  for (const uint32_t offset : {names, 0U, 0U, depths, functions})
    if (!old) put<uint64_t>(made, std::exchange(word, word + 8), offset);
  const size_t size = wide ? 8 : 4, first = old ? 16 : functions, place = old ? 0 : functions;
  const auto entry = [&](size_t i, uint64_t value) {
    if (wide)
      put<uint64_t>(made, first + i * size, value);
    else
      put<uint32_t>(made, first + i * size, static_cast<uint32_t>(value));
  };
  uint32_t name = names, depth = depths + 1;  // offset 0 says that there are none
  const uint64_t base = wide ? text : 0;
  for (size_t i = 0; i < program.size(); ++i) {
    const size_t info = infos + i * 64;
    entry(2 * i, base + program[i].start);
    entry(2 * i + 1, info);
    put<uint32_t>(made, place + info + size, old ? name : name - names);
    put<uint32_t>(made, place + info + size + 12, old ? depth : depth - depths);
    for (const char letter : program[i].name) put(made, name++, letter);
    put(made, name++, '\0');
    for (const std::byte byte : program[i].depths) put(made, depth++, byte);
  }
  entry(2 * program.size(), base + end_of_text);
  made.resize(std::max<size_t>(made.size(), 0x900));
  return made;
}

bool read_code(uint64_t address, std::span<std::byte> to) {
  if (address != text + goexit || to.size() != 7) return false;
  Bytes code = bytes({0x90, 0xe8, 0, 0, 0, 0, 0x90});
  put<int32_t>(code, 2, static_cast<int32_t>(goexit1 - goexit - 6));
  std::memcpy(to.data(), code.data(), code.size());
  return true;
}

}  // namespace

TEST_CASE("the functions of a Go program, in each form of its table") {
  for (const uint32_t magic : {0xfffffffbU, 0xfffffffaU, 0xfffffff0U, 0xfffffff1U}) {
    CAPTURE(magic);
    const Bytes made = table(magic, text);
    const GoFunctions go(made, 0, read_code);
    REQUIRE(go.functions().size() == program.size());
    for (size_t i = 0; i < program.size(); ++i) {
      CHECK(go.functions()[i].start == text + program[i].start);
      CHECK(go.name(go.functions()[i]) == program[i].name);
    }
    CHECK(go.find(text - 1) == nullptr);
    CHECK(go.find(text + 0x3ff) == go.functions().data());
    CHECK(go.find(text + 0x400) == &go.functions()[1]);
    CHECK(go.find(text + end_of_text) == nullptr);
    const std::vector<GoFunctions::Depth> depths = go.depths(go.functions()[0]);
    REQUIRE(depths.size() == 3);
    CHECK(depths[0].start == text);
    CHECK(depths[0].bytes == 0);
    CHECK(depths[1].start == text + 4);
    CHECK(depths[1].bytes == 24);
    CHECK(depths[2].start == text + 4 + 0x8c);
    CHECK(depths[2].bytes == 0);
  }
}

TEST_CASE("where the header does not say what addresses count from, .text does") {
  const Bytes made = table(0xfffffff1U, 0);
  CHECK(GoFunctions(made, text, read_code).functions().size() == program.size());
}

TEST_CASE("a table is not believed when runtime.goexit is elsewhere") {
  const Bytes made = table(0xfffffff1U, text + 16);
  CHECK(GoFunctions(made, 0, read_code).functions().empty());
  CHECK(GoFunctions(made, text + 32, read_code).functions().empty());
}

TEST_CASE("a table that was cut short, or is another's") {
  const Bytes made = table(0xfffffff1U, text);
  for (size_t size = 0; size < made.size(); ++size) {
    const GoFunctions go({made.data(), size}, 0, read_code);
    for (const GoFunctions::Function& function : go.functions()) {
      CHECK(go.name(function).size() < made.size());
      CHECK(go.depths(function).size() < made.size());
    }
  }
  Bytes many = made;
  put<uint64_t>(many, 8, UINT64_MAX / 8);
  CHECK(GoFunctions(many, 0, read_code).functions().empty());
  Bytes other = made;
  put<uint32_t>(other, 0, 0xfffffff2);
  CHECK(GoFunctions(other, 0, read_code).functions().empty());
}
