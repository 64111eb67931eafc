// SPDX-License-Identifier: BSD-2-Clause
// Leaks on command, step by step. For each word on standard input it does the step of that name,
// then prints each of its blocks as "ADDRESS SIZE", or for `calls` each call, and "done". Nothing
// but the steps allocates.
//
//   small   10 blocks of 3,000 bytes, in leak_small()
//   large   2 blocks of 20,000 bytes, in leak_large()
//   free    frees the oldest 10 that leak_small() still has
//   many    200,000 blocks of 16 bytes, in leak_many()
//   million five times that
//   calls   one call of each kind of function
#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t most_blocks = 100;
constexpr int many = 200000;
volatile int few = 2;  // so that the compiler makes a loop of it, and one stack

void* small[most_blocks];
size_t small_begin = 0, small_end = 0;
void* volatile sink = nullptr;

[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) {
  char text[128];
  va_list args;
  va_start(args, format);
  const int length = std::vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (length < 0 || ::write(STDOUT_FILENO, text, static_cast<size_t>(length)) != length) _exit(1);
}

void show(void* block, size_t size) { say("%p %zu\n", block, size); }

}  // namespace

extern "C" {

[[gnu::noinline]] void leak_small() {
  for (int i = 0; i < 10 && small_end < most_blocks; ++i) {
    small[small_end] = malloc(3000);
    show(small[small_end++], 3000);
  }
}
[[gnu::noinline]] void leak_large() {
  for (int i = 0; i < few; ++i) {
    sink = malloc(20000);
    show(sink, 20000);
  }
}
[[gnu::noinline]] void free_small() {
  for (int i = 0; i < 10 && small_begin < small_end; ++i) free(small[small_begin++]);
}
[[gnu::noinline]] void leak_many() {
  for (int i = 0; i < many; ++i) sink = malloc(16);
}
[[gnu::noinline]] void make_calls() {
  void* a = malloc(64);
  say("malloc(64) = %p\n", a);
  void* b = calloc(3, 5);
  say("calloc(15) = %p\n", b);
  void* c = realloc(nullptr, 40);
  say("realloc(0x0, 40) = %p\n", c);
  void* const old = c;
  c = realloc(c, 4000);
  say("realloc(%p, 4000) = %p\n", old, c);
  void* d = nullptr;
  if (posix_memalign(&d, 64, 100) != 0) _exit(1);
  say("posix_memalign(100) = %p\n", d);
  void* e = aligned_alloc(32, 96);
  say("aligned_alloc(96) = %p\n", e);
  volatile size_t impossible = PTRDIFF_MAX;
  sink = malloc(impossible);
  say("malloc(%zu) = 0\n", impossible);
  const struct {
    void* block;
    size_t size;
  } all[] = {{a, 64}, {b, 15}, {c, 4000}, {d, 100}, {e, 96}};
  for (const auto& each : all) {
    free(each.block);
    say("free(%p) %zu\n", each.block, each.size);
  }
}

}  // extern "C"

namespace {

bool read_word(char* word, size_t room) {
  size_t length = 0;
  for (char c = 0; ::read(STDIN_FILENO, &c, 1) == 1;) {
    if (c == '\n') {
      word[length] = '\0';
      return true;
    }
    if (length + 1 < room) word[length++] = c;
  }
  return false;
}

}  // namespace

int main() {
  char word[32];
  while (read_word(word, sizeof(word))) {
    if (std::strcmp(word, "small") == 0) leak_small();
    if (std::strcmp(word, "large") == 0) leak_large();
    if (std::strcmp(word, "free") == 0) free_small();
    if (std::strcmp(word, "many") == 0) leak_many();
    if (std::strcmp(word, "million") == 0)
      for (int i = 0; i < 5; ++i) leak_many();
    if (std::strcmp(word, "calls") == 0) make_calls();
    say("done\n");
  }
  return 0;
}
