// SPDX-License-Identifier: BSD-2-Clause
// An allocator that reports its blocks by the USDT probes otel_memory:alloc(ptr, size,
// weighted_bytes) and otel_memory:free(ptr): a nop, and a note in the file that says where it is
// and what the arguments are in. Each function of a truth has them elsewhere, as compilers may.
#include <cstddef>
#include <cstdint>

#include "examples/truth/report.h"

// The note of one probe, as systemtap's <sys/sdt.h> writes it.
#define USDT_NOTE(name, counter, arguments)      \
  "990: nop\n"                                   \
  ".pushsection .note.stapsdt, \"\", \"note\"\n" \
  ".balign 4\n"                                  \
  ".4byte 992f-991f, 994f-993f, 3\n"             \
  "991: .asciz \"stapsdt\"\n"                    \
  "992: .balign 4\n"                             \
  "993: .8byte 990b, _.stapsdt.base, " counter   \
  "\n"                                           \
  ".asciz \"otel_memory\"\n"                     \
  ".asciz \"" name                               \
  "\"\n"                                         \
  ".asciz \"" arguments                          \
  "\"\n"                                         \
  "994: .balign 4\n"                             \
  ".popsection\n"

// Where the file was linked to, so that notes can be read after prelinking.
asm(".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
    ".weak _.stapsdt.base\n"
    ".hidden _.stapsdt.base\n"
    "_.stapsdt.base: .space 1\n"
    ".size _.stapsdt.base, 1\n"
    ".popsection\n");

// Not 0 while somebody watches: the kernel counts.
extern "C" {
[[gnu::section(".probes"), gnu::used,
  gnu::visibility("hidden")]] volatile unsigned short otel_memory_alloc_semaphore = 0;
}

namespace {

constexpr size_t room = 64;

alignas(16) char arena[1 << 16];
size_t blocks = 0;
void* older = nullptr;
void* handed_over[4];

void* take() { return arena + room * blocks++; }

[[gnu::always_inline]] inline void report_free(void* block) {
  asm volatile(USDT_NOTE("free", "0", "8@%0")::"r"(block));
}
[[gnu::always_inline]] inline void report(void* block, size_t size, size_t weight) {
  asm volatile(USDT_NOTE("alloc", "0", "8@%0 8@%1 8@%2")::"r"(block), "r"(size), "r"(weight));
}

}  // namespace

extern "C" {

[[gnu::noinline]] void in_registers() {
  for (int i = 0; i < 10; ++i) {
    void* block = take();
    report(block, 40, 40);
    if (i < 4) report_free(block);
  }
}

// On the stack, by an address and by an address with an index.
[[gnu::noinline]] void in_memory() {
  struct {
    size_t size[8];
    void* block;
  } arguments{};
  for (uint64_t i = 0; i < 8; ++i) {
    arguments.size[i] = i + 1;
    arguments.block = take();
    asm volatile(USDT_NOTE("alloc", "0", "8@%0 8@(%1,%2,8) 8@%3")  //
                 ::"m"(arguments.block),
                 "r"(arguments.size), "r"(i), "m"(arguments.size[i]), "m"(arguments));
  }
  asm volatile(USDT_NOTE("free", "0", "8@%0")::"m"(arguments.block));
}

[[gnu::noinline]] void constants() {
  for (int i = 0; i < 3; ++i) {
    void* block = take();
    asm volatile(USDT_NOTE("alloc", "0", "8@%0 -4@%1 8@%2")::"r"(block), "i"(24), "i"(24));
  }
}

// What is above the lower halves is not a part of the arguments.
[[gnu::noinline]] void narrow() {
  uint64_t size = 0xdead00000030;
  for (int i = 0; i < 6; ++i) {
    void* block = take();
    asm volatile(USDT_NOTE("alloc", "0", "8@%0 4@%k1 1@%b2")::"r"(block), "r"(size), "q"(size));
    size += 0x100000000;
  }
}

// One block in four is reported, for all four.
[[gnu::noinline]] void sampled() {
  for (int i = 0; i < 40; ++i) {
    void* block = take();
    if (i % 4 != 0) continue;
    report(block, 50, 200);
    if (i >= 20) report_free(block);
  }
}

// Only if somebody watches, which costs less where nobody does.
[[gnu::noinline]] void guarded() {
  for (int i = 0; i < 5; ++i) {
    void* block = take();
    if (otel_memory_alloc_semaphore == 0) continue;
    asm volatile(USDT_NOTE("alloc", "otel_memory_alloc_semaphore", "8@%0 8@%1 8@%1")  //
                 ::"r"(block),
                 "r"(size_t{32}));
  }
}

[[gnu::noinline]] void hands_over() {
  for (void*& block : handed_over) report(block = take(), 16, 16);
}
[[gnu::noinline]] void takes_over() {
  for (int i = 0; i < 3; ++i) report_free(handed_over[i]);
}
[[gnu::noinline]] void frees_older() {
  report_free(older);
  report_free(nullptr);
}

}  // extern "C"

namespace {

// The counts are those of the blocks that stand for what was reported.
struct Site {
  const char* name;
  void (*run)();
  int64_t live, live_count, total, total_count;
};

constexpr Site sites[] = {
    {"in_registers", in_registers, 240, 6, 400, 10}, {"in_memory", in_memory, 28, 7, 36, 8},
    {"constants", constants, 72, 3, 72, 3},          {"narrow", narrow, 288, 6, 288, 6},
    {"sampled", sampled, 1000, 20, 2000, 40},        {"guarded", guarded, 160, 5, 160, 5},
    {"hands_over", hands_over, 16, 1, 64, 4},        {"takes_over", takes_over, 0, 0, 0, 0},
    {"frees_older", frees_older, 0, 0, 0, 0},
};

}  // namespace

int main(int argc, char** argv) {
  older = take();
  truth::begin(argc, argv);
  for (const Site& site : sites) {
    site.run();
    truth::state("functions", site.name, "live", site.live);
    truth::state("functions", site.name, "live_count", site.live_count);
    truth::state("functions", site.name, "total", site.total);
    truth::state("functions", site.name, "total_count", site.total_count);
  }
  truth::state("counters", "free_miss", "events", 1);
  return truth::end();
}
