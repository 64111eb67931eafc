// SPDX-License-Identifier: BSD-2-Clause
// Blocks that are known to be lost, indirectly lost or reachable, for leaks --reachable. Each kind
// has its own function. Nothing is ever freed.
//
//   keep_in_global   3 blocks of 100 bytes in globals, one of which points to a fourth
//   keep_in_tls      2 blocks of 120 bytes in thread-local variables, one of a thread
//   keep_on_stack    2 blocks of 140 bytes on stacks, one of a thread
//   keep_in_register 1 block of 160 bytes in r12 of a thread that waits, and nowhere else
//   keep_by_interior 1 block of 180 bytes, of which a global has an address in the middle
//   lose             5 blocks of 200 bytes without a pointer
//   lose_list        1 block of 220 bytes without a pointer, which leads to 3 of 240 (lose_next)
//   lose_ring        2 blocks of 260 bytes that point to each other
//   lose_large       1 block of 300,000 bytes without a pointer
//   lose_at_stack    1 block of 280 bytes, to which only the unused part of a stack points
//
//   reachable exit       allocates, and calls exit() with status 7
//   reachable            says "ready PID", waits for a line, and does the same
//   reachable exit alone  the same without threads, and what they keep
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Node {
  Node* next;
  char text[1];
};

Node* globals[3];
char* volatile interior;
thread_local void* volatile local;
volatile int started = 0;
volatile bool waits = true;
volatile int three = 3, five = 5;  // so that the compiler makes loops of them, and one stack

// Pointers are held as their complement where they must not be seen.
uintptr_t hidden(void* block) { return ~reinterpret_cast<uintptr_t>(block); }
// NOLINTNEXTLINE(performance-no-int-to-ptr)
Node* shown(uintptr_t block) { return reinterpret_cast<Node*>(~block); }

}  // namespace

extern "C" {

[[gnu::noinline]] uintptr_t keep_in_global() { return hidden(malloc(100)); }
[[gnu::noinline]] uintptr_t keep_in_tls() { return hidden(malloc(120)); }
[[gnu::noinline]] uintptr_t keep_on_stack() { return hidden(malloc(140)); }
[[gnu::noinline]] uintptr_t keep_in_register() { return hidden(malloc(160)); }
[[gnu::noinline]] uintptr_t keep_by_interior() { return hidden(malloc(180)); }
[[gnu::noinline]] uintptr_t lose() { return hidden(malloc(200)); }
[[gnu::noinline]] uintptr_t lose_list() { return hidden(calloc(1, 220)); }
[[gnu::noinline]] uintptr_t lose_next() { return hidden(calloc(1, 240)); }
[[gnu::noinline]] uintptr_t lose_ring() { return hidden(calloc(1, 260)); }
[[gnu::noinline]] uintptr_t lose_at_stack() { return hidden(malloc(280)); }
[[gnu::noinline]] uintptr_t lose_large() { return hidden(malloc(300000)); }

// Overwrites what calls have left below the stack pointer.
[[gnu::noinline]] void wipe_stack() {
  char text[16384];
  std::memset(text, 0x5a, sizeof(text));
  asm volatile("" : : "r"(text) : "memory");
}

// Far below what later calls need.
[[gnu::noinline]] void fill_stack() {
  char unused[65536];
  asm volatile("" : : "r"(unused) : "memory");
  Node* volatile stale[64];
  const uintptr_t block = lose_at_stack();
  for (auto& each : stale) each = shown(block);
}

}  // extern "C"

namespace {

[[gnu::noinline]] void keep_globals() {
  for (Node*& each : globals) each = shown(keep_in_global());
  globals[2]->next = shown(keep_in_global());
  interior = reinterpret_cast<char*>(shown(keep_by_interior())) + 88;
}

[[gnu::noinline]] void lose_blocks() {
  for (int i = 0; i < five; ++i) lose();
  Node* node = shown(lose_list());
  for (int i = 0; i < three; ++i) {
    node->next = shown(lose_next());
    node = node->next;
  }
  Node* const ring = shown(lose_ring());
  ring->next = shown(lose_ring());
  ring->next->next = ring;
  lose_large();
}

[[gnu::noinline]] void keep_local() { local = shown(keep_in_tls()); }

// Waits in a system call with the block in r12. No other register has it, and no memory.
void* hold_in_register(void*) {
  const uintptr_t block = keep_in_register();
  wipe_stack();
  started = started + 1;
  asm volatile(
      "mov %0, %%r12\n"
      "not %%r12\n"
      "1: mov $34, %%eax\n"  // pause(2)
      "syscall\n"
      "jmp 1b\n"
      :
      : "r"(block)
      : "rax", "rcx", "r11", "r12", "memory");
  return nullptr;
}

void* hold_on_stack(void*) {
  keep_local();
  void* volatile kept = shown(keep_on_stack());
  wipe_stack();
  started = started + 1;
  while (waits) ::pause();
  return kept;
}

void start(void* (*function)(void*)) {
  pthread_t thread;
  const int before = started;
  if (pthread_create(&thread, nullptr, function, nullptr) != 0) ::_exit(1);
  while (started == before) ::usleep(1000);
}

[[gnu::noinline]] void finish(bool ends) {
  if (!ends) {
    char text[64];
    const int length =
        std::snprintf(text, sizeof(text), "ready %d\n", static_cast<int>(::getpid()));
    if (::write(STDOUT_FILENO, text, static_cast<size_t>(length)) != length) ::_exit(1);
    if (::read(STDIN_FILENO, text, 1) < 0) ::_exit(1);
  }
  exit(7);
}

}  // namespace

int main(int argc, char** argv) {
  const bool ends = argc > 1 && std::strcmp(argv[1], "exit") == 0;
  if (argc <= 2) {
    start(hold_in_register);
    start(hold_on_stack);
  }
  keep_globals();
  keep_local();
  lose_blocks();
  void* volatile kept = shown(keep_on_stack());
  wipe_stack();
  fill_stack();
  finish(ends);
  return kept == nullptr ? 1 : 0;
}
