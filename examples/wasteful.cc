// SPDX-License-Identifier: BSD-2-Clause
// Wastes memory in three ways, none of which is a leak: says how much, "NAME BYTES" in each line,
// then "done", and waits for a line on standard input.
//
//   reserve_for_later   a block of 64 MiB, of which 16 MiB are used, by use_some
//   keep_odd_sizes      10,000 blocks of 25 bytes, for each of which malloc gives 40
//   hold_the_heap       a block of 100 bytes behind 16 MiB that are freed
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t mib = size_t{1} << 20U, page = 4096;
constexpr size_t reserved = 64 * mib, used = 16 * mib;
constexpr size_t odd_blocks = 10000, odd_size = 25, held_size = 100;
constexpr size_t passing_blocks = 256, passing_size = 64 << 10U;

void* volatile sink = nullptr;
void* passing[passing_blocks];
size_t slack = 0;

void say(const char* name, size_t bytes) {
  char text[64];
  const int length = std::snprintf(text, sizeof(text), "%s %zu\n", name, bytes);
  if (length < 0 || ::write(STDOUT_FILENO, text, static_cast<size_t>(length)) != length) _exit(1);
}

void* kept(void* block, size_t size) {
  if (block == nullptr) _exit(1);
  slack += malloc_usable_size(block) - size;
  sink = block;
  return block;
}

}  // namespace

extern "C" {

[[gnu::noinline]] void use_some(void* block) { std::memset(block, 1, used); }

[[gnu::noinline]] void* reserve_for_later() {
  void* const block = kept(malloc(reserved), reserved);
  const auto at = reinterpret_cast<uintptr_t>(block);
  const auto first = (at + page - 1) / page, end = (at + reserved) / page;
  say("in-whole-pages", (end - first) * page);
  say("untouched", (end - (at + used + page - 1) / page) * page);
  return block;
}

[[gnu::noinline]] void keep_odd_sizes() {
  for (size_t i = 0; i < odd_blocks; ++i) kept(malloc(odd_size), odd_size);
}

[[gnu::noinline]] void pass_by() {
  for (void*& block : passing) block = malloc(passing_size);
}

[[gnu::noinline]] void hold_the_heap() {
  kept(malloc(held_size), held_size);
  say("pinning", held_size);
}

}  // extern "C"

int main() {
  // Otherwise the kernel may give 2 MiB where 4 KiB are touched.
  if (::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) return 1;
  use_some(reserve_for_later());
  keep_odd_sizes();
  pass_by();
  hold_the_heap();
  for (void* block : passing) free(block);
  say("slack", slack);
  say("done", 0);
  char end = 0;
  return ::read(STDIN_FILENO, &end, 1) < 0 ? 1 : 0;
}
