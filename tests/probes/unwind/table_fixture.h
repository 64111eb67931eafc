// SPDX-License-Identifier: BSD-2-Clause
// Tables of the files that CMakeLists.txt builds of data/unwind/rules.S.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "probes/unwind/table.h"

namespace memflame::unwind::fixture {

// Empty if the file cannot be read.
std::vector<std::byte> read_bytes(const std::string& path);
std::vector<std::byte> built(const char* name);

template <typename T>
T& at(std::vector<std::byte>& bytes, uint64_t offset) {
  REQUIRE(offset + sizeof(T) <= bytes.size());
  return *reinterpret_cast<T*>(bytes.data() + offset);
}

// Offset from the table's base of `begin` in the files made of rules.S, where .text begins.
uint32_t code_offset(const char* name, const Table& table);

struct Golden {
  uint32_t pc;
  row_kind kind;
  int cfa = 0;
  int rbp = 0;
  int rbx = row_rbx_unchanged;
};

// See tests/data/unwind/rules.S; pc counts from `begin`.
extern const std::vector<Golden> golden;

// The rows from `begin` + from up to `begin` + to are these.
void check_rows(const Table& table, uint32_t begin, const std::vector<Golden>& expected,
                uint32_t from = 1, uint32_t to = 336);

const row& row_at(const Table& table, uint32_t pc);

// Invariants of every table.
void check_sound(const Table& table);

}  // namespace memflame::unwind::fixture
