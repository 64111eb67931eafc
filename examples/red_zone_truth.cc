// SPDX-License-Identifier: BSD-2-Clause
// Allocation functions that keep their arguments in the red zone, the 128 bytes below the stack
// pointer, and contain a nop of five bytes. Some kernels turn a probed one into a call, which
// writes there. A call whose arguments come out changed is counted; there must be none, watched or
// not.
//
// With ZONE_NOTES the functions offer their nop ZONE_NOP as the USDT probes otel_memory:alloc and
// :free.
#include <cstddef>
#include <cstdint>

#include "examples/truth/report.h"

#define NOP5 ".byte 0x0f,0x1f,0x44,0x00,0x00\n"

#ifndef ZONE_NOTES
#define ZONE_PROBE(name, arguments) NOP5
#else
#define ZONE_PROBE(name, arguments)              \
  "990: " ZONE_NOP                               \
  "\n"                                           \
  ".pushsection .note.stapsdt, \"\", \"note\"\n" \
  ".balign 4\n"                                  \
  ".4byte 992f-991f, 994f-993f, 3\n"             \
  "991: .asciz \"stapsdt\"\n"                    \
  "992: .balign 4\n"                             \
  "993: .8byte 990b, 0, 0\n"                     \
  ".asciz \"otel_memory\"\n"                     \
  ".asciz \"" name                               \
  "\"\n"                                         \
  ".asciz \"" arguments                          \
  "\"\n"                                         \
  "994: .balign 4\n"                             \
  ".popsection\n"
#endif

// Four words: a call from a nop saves three registers below its return address.
#define STORE "mov %rdi, -8(%rsp)\nmov %rdi, -16(%rsp)\nmov %rsi, -24(%rsp)\nmov %rsi, -32(%rsp)\n"
#define CHECKED \
  "mov -8(%rsp), %rdi\nmov -16(%rsp), %rdx\nmov -24(%rsp), %rsi\nmov -32(%rsp), %rcx\n"

#define FUNCTION(name, code, next)                                \
  ".p2align 4\n.globl " name "\n.type " name ", @function\n" name \
  ": .cfi_startproc\n" code CHECKED "jmp " next "\n.cfi_endproc\n.size " name ", . - " name "\n"

asm(".text\n"
    // The nop is behind what it would overwrite.
    FUNCTION("zone_alloc", STORE ZONE_PROBE("alloc", "8@%rsi 8@%rdi 8@%rdi"), "zone_give")
        FUNCTION("zone_free", STORE ZONE_PROBE("free", "8@%rdi"), "zone_take")
    // It is the entry, where nothing is in the red zone yet.
    FUNCTION("first_alloc", NOP5 STORE, "zone_give")
        FUNCTION("first_free", NOP5 STORE, "zone_take"));

namespace {
constexpr size_t room = 64, places = 512;
alignas(16) char arena[room * places];
size_t next = 0;
int64_t wrong = 0;
size_t wanted_size = 0;
void* wanted_block = nullptr;
}  // namespace

extern "C" {

// The block's address is the second argument, too, where a USDT probe reads it.
[[gnu::used]] void* zone_give(size_t size, void* block, size_t size_again, void* block_again) {
  wrong +=
      size != wanted_size || size_again != size || block != wanted_block || block_again != block;
  return wanted_block;
}
[[gnu::used]] void zone_take(void* block, size_t, void* block_again, size_t) {
  wrong += block != wanted_block || block_again != block;
}

void* zone_alloc(size_t size, void* block);
void zone_free(void* block, size_t size);
void* first_alloc(size_t size, void* block);
void first_free(void* block, size_t size);

}  // extern "C"

namespace {

// 100 blocks, of which every other one is freed. Pieces of the stack below are made different each
// time.
template <auto give, auto take>
void fill() {
  for (size_t i = 0; i < 100; ++i) {
    wanted_size = 24 + i % 8;
    wanted_block = arena + room * next++;
    void* const block = give(wanted_size, wanted_block);
    wanted_block = block;
    if (i % 2 == 0) take(block, wanted_size);
  }
}

}  // namespace

extern "C" {
[[gnu::noinline]] void keeps_before() { fill<zone_alloc, zone_free>(); }
[[gnu::noinline]] void nop_first() { fill<first_alloc, first_free>(); }
}

namespace {

void state(const char* name) {
  // i % 8 of 100: 12 whole rounds of 0 … 7, then 0 … 3. What stays has an odd i.
  truth::state("functions", name, "total", 100 * 24 + 12 * 28 + 6);
  truth::state("functions", name, "total_count", 100);
  truth::state("functions", name, "live", 50 * 24 + 12 * 16 + 4);
  truth::state("functions", name, "live_count", 50);
}

}  // namespace

int main(int argc, char** argv) {
  truth::begin(argc, argv);
  keeps_before();
  state("keeps_before");
#ifndef ZONE_NOTES
  nop_first();
  state("nop_first");
#endif
  truth::state("counters", "wrong", "events", wrong);
  return truth::end();
}
