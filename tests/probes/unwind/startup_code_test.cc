// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/startup_code.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "probes/unwind/copies.h"
#include "probes/unwind/known_function.h"
#include "probes/unwind/table.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Code = std::vector<std::byte>;

// Two digits for each byte; spaces between instructions.
Code hex(std::string_view text) {
  Code code;
  for (size_t i = 0; i + 1 < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    code.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
    i += 2;
  }
  return code;
}
Code operator+(Code a, const Code& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
// Up to the next multiple of 16.
Code padded(Code code) {
  while (code.size() % 16 != 0) code.push_back(std::byte{0x90});
  return code;
}

struct Expected {
  uint32_t pc;
  int cfa;
  int rbp = 0;
  int rbx = 0;
};
using Rows = std::vector<Expected>;

bool is(const std::vector<row>& rows, const Rows& expected) {
  return std::equal(rows.begin(), rows.end(), expected.begin(), expected.end(),
                    [](const row& r, const Expected& e) {
                      return r.pc == e.pc && r.kind == (row_rsp | e.rbx << 4) && r.cfa == e.cfa &&
                             r.rbp == e.rbp;
                    });
}

struct Known {
  Code code;
  Rows rows;
};

// deregister_tm_clones, register_tm_clones, __do_global_dtors_aux, frame_dummy.
// gcc 12, in a library
const Known library[] = {
    {hex("488d3d41ae0100 488d053aae0100 4839f8 7415 488b0566ac0100 4885c0 7409 ffe0 0f1f8000000000"
         "c3"),
     {{0, 1}}},
    {hex("488d3d11ae0100 488d350aae0100 4829fe 4889f0 48c1ee3f 48c1f803 4801c6 48d1fe 7414"
         "488b0535ac0100 4885c0 7408 ffe0 660f1f440000 c3"),
     {{0, 1}}},
    {hex("f30f1efa 803dcdad010000 752b 55 48833d12ac010000 4889e5 740c 488b3daead0100 e859ffffff"
         "e864ffffff c605a5ad010001 5d c3 0f1f00 c3"),
     {{0, 1}, {14, 2, 2}, {52, 1}}},
    {hex("f30f1efa e977ffffff"), {{0, 1}}},
};
// gcc 12, in a static program (crtbeginT.o)
const Known program[] = {
    {hex("b810104000 483d10104000 7413 b800000000 4885c0 7409 bf10104000 ffe0 6690 c3"), {{0, 1}}},
    {hex("be10104000 4881ee10104000 4889f0 48c1ee3f 48c1f803 4801c6 48d1fe 7411 b800000000 4885c0"
         "7407 bf10104000 ffe0 c3"),
     {{0, 1}}},
    {hex("f30f1efa 803d0010000000 752b 55 4889e5 e87affffff b800000000 4885c0 740a bf00204000"
         "e800000000 c605da0f000001 5d c3 0f1f440000 c3"),
     {{0, 1}, {14, 2, 2}, {50, 1}}},
    {hex("f30f1efa b800000000 4885c0 7422 55 be00304000 bf00204000 4889e5 e800000000 5d e959ffffff"
         "660f1f840000000000 e94bffffff"),
     {{0, 1}, {15, 2, 2}, {34, 1}}},
};
// gcc 4.8 to 7, in a library: each with a frame
const Known framed[] = {
    {hex("488d05a7092000 488d3da0092000 55 4829f8 4889e5 4883f80e 7615 488b0500082000 4885c0 7409"
         "5d ffe0 660f1f440000 5d c3"),
     {{0, 1}, {15, 2, 2}, {40, 1}, {48, 2, 2}, {49, 1}}},
    {hex("488d3d57092000 488d3550092000 55 4829fe 4889e5 48c1fe03 4889f0 48c1e83f 4801c6 48d1fe"
         "7418 488b05cf072000 4885c0 740c 5d ffe0 660f1f840000000000 5d f3c3"),
     {{0, 1}, {15, 2, 2}, {53, 1}, {64, 2, 2}, {65, 1}}},
    {hex("803d0109200000 7527 48833da707200000 55 4889e5 740c 488b3d9a072000 e885ffffff e848ffffff"
         "5d c605d808200001 f3c3"),
     {{0, 1}, {18, 2, 2}, {41, 1}}},
    {hex("488d3d69052000 48833f00 750b e95effffff 660f1f440000 488b0559072000 4885c0 74e9 55"
         "4889e5 ffd0 5d e940ffffff"),
     {{0, 1}, {37, 2, 2}, {43, 1}}},
};
// gcc 4.4: the latter two alone, the first with a loop
const Known first[] = {
    {hex("55 4889e5 53 4883ec08 803d980b200000 754b bb40106000 488b05920b2000 4881eb38106000"
         "48c1fb03 4883eb01 4839d8 7324 660f1f440000 4883c001 4889056d0b2000 ff14c538106000"
         "488b055f0b2000 4839d8 72e2 c6054b0b200001 4883c408 5b c9 c3"),
     {{0, 1}, {1, 2, 2}, {5, 3, 2, 3}, {9, 4, 2, 3}, {97, 3, 2, 3}, {98, 2, 2}, {99, 1}}},
    {hex("48833d7809200000 55 4889e5 7412 b800000000 4885c0 7408 bf800e6000 c9 ffe0 c9 c3"),
     {{0, 1}, {9, 2, 2}, {30, 1}, {32, 2, 2}, {33, 1}}},
};

constexpr uint64_t address = 0x401000;

template <size_t N>
void check(const Known (&functions)[N]) {
  Code code = hex("f4 f4 f4 f4 f4") + Code(11, std::byte{0x90});
  std::vector<uint64_t> starts;
  for (const Known& known : functions) {
    starts.push_back(address + code.size());
    code = padded(code + known.code);
  }
  code = code + hex("f4");
  const std::vector<KnownCode> found = startup_code(code, address);
  REQUIRE(found.size() == N);
  for (size_t i = 0; i < N; ++i) {
    CAPTURE(i);
    CHECK(found[i].start == starts[i]);
    CHECK(found[i].end == starts[i] + functions[i].code.size());
    CHECK(is(found[i].rows, functions[i].rows));
  }
  // A gap may begin at any address.
  CHECK(startup_code(Bytes(code).subspan(5), address + 5).size() == N);
}

Code all(const Known (&functions)[4]) {
  Code code;
  for (const Known& known : functions) code = padded(code + known.code);
  return code;
}

bool is_function(const Code& code) { return known_function(code).has_value(); }

}  // namespace

TEST_CASE("startup code of gcc") {
  SUBCASE("12, library") { check(library); }
  SUBCASE("12, static program") { check(program); }
  SUBCASE("4.8 to 7") { check(framed); }
  SUBCASE("4.4") { check(first); }
}

TEST_CASE("as much of it as is known") {
  const Code code = all(library);
  REQUIRE(startup_code(code, address).size() == 4);
  const auto changed = [&](size_t at, int value) {
    Code copy = code;
    copy.at(at) = static_cast<std::byte>(value);
    return startup_code(copy, address);
  };
  const size_t destructors = 112;
  REQUIRE(code.at(destructors) == std::byte{0xf3});
  CHECK(changed(0, 0xf4).size() == 2);                 // deregister_tm_clones is another
  CHECK(changed(48 + 17, 0xf4).size() == 2);           // register_tm_clones is
  CHECK(changed(47, 0xf4).size() == 2);                // there is code between them
  CHECK(changed(destructors + 64, 0xf4).size() == 3);  // frame_dummy is another
  CHECK(changed(destructors + 63, 0xf4).size() == 3);  // code before it
  // Without __do_global_dtors_aux nothing is recognised.
  CHECK(changed(destructors + 13, 0x50).empty());  // another push
  CHECK(changed(destructors + 10, 1).empty());     // another test
  CHECK(changed(destructors + 47, 0xa6).empty());  // another flag
  CHECK(startup_code({}, address).empty());
  for (size_t size = 0; size < destructors + 57; ++size)
    CHECK(startup_code(Bytes(code).first(size), address).empty());
}

TEST_CASE("functions whose every way is known") {
  CHECK(is_function(hex("c3")));
  CHECK(is_function(hex("55 5d c3")));
  CHECK(is_function(hex("7400 c3")));
  CHECK(is_function(hex("0f8400000000 c3")));
  CHECK(is_function(hex("4883ec08 4883c408 c3")));
  CHECK(is_function(hex("c70425 00000000 01000000 c3")));  // movl $1,x
  const char* others[] = {
      "",
      "55",                       // no end
      "55 c3",                    // with a word too many
      "5d c3",                    // with one too few
      "4883c408 c3",              //
      "55 4883c408 c3",           // rbp lost
      "55 53 5d c3",              // the other's slot
      "4889e5 c3",                // rbp lost
      "c9 c3",                    // a frame that is not this function's
      "7401 55 5d c3",            // two ways meet that do not agree
      "7401 b800000000 c3",       // into an instruction
      "74ff c3",                  // into itself
      "7410 c3 f4",               // behind what is known
      "7480 c3",                  // before the first byte
      "0f84ffffff7f c3",          // far away
      "48bc0000000000000000 c3",  // mov $x,%rsp
      "bc00000000 c3",            // mov $x,%esp
      "4889c4 c3",
      "4889c5 c3",          // mov %rax,%rsp; mov %rax,%rbp
      "488b2500000000 c3",  // mov x(%rip),%rsp
      "4883e4f0 c3",        // and $-16,%rsp
      "4883ec18 c3",        // sub $24,%rsp
      "488b00 c3",
      "48890424 c3",  // through registers
      "4989e0 c3",    // other registers
      "00c0 c3",
      "cc c3",  // no nops
      "0f0b",
      "f4",
      "50 58 c3",  // not known
  };
  for (const char* other : others) {
    CAPTURE(std::string(other));
    CHECK_FALSE(is_function(hex(other)));
  }
  // More than a function's size, or its instructions.
  CHECK_FALSE(is_function(Code(65, std::byte{0x90}) + hex("c3")));
  Code large;
  for (int i = 0; i < 52; ++i) large = large + hex("b800000000");
  CHECK_FALSE(is_function(large + hex("c3")));
}

// Where the linker put it, which the C library is also told.
#ifndef MEMFLAME_SANITIZED  // a program under sanitizers is a hundred times as long
TEST_CASE("this program's own startup code") {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const ImageBytes image(std::as_bytes(std::span(text)));
  const auto elf = ElfImage::open(image);
  REQUIRE(elf);
  const Elf64_Shdr* section = elf->section(".fini_array");
  uint64_t start = 0;
  if (section != nullptr) {
    const ImageRange range = image.range(section->sh_offset, sizeof(start));
    REQUIRE(range.bytes.size() == sizeof(start));
    std::memcpy(&start, range.bytes.data(), sizeof(start));
  }
  const ImageRange code = code_at(image, *elf, start, 256);
  const std::optional<KnownFunction> destructors = known_function(code.bytes);
  if (!destructors || !destructors->has_flag) {
    MESSAGE("it is not gcc's, or the linker leaves its address out: not compared");
    return;
  }
  const Table table = make_table(image);
  for (const row& r : destructors->rows) {
    const auto found = std::find_if(table.rows.begin(), table.rows.end(), [&](const row& other) {
      return table.base + other.pc == start + r.pc;
    });
    REQUIRE(found != table.rows.end());
    CHECK(found->kind == r.kind);
    CHECK(found->cfa == r.cfa);
    CHECK(found->rbp == r.rbp);
  }
}
#endif

namespace {

// CPython's trampolines of 3.12 and 3.14; those of distributions also have endbr64.
const Code trampoline = hex("4883ec08 ffd1 4883c408 c3");
const Code framed_trampoline = hex("55 4889e5 ffd1 5d c3");

Code copies_of(const Code& code, size_t distance) {
  Code memory(copies_bytes);
  for (size_t at = 0; at + distance <= memory.size(); at += distance)
    std::copy(code.begin(), code.end(), memory.begin() + static_cast<std::ptrdiff_t>(at));
  return memory;
}

row row_at(const std::vector<row>& rows, uint32_t pc) {
  row found{};
  for (const row& r : rows)
    if (r.pc <= pc) found = r;
  return found;
}

}  // namespace

TEST_CASE("memory filled with copies of one function") {
  for (const size_t distance : {trampoline.size(), size_t{16}}) {
    CAPTURE(distance);
    const std::vector<row> rows = rows_of_copies(copies_of(trampoline, distance));
    REQUIRE(!rows.empty());
    const Code memory = copies_of(trampoline, distance);
    CHECK(may_be_copies(Bytes(memory).first(256)));
    CHECK(std::is_sorted(rows.begin(), rows.end(),
                         [](const row& a, const row& b) { return a.pc < b.pc; }));
    for (const uint32_t copy : {0U, 1U, 1000U}) {
      const auto start = static_cast<uint32_t>(copy * distance);
      CHECK(row_at(rows, start).cfa == 1);
      CHECK(row_at(rows, start + 5).cfa == 2);  // where the call is
      CHECK(row_at(rows, start + 10).cfa == 1);
    }
  }
  const std::vector<row> later = rows_of_copies(copies_of(framed_trampoline, 16));
  REQUIRE(!later.empty());
  CHECK(row_at(later, 16 + 5).cfa == 2);
  CHECK(row_at(later, 16 + 5).rbp == 2);
}

TEST_CASE("memory that only begins like copies is not taken for them") {
  const Code good = copies_of(trampoline, 16);
  for (const size_t at : {size_t{20}, size_t{30}, good.size() - 16, good.size() - 1}) {
    CAPTURE(at);
    Code bad = good;
    bad[at] ^= std::byte{1};
    CHECK(rows_of_copies(bad).empty());
  }
  CHECK(rows_of_copies(Code(copies_bytes)).empty());
  CHECK(rows_of_copies(copies_of(hex("c3"), 1)).empty());
  CHECK(rows_of_copies(Code{}).empty());
  CHECK_FALSE(may_be_copies(Code(256)));
  CHECK_FALSE(may_be_copies(Code{}));
  CHECK(rows_of_copies(trampoline).size() == 3);
}
