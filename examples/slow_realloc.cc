// SPDX-License-Identifier: BSD-2-Clause
// Has an allocator whose realloc() takes 0.3 s. A thread grows a block by it, and now and then asks
// for what cannot be; the main thread allocates and frees all the time. Argument: how often.
// Prints how often realloc() has succeeded.
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

// glibc's own allocator.
// NOLINTBEGIN(bugprone-reserved-identifier,clang-diagnostic-reserved-identifier)
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void __libc_free(void* block);

// Big enough that no rule takes them for jumps to those.
[[gnu::noinline]] void* malloc(size_t size) {
  void* const block = __libc_malloc(size);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}
[[gnu::noinline]] void* calloc(size_t count, size_t size) {
  void* const block = __libc_calloc(count, size);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}
[[gnu::noinline]] void* realloc(void* block, size_t size) {
  constexpr useconds_t half = 150'000;
  ::usleep(half);
  void* const moved = __libc_realloc(block, size);
  ::usleep(half);
  return moved;
}
[[gnu::noinline]] void free(void* block) {
  __libc_free(block);
  asm volatile("" : : : "memory");
}
// NOLINTEND(bugprone-reserved-identifier,clang-diagnostic-reserved-identifier)

[[gnu::noinline]] void* grown(void* block, size_t size) { return realloc(block, size); }
[[gnu::noinline]] void* first_block() { return malloc(16); }
[[gnu::noinline]] void busy(long times) {
  static void* volatile sink;
  for (long i = 0; i < times; ++i) {
    sink = malloc(24);
    free(sink);
  }
}

}  // extern "C"

namespace {

volatile size_t impossible = PTRDIFF_MAX;

}  // namespace

int main(int, char** arguments) {
  std::atomic<bool> is_over = false;
  int moved = 0;
  std::thread grower([&] {
    void* block = first_block();
    for (size_t size = 32; !is_over; size += 16) {
      void* const larger = grown(block, size % 48 == 0 ? impossible : size);
      if (larger == nullptr) continue;
      block = larger;
      ++moved;
    }
  });
  busy(std::strtol(arguments[1], nullptr, 10));
  is_over = true;
  grower.join();
  std::printf("%d\n", moved);
  return 0;
}
