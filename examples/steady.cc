// SPDX-License-Identifier: BSD-2-Clause
// Works at an even pace, a step about every millisecond, and states when each step was: so the
// figures of any moment are known. Step N runs on the Nth of four stacks, in turn. It keeps a block
// of 100 bytes, and replaces the oldest of 64 blocks of 3,000 bytes. With WIDE it also allocates
// and frees WIDE blocks of 16 bytes, each on one of 16,384 stacks, by chance.
//
//   steady [WIDE]
//
// Each step prints "BEGIN END", in nanoseconds of CLOCK_MONOTONIC. It ends when it can read
// something on standard input, then prints "steps N".
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

constexpr size_t passing_blocks = 64;
constexpr int wide_depth = 14;  // 2 to the power of that are the stacks

void* passing[passing_blocks];
void* volatile sink = nullptr;

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Without the C library's buffers, which would be allocated.
void print(const char* format, uint64_t a, uint64_t b) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, format, a, b);
  if (write(STDOUT_FILENO, text, static_cast<size_t>(size)) != size) _exit(1);
}

bool is_asked_to_end() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return poll(&input, 1, 1) > 0;
}

}  // namespace

extern "C" {

void turn_left(uint64_t path, int left);
void turn_right(uint64_t path, int left);

[[gnu::noinline]] void keep_block() { sink = malloc(100); }
[[gnu::noinline]] void pass_block(size_t slot) {
  free(passing[slot]);
  passing[slot] = malloc(3000);
}
[[gnu::noinline]] void wide_block() {
  sink = malloc(16);
  free(sink);
}

[[gnu::noinline]] void walk(uint64_t path, int left) {
  if (left == 0)
    wide_block();
  else if ((path & 1) != 0)
    turn_right(path >> 1, left - 1);
  else
    turn_left(path >> 1, left - 1);
  asm volatile("");  // no tail calls
}
[[gnu::noinline]] void turn_left(uint64_t path, int left) {
  walk(path, left);
  asm volatile("");
}
[[gnu::noinline]] void turn_right(uint64_t path, int left) {
  walk(path, left);
  asm volatile("# not the same as turn_left");
}

// Functions with the same instructions could become one.
#define STEP(name)                               \
  [[gnu::noinline]] void name(uint64_t number) { \
    keep_block();                                \
    pass_block(number % passing_blocks);         \
    asm volatile("# " #name);                    \
  }
STEP(step_0)
STEP(step_1)
STEP(step_2)
STEP(step_3)

}  // extern "C"

int main(int argc, char** argv) {
  constexpr std::array steps{step_0, step_1, step_2, step_3};
  const uint64_t wide = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  uint64_t number = 0;
  uint32_t chance = 1;
  for (; !is_asked_to_end(); ++number) {
    const uint64_t begin = now_ns();
    steps.at(number % steps.size())(number);
    for (uint64_t i = 0; i < wide; ++i) {
      chance = chance * 1664525 + 1013904223;  // linear congruential
      walk(chance >> 16, wide_depth);
    }
    print("%lu %lu\n", begin, now_ns());
  }
  print("steps %lu\n", number, 0);
  return 0;
}
