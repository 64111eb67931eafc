// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/followed_code.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>

using namespace memflame::unwind;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t base = 0x401000;

using Code = std::vector<std::byte>;

Code bytes(std::initializer_list<int> values) {
  Code code;
  for (const int v : values) code.push_back(static_cast<std::byte>(v));
  return code;
}

FollowedCode followed(const Code& code, std::vector<uint64_t> starts = {base}, uint64_t entry = 0) {
  UndescribedCode given;
  given.parts.push_back({base, code});
  given.starts = std::move(starts);
  given.entry = entry;
  given.text = base;
  given.text_end = base + code.size();
  return follow(given);
}

struct Expected {
  uint32_t pc;
  row_kind kind;
  int cfa = 0, rbp = 0, rbx = 0;
};

void check_rows(const FollowedCode& code, std::initializer_list<Expected> wanted) {
  REQUIRE(code.known.size() == 1);
  const std::vector<row>& rows = code.known[0].rows;
  REQUIRE(rows.size() == wanted.size());
  const Expected* next = wanted.begin();
  for (const row& r : rows) {
    CAPTURE(r.pc);
    CHECK(r.pc == next->pc);
    CHECK((r.kind & row_kind_mask) == next->kind);
    CHECK(int{r.cfa} == next->cfa);
    CHECK(int{r.rbp} == next->rbp);
    CHECK((r.kind >> 4) == next->rbx);
    ++next;
  }
}

}  // namespace

TEST_CASE("push, pop, sub, add and lea move rsp") {
  check_rows(followed(bytes({0x55,                          // push %rbp
                             0x53,                          // push %rbx
                             0x48, 0x83, 0xec, 0x18,        // sub $24,%rsp
                             0x31, 0xed,                    // xor %ebp,%ebp
                             0x6a, 1,                       // push $1
                             0x48, 0x8d, 0x64, 0x24, 0x20,  // lea 32(%rsp),%rsp
                             0x5b,                          // pop %rbx
                             0x5d,                          // pop %rbp
                             0xc3})),                       // ret
             {{0, row_rsp, 1},
              {1, row_rsp, 2, 2},
              {2, row_rsp, 3, 2, 3},
              {6, row_rsp, 6, 2, 3},
              {10, row_rsp, 7, 2, 3},
              {15, row_rsp, 3, 2, 3},
              {16, row_rsp, 2, 2},
              {17, row_rsp, 1}});
}

TEST_CASE("ways that meet agree, or nothing is known") {
  check_rows(followed(bytes({0x74, 3,     // je 5
                             0x50, 0x58,  // push %rax; pop %rax
                             0x90,        // nop
                             0xc3})),     // ret
             {{0, row_rsp, 1}, {3, row_rsp, 2}, {4, row_rsp, 1}});
  check_rows(followed(bytes({0x74, 1,  // je 3
                             0x50,     // push %rax
                             0x90,     // nop
                             0xc3})),  // ret
             {{0, row_rsp, 1}, {3, row_bad}});
  // A loop that pushes.
  check_rows(followed(bytes({0x50, 0xeb, 0xfd})), {{0, row_bad}});
  // On one path rbp is the caller's; it is saved on both.
  check_rows(followed(bytes({0x55, 0x74, 2, 0x31, 0xed, 0x90, 0x5d, 0xc3})),
             {{0, row_rsp, 1}, {1, row_rsp, 2, 2}, {7, row_rsp, 1}});
  // Saved on one path only, so it is not known to be saved.
  check_rows(followed(bytes({0x74, 2, 0x31, 0xed, 0x90, 0xc3})), {{0, row_rsp, 1}, {4, row_bad}});
}

TEST_CASE("memory on the stack of a size that is not known") {
  check_rows(followed(bytes({0x55,                    // push %rbp
                             0x48, 0x89, 0xe5,        // mov %rsp,%rbp
                             0x53,                    // push %rbx
                             0x48, 0x29, 0xc4,        // sub %rax,%rsp
                             0x50,                    // push %rax
                             0x48, 0x8d, 0x65, 0xf8,  // lea -8(%rbp),%rsp
                             0x5b,                    // pop %rbx
                             0x5d,                    // pop %rbp
                             0xc3})),                 // ret
             {{0, row_rsp, 1},
              {1, row_rsp, 2, 2},
              {5, row_rsp, 3, 2, 3},
              {8, row_rbp, 2, 2, 3},
              {13, row_rsp, 3, 2, 3},
              {14, row_rsp, 2, 2},
              {15, row_rsp, 1}});
  check_rows(followed(bytes({0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0,  // and $-32,%rsp
                             0xc9, 0xc3})),                                   // leave; ret
             {{0, row_rsp, 1}, {1, row_rsp, 2, 2}, {8, row_rbp, 2, 2}, {9, row_rsp, 1}});
  // Without a frame pointer.
  check_rows(followed(bytes({0x48, 0x29, 0xc4, 0x90, 0xc3})), {{0, row_rsp, 1}, {3, row_bad}});
  // A frame pointer that is overwritten.
  check_rows(followed(bytes({0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4, 0x31, 0xed, 0x90, 0xf4})),
             {{0, row_rsp, 1}, {1, row_rsp, 2, 2}, {7, row_rbp, 2, 2}, {9, row_bad}});
}

TEST_CASE("behind a jump to anywhere nothing is known") {
  check_rows(followed(bytes({0x50, 0xff, 0xe0, 0x58, 0xc3})),  // push %rax; jmp *%rax; pop; ret
             {{0, row_rsp, 1}, {1, row_rsp, 2}, {3, row_bad}});
}

TEST_CASE("the return address in a register") {
  // As vfork() has it: pop %rdx; syscall; push %rdx; ret
  check_rows(followed(bytes({0x5a, 0x0f, 0x05, 0x52, 0xc3})),
             {{0, row_rsp, 1}, {1, row_bad}, {4, row_rsp, 1}});
  // Another register is pushed, or the saved one is overwritten.
  check_rows(followed(bytes({0x5a, 0x51, 0x90, 0xc3})), {{0, row_rsp, 1}, {1, row_bad}});
  check_rows(followed(bytes({0x5a, 0x31, 0xd2, 0x52, 0x90, 0xc3})),
             {{0, row_rsp, 1}, {1, row_bad}});
}

TEST_CASE("a call goes on behind it when what is called returns") {
  // 0: push %rax; call 8; pop %rax; ret; 8: ret
  check_rows(followed(bytes({0x50, 0xe8, 2, 0, 0, 0, 0x58, 0xc3, 0xc3})),
             {{0, row_rsp, 1}, {1, row_rsp, 2}, {7, row_rsp, 1}});
  // 8: hlt; nothing reaches the code after the call.
  check_rows(followed(bytes({0x50, 0xe8, 2, 0, 0, 0, 0x58, 0xc3, 0xf4})),
             {{0, row_rsp, 1}, {1, row_rsp, 2}, {6, row_bad}, {8, row_rsp, 1}});
  // 8: jmp 8, for ever.
  check_rows(followed(bytes({0x50, 0xe8, 2, 0, 0, 0, 0x58, 0xc3, 0xeb, 0xfe})),
             {{0, row_rsp, 1}, {1, row_rsp, 2}, {6, row_bad}, {8, row_rsp, 1}});
  // 8: mov (%rdi),%rsp; jmp *8(%rdi), as longjmp() has it.
  check_rows(followed(bytes({0x50, 0xe8, 2, 0, 0, 0, 0x58, 0xc3, 0x48, 0x8b, 0x27, 0xff, 0x67, 8})),
             {{0, row_rsp, 1}, {1, row_rsp, 2}, {6, row_bad}, {8, row_rsp, 1}, {11, row_bad}});
  // Two functions that call each other return only through the exit from the cycle.
  check_rows(
      followed(bytes({0x50, 0xe8, 3, 0, 0, 0, 0x58, 0xc3, 0x90,     // 0
                      0x74, 6, 0xe8, 0xf0, 0xff, 0xff, 0xff, 0x90,  // 9: je 17; call 0
                      0xc3})),
      {{0, row_rsp, 1}, {1, row_rsp, 2}, {7, row_rsp, 1}, {8, row_padding}, {9, row_rsp, 1}});
  // A jump out of the code that is followed; padding shows where the function ends.
  check_rows(followed(bytes({0x50, 0xe8, 0, 0, 0x10, 0, 0x66, 0x90, 0x66, 0x90, 0x66, 0x90, 0x66,
                             0x90, 0x66, 0x90, 0x58, 0xc3})),
             {{0, row_rsp, 1}, {1, row_rsp, 2}, {6, row_bad}});
  check_rows(followed(bytes({0x50, 0xe8, 0, 0, 0x10, 0, 0x58, 0xc3})),
             {{0, row_rsp, 1}, {1, row_rsp, 2}, {7, row_rsp, 1}});
}

TEST_CASE("a thread's or the program's last system call") {
  for (const int number : {60, 231})
    check_rows(followed(bytes({0xb8, number, 0, 0, 0, 0x0f, 0x05, 0x50, 0xc3})),
               {{0, row_rsp, 1}, {7, row_bad}});
  check_rows(followed(bytes({0xb8, 61, 0, 0, 0, 0x0f, 0x05, 0x50, 0xc3})),
             {{0, row_rsp, 1}, {8, row_rsp, 2}});
}

TEST_CASE("where stacks begin") {
  // The program's first instruction: xor %ebp,%ebp; call 8; hlt; 8: ret
  check_rows(followed(bytes({0x31, 0xed, 0xe8, 1, 0, 0, 0, 0xf4, 0xc3}), {}, base),
             {{0, row_end}, {8, row_rsp, 1}});
  // The end of musl's __clone: test %eax,%eax; jne 19; the child; ret
  check_rows(followed(bytes({0x85, 0xc0, 0x75, 15,   0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1,
                             0x89, 0xc7, 0x31, 0xc0, 0xb0, 60,   0x0f, 0x05, 0xf4, 0xc3})),
             {{0, row_rsp, 1}, {4, row_end}, {19, row_rsp, 1}});
  // Another register is called, so this need not be a thread's start.
  check_rows(followed(bytes({0x85, 0xc0, 0x75, 15,   0x31, 0xed, 0x5f, 0x41, 0xff, 0xd2,
                             0x89, 0xc7, 0x31, 0xc0, 0xb0, 60,   0x0f, 0x05, 0xf4, 0xc3})),
             {{0, row_rsp, 1}, {6, row_bad}, {19, row_rsp, 1}});
}

TEST_CASE("functions whose address is loaded") {
  // lea 16(%rip),%rax; ret; 16: push %rax; hlt
  Code code = bytes({0x48, 0x8d, 0x05, 9, 0, 0, 0, 0xc3});
  code.resize(16, std::byte{0x90});
  code.push_back(std::byte{0x50});
  code.push_back(std::byte{0xf4});
  check_rows(followed(code),
             {{0, row_rsp, 1}, {8, row_padding}, {16, row_rsp, 1}, {17, row_rsp, 2}});
  code[3] = std::byte{10};  // functions begin at multiples of 16
  check_rows(followed(code), {{0, row_rsp, 1}, {8, row_bad}});
}

TEST_CASE("what is not code, and too much of it") {
  check_rows(followed(bytes({0x06, 0x06})), {{0, row_bad}});
  check_rows(followed(bytes({0x50, 0x48})), {{0, row_rsp, 1}, {1, row_bad}});  // cut off
  check_rows(followed(bytes({0xe9, 0xff, 0xff, 0xff, 0x7f})), {{0, row_rsp, 1}});
  check_rows(followed(bytes({0xc3}), {0, base - 1, base + 1, UINT64_MAX}), {{0, row_bad}});
  check_rows(followed(bytes({0x48, 0x81, 0xec, 0, 0, 0, 0x80, 0xc3})),  // sub $-2 GiB,%rsp
             {{0, row_rsp, 1}, {7, row_bad}});
  CHECK(followed(Code((16 << 20) + 1, std::byte{0x90})).given_up);
  const FollowedCode many = followed(Code(2 << 20, std::byte{0x90}));
  CHECK(many.given_up);
  CHECK(many.known.empty());
}
