// SPDX-License-Identifier: BSD-2-Clause
#include "probes/kernel/kernel_code.h"

#include <doctest/doctest.h>

#include <string>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::vector<Pc> stack_of(std::initializer_list<uint64_t> addresses) {
  std::vector<Pc> stack;
  for (const uint64_t address : addresses) stack.push_back({address, !stack.empty()});
  return stack;
}

constexpr const char* symbols =
    "ffffffff81000000 T _text\n"
    "ffffffff81003000 T __vmalloc_node_range_noprof\n"
    "ffffffff81001000 t allocate_slab.isra.0\n"
    "ffffffff81002000 t pcpu_populate_chunk\n"
    "ffffffff81004000 T vfs_write\n"
    "ffffffff81005000 D pcpu_alloc\n"
    "ffffffffc0000000 t new_slab_thing\t[module]\n";

}  // namespace

TEST_CASE("the innermost allocator in a stack is the one that pages are for") {
  const KernelCode code(symbols);
  REQUIRE(code.is_known());
  CHECK(code.user_of(stack_of({0xffffffff81000010, 0xffffffff81001010})) == MemoryUser::slab);
  CHECK(code.user_of(stack_of({0xffffffff81000010, 0xffffffff81002fff})) == MemoryUser::percpu);
  CHECK(code.user_of(stack_of({0xffffffff81003010})) == MemoryUser::vmalloc);
  CHECK(code.user_of(stack_of({0xffffffff81001010, 0xffffffff81003010})) == MemoryUser::slab);
  CHECK(code.user_of(stack_of({0xffffffff81003010, 0xffffffff81001010})) == MemoryUser::vmalloc);
  CHECK(code.user_of(stack_of({0xffffffff81004010})) == MemoryUser::other);
  CHECK(code.user_of({}) == MemoryUser::other);
}

TEST_CASE("a return address behind a function's last instruction is still that function's") {
  const KernelCode code(symbols);
  CHECK(code.user_of(stack_of({0xffffffff81002000})) == MemoryUser::slab);
  CHECK(code.user_of(stack_of({0xffffffff81001000})) == MemoryUser::other);
}

TEST_CASE("data, and names that only begin alike, are not allocators") {
  const KernelCode code(symbols);
  CHECK(code.user_of(stack_of({0xffffffff81005010})) == MemoryUser::other);
  CHECK(code.user_of(stack_of({0xffffffffc0000010})) == MemoryUser::other);
}

TEST_CASE("hidden addresses and damaged lines give nothing") {
  CHECK(!KernelCode("0000000000000000 t allocate_slab\n").is_known());
  CHECK(!KernelCode("").is_known());
  CHECK(!KernelCode("allocate_slab\nffffffff81000000\nffffffff81000000 t\n\nzz t new_slab")
             .is_known());
  const KernelCode last("fffffffffffffff0 t new_slab");
  CHECK(last.user_of(stack_of({0xfffffffffffffff8})) == MemoryUser::slab);
  CHECK(last.user_of(stack_of({0})) == MemoryUser::other);
}
