// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/site.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t entry = 0x1000;

std::vector<std::byte> bytes(std::initializer_list<int> code) {
  std::vector<std::byte> made(code.size());
  std::transform(code.begin(), code.end(), made.begin(),
                 [](int b) { return static_cast<std::byte>(b); });
  return made;
}

// The site in a function of these bytes that needs its first argument.
Site site_in(std::initializer_list<int> code, uint8_t arguments = 1, bool long_nops = false) {
  const std::vector<std::byte> made = bytes(code);
  const std::vector<Instruction> body = decode_all(made, entry, long_nops);
  REQUIRE_FALSE(body.empty());
  return choose_site(made, entry, body,
                     {.arguments = arguments, .size = made.size(), .long_nops = long_nops});
}

bool is(const Site& site, uint64_t delta, ProbeCost cost = ProbeCost::emulated) {
  CAPTURE(site.delta);
  CAPTURE(int(site.cost));
  return site.delta == delta && site.cost == cost;
}

ProbeCost cost_of(std::initializer_list<int> code, bool long_nops = false) {
  const auto instruction = decode(bytes(code), entry, long_nops);
  REQUIRE(instruction.has_value());
  REQUIRE(instruction->length == code.size());
  return instruction->cost;
}

}  // namespace

TEST_CASE("what the kernel emulates: push, one-byte nop, relative jump, branch and call") {
  for (const auto& code :
       std::initializer_list<std::initializer_list<int>>{{0x50},                     // push %rax
                                                         {0x57},                     // push %rdi
                                                         {0x41, 0x54},               // push %r12
                                                         {0x90},                     // nop
                                                         {0xeb, 0x10},               // jmp
                                                         {0xe9, 1, 0, 0, 0},         // jmp
                                                         {0x74, 0x10},               // je
                                                         {0x0f, 0x84, 1, 0, 0, 0},   // je
                                                         {0xe8, 1, 0, 0, 0},         // call
                                                         {0xf2, 0xe9, 1, 0, 0, 0}})  // bnd jmp
    CHECK(cost_of(code) == ProbeCost::emulated);
}

TEST_CASE("what the kernel steps over") {
  for (const auto& code : std::initializer_list<std::initializer_list<int>>{
           {0xf3, 0x0f, 0x1e, 0xfa},  // endbr64
           {0x48, 0x85, 0xff},        // test %rdi,%rdi
           {0xff, 0xe0},              // jmp *%rax
           {0xff, 0x25, 1, 0, 0, 0},  // jmp *x(%rip)
           {0xff, 0xf0},              // push %rax, the long way
           {0x48, 0x50},              // push %rax with a prefix that means nothing
           {0x66, 0x50},              // push %ax
           {0x6a, 0x01},              // push $1
           {0xc3},                    // ret
           {0xe2, 0x10},              // loop
           {0xe3, 0x10},              // jrcxz
           {0x66, 0x90},              // nop in some kernels only
           {0x41, 0x90},              // xchg %r8,%rax
           {0xf3, 0x90}})             // pause
    CHECK(cost_of(code) == ProbeCost::stepped);
}

TEST_CASE("what the kernel refuses") {
  for (const auto& code : std::initializer_list<std::initializer_list<int>>{
           {0x66, 0xe9, 1, 0, 0, 0},                 // a jump with an operand size
           {0x3e, 0xff, 0xe0},                       // notrack jmp *%rax
           {0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0},  // nop with %cs
           {0xf0, 0x48, 0xff, 0x07},                 // lock incq (%rdi)
           {0xcc},
           {0xf4},
           {0x0f, 0x05},
           {0x0f, 0x0b}})  // int3, hlt, syscall, ud2
    CHECK(cost_of(code) == ProbeCost::refused);
}

TEST_CASE("nops of several bytes are emulated since Linux 6.18") {
  CHECK(cost_of({0x0f, 0x1f, 0x44, 0, 0}) == ProbeCost::stepped);
  CHECK(cost_of({0x0f, 0x1f, 0x44, 0, 0}, true) == ProbeCost::emulated);
  // nopl 0(%rax,%rax,1); push %rbx; ret
  CHECK(is(site_in({0x0f, 0x1f, 0x44, 0, 0, 0x53, 0xc3}), 5));
  CHECK(is(site_in({0x0f, 0x1f, 0x44, 0, 0, 0x53, 0xc3}, 1, true), 0));
}

TEST_CASE("what a kernel may turn into a call") {
  const auto becomes_call = [](std::initializer_list<int> code) {
    const auto instruction = decode(bytes(code), entry);
    REQUIRE(instruction.has_value());
    REQUIRE(instruction->length == code.size());
    return instruction->becomes_call;
  };
  for (const auto& code : std::initializer_list<std::initializer_list<int>>{
           {0x0f, 0x1f, 0x44, 0, 0},
           {0x66, 0x66, 0x66, 0x66, 0x90},
           {0x48, 0x8d, 0x74, 0x26, 0},      // lea 0(%rsi,%riz),%rsi
           {0xe9, 0, 0, 0, 0},               // jmp to what follows
           {0x66, 0x66, 0x48, 0x89, 0xc0}})  // mov %rax,%rax
    CHECK(becomes_call(code));
  for (const auto& code : std::initializer_list<std::initializer_list<int>>{
           {0x90},
           {0x0f, 0x1f, 0x40, 0},
           {0x66, 0x0f, 0x1f, 0x44, 0, 0},
           {0xe9, 1, 0, 0, 0},
           {0xb8, 0, 0, 0, 0},               // mov $0,%eax
           {0x48, 0x8d, 0x64, 0x24, 0x80}})  // lea -128(%rsp),%rsp
    CHECK_FALSE(becomes_call(code));
}

TEST_CASE("a nop that may become a call is a site only while nothing was stored") {
  // mov %rdi,-8(%rsp); nopl; mov -8(%rsp),%rdi; ret
  CHECK(is(site_in({0x48, 0x89, 0x7c, 0x24, 0xf8, 0x0f, 0x1f, 0x44, 0, 0, 0x48, 0x8b, 0x7c, 0x24,
                    0xf8, 0xc3},
                   1, true),
           0, ProbeCost::stepped));
  // mov %rdi,-8(%rsp); nopl; push %rbx: it is passed over. The store may be by another register,
  // too.
  CHECK(
      is(site_in({0x48, 0x89, 0x7c, 0x24, 0xf8, 0x0f, 0x1f, 0x44, 0, 0, 0x53, 0xc3}, 1, true), 10));
  CHECK(is(site_in({0x48, 0x89, 0x78, 0xf8, 0x0f, 0x1f, 0x44, 0, 0, 0x53, 0xc3}, 1, true), 9));
  // endbr64; nopl; push %rbx: as compilers make room for tracers
  CHECK(is(site_in({0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0, 0, 0x53, 0xc3}, 1, true), 4));
  // cs nopw; mov %rdi,-8(%rsp); nopl; ret: not where the kernel refuses all before it either
  CHECK(is(site_in({0x2e, 0x0f, 0x1f, 0x84, 0,    0,    0,    0, 0, 0x48,
                    0x89, 0x7c, 0x24, 0xf8, 0x0f, 0x1f, 0x44, 0, 0, 0xc3}),
           9, ProbeCost::stepped));
}

TEST_CASE("a nop that may become a call is not a site where a jump leads to it") {
  // nopl; test %rdi,%rdi; jne entry; ret: what the turn before has stored would be overwritten
  CHECK(is(site_in({0x0f, 0x1f, 0x44, 0, 0, 0x48, 0x85, 0xff, 0x75, 0xf6, 0xc3}, 1, true), 8));
  // … or into its bytes
  CHECK(is(site_in({0x0f, 0x1f, 0x44, 0, 0, 0x75, 0xfb, 0xc3}, 1, true), 0, ProbeCost::refused));
  // An address within a function is not its entry.
  const std::vector<std::byte> code = bytes({0x0f, 0x1f, 0x44, 0, 0, 0x53, 0xc3});
  SiteNeeds needs{.arguments = 1, .size = code.size(), .long_nops = true, .inside = true};
  CHECK(is(choose_site(code, entry, decode_all(code, entry), needs), 5));
  needs.size = 0;
  CHECK(is(choose_site(code, entry, decode_all(code, entry), needs), 0, ProbeCost::refused));
}

TEST_CASE("an entry that is emulated is the site") {
  CHECK(is(site_in({0x53, 0x48, 0x85, 0xff, 0x74, 0x01, 0xc3, 0xc3}), 0));
}

TEST_CASE("tests, landing marks and copies are passed over") {
  // test %rdi,%rdi; je; ret; ret
  CHECK(is(site_in({0x48, 0x85, 0xff, 0x74, 0x01, 0xc3, 0xc3}), 3));
  // endbr64; test %rdi,%rdi; je; ret; ret
  CHECK(is(site_in({0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x85, 0xff, 0x74, 0x01, 0xc3, 0xc3}), 7));
  // mov 1(%rip),%rax; mov %rdi,%r8; test %rax,%rax; jne; ret; ret
  CHECK(is(site_in({0x48, 0x8b, 0x05, 1, 0, 0, 0, 0x49, 0x89, 0xf8, 0x48, 0x85, 0xc0, 0x75, 0x01,
                    0xc3, 0xc3}),
           13));
}

TEST_CASE("not behind a change of the stack pointer") {
  CHECK(is(site_in({0x48, 0x83, 0xec, 0x08, 0x53, 0xc3}), 0, ProbeCost::stepped));  // sub; push
  CHECK(is(site_in({0x5f, 0x53, 0xc3}), 0, ProbeCost::stepped));                    // pop; push
  CHECK(is(site_in({0x6a, 0x01, 0x53, 0xc3}), 0, ProbeCost::stepped));              // push $1
  CHECK(is(site_in({0xc9, 0x53, 0xc3}), 0, ProbeCost::stepped));                    // leave
}

TEST_CASE("not behind a write to the return address") {
  CHECK(is(site_in({0x48, 0x89, 0x04, 0x24, 0x53, 0xc3}), 0, ProbeCost::stepped));        // (%rsp)
  CHECK(is(site_in({0x48, 0x89, 0x44, 0x24, 0xfc, 0x53, 0xc3}), 0, ProbeCost::stepped));  // -4
  CHECK(is(site_in({0x48, 0x89, 0x44, 0x24, 0xf8, 0x53, 0xc3}), 5));  // -8: the red zone
  CHECK(is(site_in({0x48, 0x89, 0x44, 0x24, 0x08, 0x53, 0xc3}), 5));  // 8: the caller's
}

TEST_CASE("arguments that are read must still be there, others need not") {
  const std::initializer_list<int> mov = {0x48, 0x89, 0xf7, 0x53, 0xc3};  // mov %rsi,%rdi; push
  CHECK(is(site_in(mov, 1), 0, ProbeCost::stepped));
  CHECK(is(site_in(mov, 2), 3));
  const std::initializer_list<int> clear = {0x31, 0xff, 0x53, 0xc3};  // xor %edi,%edi; push
  CHECK(is(site_in(clear, 1), 0, ProbeCost::stepped));
  const std::initializer_list<int> byte = {0x40, 0xb7, 0x01, 0x53, 0xc3};  // mov $1,%dil; push
  CHECK(is(site_in(byte, 1), 0, ProbeCost::stepped));
  const std::initializer_list<int> maybe = {0x48, 0x0f, 0x44, 0xfe, 0x53, 0xc3};  // cmove; push
  CHECK(is(site_in(maybe, 1), 0, ProbeCost::stepped));
  const std::initializer_list<int> mul = {0x48, 0xf7, 0xe2, 0x53, 0xc3};  // mul %rdx; push
  CHECK(is(site_in(mul, 3), 3));
  CHECK(is(site_in(mul, 4), 0, ProbeCost::stepped));
  const std::initializer_list<int> copy = {0xf3, 0xa4, 0x53, 0xc3};  // rep movsb; push
  for (const uint8_t argument : {uint8_t{1}, uint8_t{2}, uint8_t{8}})
    CHECK(is(site_in(copy, argument), 0, ProbeCost::stepped));
  CHECK(is(site_in(copy, 4), 2));
  const std::initializer_list<int> r9 = {0x4d, 0x31, 0xc9, 0x53, 0xc3};  // xor %r9,%r9; push
  CHECK(is(site_in(r9, 32), 0, ProbeCost::stepped));
  CHECK(is(site_in(r9, 16), 3));
}

TEST_CASE("an argument may have been copied to where another one comes in") {
  // mov %rdi,%rsi; mov %fs:0,%rdi (shortened: xor %edi,%edi); jmp
  const Site moved = site_in({0x48, 0x89, 0xfe, 0x31, 0xff, 0xeb, 0x00});
  CHECK(is(moved, 5));
  bpf::call_shape shape{};
  shape.size = 1;
  shape.block = 3;
  shape.align = bpf::aligned_to_page;
  CHECK(at_site(shape, moved).size == 2);
  CHECK(at_site(shape, moved).block == 3);
  CHECK(at_site(shape, moved).align == bpf::aligned_to_page);
  // … and on from there: mov %rsi,%rdx; xor %esi,%esi; jmp
  const Site again =
      site_in({0x48, 0x89, 0xfe, 0x31, 0xff, 0x48, 0x89, 0xf2, 0x31, 0xf6, 0xeb, 0x00});
  CHECK(is(again, 10));
  CHECK(at_site(shape, again).size == 3);
  // Only 32 bits of it are copied: mov %edi,%esi.
  CHECK(is(site_in({0x89, 0xfe, 0x31, 0xff, 0xeb, 0x00}), 0, ProbeCost::stepped));
  // The register has changed before the copy: xor %edi,%edi; mov %rdi,%rsi.
  CHECK(is(site_in({0x31, 0xff, 0x48, 0x89, 0xfe, 0xeb, 0x00}), 0, ProbeCost::stepped));
  // The copy is overwritten, too.
  CHECK(is(site_in({0x48, 0x89, 0xfe, 0x31, 0xff, 0x31, 0xf6, 0xeb, 0x00}), 0, ProbeCost::stepped));
  // Copied to a register that passes no argument: mov %rdi,%rbx; xor %edi,%edi.
  CHECK(is(site_in({0x48, 0x89, 0xfb, 0x31, 0xff, 0xeb, 0x00}), 0, ProbeCost::stepped));
  // The copy of the first argument overwrites the second.
  CHECK(is(site_in({0x48, 0x89, 0xfe, 0xeb, 0x00}, 3), 0, ProbeCost::stepped));
}

TEST_CASE("never behind a branch or a call, emulated or not") {
  CHECK(is(site_in({0xe3, 0x01, 0x53, 0xc3}), 0, ProbeCost::stepped));  // jrcxz; push
  CHECK(is(site_in({0xff, 0xd0, 0x53, 0xc3}), 0, ProbeCost::stepped));  // call *%rax; push
  CHECK(is(site_in({0x0f, 0x05, 0x53, 0xc3}), 0, ProbeCost::refused));  // syscall; push
  CHECK(is(site_in({0xff, 0x25, 0, 0, 0, 0, 0x53, 0xc3}), 0, ProbeCost::stepped));
  CHECK(is(site_in({0xc3, 0x53, 0xc3}), 0, ProbeCost::stepped));  // ret; push
}

TEST_CASE("a site is passed once a call: nothing jumps to it, or into the bytes before it") {
  // test %rdi,%rdi; L: je +3; push %rbx; jmp L; ret
  CHECK(is(site_in({0x48, 0x85, 0xff, 0x74, 0x03, 0x53, 0xeb, 0xfb, 0xc3}), 0, ProbeCost::stepped));
  // mov %rdi,%rbx; L: test %rdi,%rdi; je +2; jmp L; ret: the site would be behind L
  CHECK(is(site_in({0x48, 0x89, 0xfb, 0x48, 0x85, 0xff, 0x74, 0x02, 0xeb, 0xf9, 0xc3}), 0,
           ProbeCost::stepped));
  // test %rdi,%rdi; je +2; L: jmp L; ret: a loop behind the site
  CHECK(is(site_in({0x48, 0x85, 0xff, 0x74, 0x02, 0xeb, 0xfe, 0xc3}), 3));
  // test %rdi,%rdi; je +2; jmp entry; ret: begins anew
  CHECK(is(site_in({0x48, 0x85, 0xff, 0x74, 0x02, 0xeb, 0xf9, 0xc3}), 3));
}

TEST_CASE("what jumps there from elsewhere counts too") {
  const std::vector<std::byte> code = bytes({0x48, 0x85, 0xff, 0x74, 0x01, 0xc3, 0xc3});
  std::vector<Instruction> body = decode_all(code, entry);
  Instruction cold{.address = 0x500, .length = 5, .kind = Instruction::jump, .target = entry + 3};
  const SiteNeeds needs{.arguments = 1, .size = code.size()};
  CHECK(is(choose_site(code, entry, body, needs), 3));
  body.push_back(cold);
  CHECK(is(choose_site(code, entry, body, needs), 0, ProbeCost::stepped));
  body.back().target = entry + 5;
  CHECK(is(choose_site(code, entry, body, needs), 3));
}

TEST_CASE("a computed jump of the function may go anywhere in it") {
  // test %rdi,%rdi; je +2; jmp *%rax; ret
  CHECK(is(site_in({0x48, 0x85, 0xff, 0x74, 0x02, 0xff, 0xe0, 0xc3}), 0, ProbeCost::stepped));
  // through a slot of the linker: out of it
  CHECK(is(site_in({0x48, 0x85, 0xff, 0x74, 0x06, 0xff, 0x25, 0, 0, 0, 0, 0xc3}), 3));
}

TEST_CASE("without the function's size it is the entry") {
  const std::vector<std::byte> code = bytes({0x48, 0x85, 0xff, 0x74, 0x01, 0xc3, 0xc3});
  CHECK(is(choose_site(code, entry, decode_all(code, entry), {.arguments = 1, .size = 0}), 0,
           ProbeCost::stepped));
}

TEST_CASE("an entry that the kernel refuses is left for what it takes") {
  // cs nopw; mov %rdi,%rax; ret
  CHECK(is(site_in({0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x48, 0x89, 0xf8, 0xc3}), 9,
           ProbeCost::stepped));
  CHECK(is(site_in({0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x53, 0xc3}), 9));
  CHECK(is(site_in({0xcc, 0x53, 0xc3}), 0, ProbeCost::refused));
}

TEST_CASE("code that ends or is none keeps the entry") {
  CHECK(is(site_in({0x48, 0x85, 0xff}), 0, ProbeCost::stepped));
  CHECK(is(choose_site({}, entry, {}, {.arguments = 1, .size = 5}), 0, ProbeCost::refused));
  const std::vector<std::byte> bad = bytes({0x48, 0x85, 0xff, 0x06, 0x53});
  CHECK(decode_all(bad, entry).empty());
  CHECK(is(choose_site(bad, entry, {}, {.arguments = 1, .size = 5}), 0, ProbeCost::stepped));
}
