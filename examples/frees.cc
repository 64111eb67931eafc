// SPDX-License-Identifier: BSD-2-Clause
// Allocates blocks in one function and frees them in others, a known number in each. Its only
// output is what it has freed where.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

namespace {

constexpr int dropped = 30, deleted = 20, emptied = 10, handed_over = 15, grown = 12, kept = 5;

void* volatile sink = nullptr;  // makes every block escape

}  // namespace

// Functions have C names, so that a frame's name is exactly the function's.
extern "C" {

[[gnu::noinline]] void* make() {
  void* const block = malloc(100);
  if (block == nullptr) abort();
  sink = block;
  return block;
}
[[gnu::noinline]] void drop(void* block) {
  free(block);
  sink = nullptr;
}
[[gnu::noinline]] void delete_one() {
  void* const block = ::operator new(100);
  sink = block;
  ::operator delete(block);
  sink = nullptr;
}
// glibc frees the block.
[[gnu::noinline]] void empty(void* block) { sink = realloc(block, 0); }
[[gnu::noinline]] void* grow(void* block) { return realloc(block, 100'000); }
[[gnu::noinline]] void take_over(void* block) {
  free(block);
  sink = nullptr;
}
[[gnu::noinline]] void drop_grown(void* block) {
  free(block);
  sink = nullptr;
}

}  // extern "C"

int main() {
  for (int i = 0; i < dropped; ++i) drop(make());
  for (int i = 0; i < deleted; ++i) delete_one();
  for (int i = 0; i < emptied; ++i) empty(make());
  for (int i = 0; i < handed_over; ++i) {
    void* const block = make();
    std::thread([block] { take_over(block); }).join();
  }
  for (int i = 0; i < grown; ++i) drop_grown(grow(make()));
  for (int i = 0; i < kept; ++i) sink = make();
  std::printf(
      "{\"drop\": %d, \"delete_one\": %d, \"empty\": %d, \"take_over\": %d, \"grow\": %d, "
      "\"drop_grown\": %d}\n",
      dropped, deleted, emptied, handed_over, grown, grown);
  return 0;
}
