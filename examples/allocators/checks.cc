// SPDX-License-Identifier: BSD-2-Clause
// What allocation profilers are known to get wrong, one function each, beyond alloc_truth.cc:
// reallocation chains, calls that fail, blocks left by one function and freed by another, functions
// that reach malloc() in several ways, jumps and exceptions across callers, stacks of our own, and
// children.
#include <malloc.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "examples/truth/report.h"

namespace {

// Read at run time, so that the compiler neither warns about nor folds calls that must fail.
volatile size_t impossible = PTRDIFF_MAX;
volatile size_t odd_alignment = 24;
void* volatile sink = nullptr;  // makes every block escape

void* keep(void* block) {
  if (block == nullptr) truth::fail("an allocation failed");
  sink = block;
  return block;
}
void expect_null(void* block) {
  if (block != nullptr) truth::fail("an impossible allocation succeeded");
}
void* aligned(size_t alignment, size_t size) {
  void* block = nullptr;
  if (posix_memalign(&block, alignment, size) != 0) truth::fail("posix_memalign failed");
  return block;
}

void* chained = nullptr;
void* handed_over = nullptr;
void* cells[64];
size_t cell_count = 0;
jmp_buf jump;

}  // namespace

extern "C" {

// --- Each kind in one block, and nothing left of any.
[[gnu::noinline]] void one_malloc() { keep(malloc(30000)); }
[[gnu::noinline]] void one_calloc() { keep(calloc(30, 1000)); }
[[gnu::noinline]] void one_realloc() { keep(realloc(keep(malloc(10)), 30000)); }
[[gnu::noinline]] void one_posix_memalign() { keep(aligned(512, 30000)); }
[[gnu::noinline]] void one_valloc() { keep(valloc(30000)); }
[[gnu::noinline]] void one_memalign() { keep(memalign(512, 30000)); }
[[gnu::noinline]] void one_pvalloc() { keep(pvalloc(30000)); }
[[gnu::noinline]] void one_aligned_alloc() { keep(aligned_alloc(512, 30000)); }
[[gnu::noinline]] void no_leak() {
  free(keep(malloc(30000)));
  free(keep(calloc(30, 1000)));
  free(keep(realloc(keep(malloc(30000)), 30000)));
  free(keep(aligned(512, 30000)));
  free(keep(valloc(30000)));
  free(keep(memalign(512, 30000)));
  free(keep(pvalloc(30000)));
  free(keep(aligned_alloc(512, 30000)));
}

// --- One of each, small.
[[gnu::noinline]] void leaks_ten() { keep(malloc(10)); }
[[gnu::noinline]] void frees_hundred() { free(keep(malloc(100))); }
[[gnu::noinline]] void begins_chain() { chained = keep(malloc(1000)); }
[[gnu::noinline]] void ends_chain() { chained = keep(realloc(chained, 10000)); }
[[gnu::noinline]] void clears_all() { keep(calloc(100, 1000)); }
[[gnu::noinline]] void aligns_far() { keep(memalign(65536, 1000000)); }

// --- Calls that fail, or ask for nothing.
[[gnu::noinline]] void block_to_keep() { chained = keep(malloc(4096)); }
// Still the other function's block, until it is freed once.
[[gnu::noinline]] void realloc_fails() {
  expect_null(realloc(chained, impossible));
  expect_null(realloc(chained, impossible - 4096));
}
[[gnu::noinline]] void frees_kept() { free(chained); }
[[gnu::noinline]] void realloc_fails_and_grows() {
  void* const block = keep(malloc(500));
  expect_null(realloc(block, impossible));
  keep(realloc(block, 600));
}
[[gnu::noinline]] void realloc_to_nothing() { expect_null(realloc(keep(malloc(4000)), 0)); }
[[gnu::noinline]] void realloc_of_nothing() { keep(realloc(nullptr, 0)); }
[[gnu::noinline]] void malloc_of_nothing() {
  keep(malloc(0));
  free(keep(malloc(0)));
}
[[gnu::noinline]] void calloc_of_nothing() {
  keep(calloc(0, 100));
  keep(calloc(100, 0));
}
[[gnu::noinline]] void posix_memalign_fails() {
  void* block = &jump;  // what it held before must not be taken for a result
  if (posix_memalign(&block, odd_alignment, 768) != EINVAL) truth::fail("alignment 24 is invalid");
  if (posix_memalign(&block, 64, impossible) != ENOMEM) truth::fail("too much is ENOMEM");
  keep(malloc(512));
}
[[gnu::noinline]] void too_much_for_all() {
  expect_null(malloc(impossible));
  expect_null(calloc(impossible, 2));
  expect_null(calloc(2, impossible));
  expect_null(memalign(64, impossible));
  expect_null(aligned_alloc(64, impossible));
  expect_null(valloc(impossible));
  expect_null(pvalloc(impossible));
  expect_null(reallocarray(nullptr, impossible, 16));
}

// --- More than a few.
[[gnu::noinline]] void many() {
  keep(calloc(100, 8));
  for (int i = 0; i < 100; ++i) keep(malloc(64));
}
[[gnu::noinline]] void all_sizes() {
  for (size_t size = 1; size <= 2000; ++size) keep(malloc(size));
}
[[gnu::noinline]] void random_sizes() {
  uint32_t random = 1;
  for (int i = 0; i < 10000; ++i) {
    random = random * 1664525 + 1013904223;
    keep(malloc((random >> 16) % 1000));
  }
}
[[gnu::noinline]] void grows_by_steps() {
  void* block = nullptr;
  for (size_t size = 100; size <= 100000; size += 100) block = keep(realloc(block, size));
}
[[gnu::noinline]] void large_blocks() {
  for (int i = 0; i < 5; ++i) keep(malloc(size_t{1} << 30));  // together beyond 32 bits
  free(keep(malloc(size_t{1} << 30)));
}

// --- Left by one, freed by another, in parts.
[[gnu::noinline]] void hands_over() { handed_over = keep(malloc(1235)); }
[[gnu::noinline]] void takes_over() { free(handed_over); }
[[gnu::noinline]] void makes_cell() { cells[cell_count++] = keep(malloc(16)); }
[[gnu::noinline]] void makes_cells() {
  for (int i = 0; i < 40; ++i) makes_cell();
}
[[gnu::noinline]] void frees_cells() {
  while (cell_count > 15) free(cells[--cell_count]);
}

// --- The same function by several ways: 400 bytes each time it is called.
[[gnu::noinline]] void* layer_one() { return keep(malloc(400)); }
[[gnu::noinline]] void* layer_two() { return keep(layer_one()); }
[[gnu::noinline]] void* layer_three() { return keep(layer_two()); }
[[gnu::noinline]] void* layer_four() { return keep(layer_three()); }
[[gnu::noinline]] void calls_layers() {
  keep(layer_one());
  keep(layer_two());
  keep(layer_three());
  keep(layer_four());
}

// --- Recursion: each level is one more caller of the same block size.
[[gnu::noinline]] void recurses(int depth) {
  keep(malloc(11));
  if (depth > 1) recurses(depth - 1);
  sink = nullptr;
}
[[gnu::noinline]] void recurses_eight() { recurses(8); }

// --- Callers after a jump or an exception across some of them: the size says where from.
[[gnu::noinline]] void deep_three(bool throws) {
  keep(malloc(123456));
  if (throws) throw 1;
  longjmp(jump, 1);
}
[[gnu::noinline]] void deep_two(bool throws) {
  deep_three(throws);
  sink = nullptr;
}
[[gnu::noinline]] void deep_one(bool throws) {
  deep_two(throws);
  sink = nullptr;
}
[[gnu::noinline]] void after_inner() { keep(malloc(123457)); }
[[gnu::noinline]] void after_outer() { keep(malloc(123458)); }
[[gnu::noinline]] void jumps_inner() {
  if (setjmp(jump) == 0) deep_one(false);
  after_inner();
}
[[gnu::noinline]] void jumps() {
  jumps_inner();
  after_outer();
}
[[gnu::noinline]] void catches_inner() {
  try {
    deep_one(true);
  } catch (int) {
    after_inner();
  }
}
[[gnu::noinline]] void catches() {
  catches_inner();
  after_outer();
}

}  // extern "C"

// --- On a stack of our own.
namespace {
ucontext_t here, there;
alignas(64) char own_stack[1 << 16];
}  // namespace
extern "C" {
[[gnu::noinline]] void on_own_stack() {
  for (int i = 0; i < 2; ++i) {
    keep(malloc(1332));
    if (swapcontext(&there, &here) != 0) truth::fail("swapcontext");
  }
}
[[gnu::noinline]] void switches_stacks() {
  if (getcontext(&there) != 0) truth::fail("getcontext");
  there.uc_stack.ss_sp = own_stack;
  there.uc_stack.ss_size = sizeof own_stack;
  there.uc_link = &here;
  makecontext(&there, on_own_stack, 0);
  for (int i = 0; i < 3; ++i)
    if (swapcontext(&here, &there) != 0) truth::fail("swapcontext");
}

[[gnu::noinline]] void in_parent() { keep(malloc(256)); }
[[gnu::noinline]] void in_child() { keep(malloc(512)); }

}  // extern "C"

namespace {

void forks() {
  in_parent();
  const pid_t child = fork();
  if (child == 0) {
    in_child();
    _exit(0);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
    truth::fail("the child failed");
}

struct Site {
  const char* name;
  void (*run)();
  int64_t live, live_count, total, total_count;
};

void nothing() {}  // of functions that others call

constexpr int64_t random_sum = 4956245;
constexpr int64_t giga = int64_t{1} << 30;

constexpr Site sites[] = {
    {"one_malloc", one_malloc, 30000, 1, 30000, 1},
    {"one_calloc", one_calloc, 30000, 1, 30000, 1},
    {"one_realloc", one_realloc, 30000, 1, 30010, 2},
    {"one_posix_memalign", one_posix_memalign, 30000, 1, 30000, 1},
    {"one_valloc", one_valloc, 30000, 1, 30000, 1},
    {"one_memalign", one_memalign, 30000, 1, 30000, 1},
    {"one_pvalloc", one_pvalloc, 30000, 1, 30000, 1},
    {"one_aligned_alloc", one_aligned_alloc, 30000, 1, 30000, 1},
    {"no_leak", no_leak, 0, 0, 270000, 9},

    {"leaks_ten", leaks_ten, 10, 1, 10, 1},
    {"frees_hundred", frees_hundred, 0, 0, 100, 1},
    {"begins_chain", begins_chain, 0, 0, 1000, 1},
    {"ends_chain", ends_chain, 10000, 1, 10000, 1},
    {"clears_all", clears_all, 100000, 1, 100000, 1},
    {"aligns_far", aligns_far, 1000000, 1, 1000000, 1},

    {"block_to_keep", block_to_keep, 0, 0, 4096, 1},
    {"realloc_fails", realloc_fails, 0, 0, 0, 0},
    {"frees_kept", frees_kept, 0, 0, 0, 0},
    {"realloc_fails_and_grows", realloc_fails_and_grows, 600, 1, 1100, 2},
    {"realloc_to_nothing", realloc_to_nothing, 0, 0, 4000, 1},
    {"realloc_of_nothing", realloc_of_nothing, 0, 1, 0, 1},
    {"malloc_of_nothing", malloc_of_nothing, 0, 1, 0, 2},
    {"calloc_of_nothing", calloc_of_nothing, 0, 2, 0, 2},
    {"posix_memalign_fails", posix_memalign_fails, 512, 1, 512, 1},
    {"too_much_for_all", too_much_for_all, 0, 0, 0, 0},

    {"many", many, 7200, 101, 7200, 101},
    {"all_sizes", all_sizes, 2001000, 2000, 2001000, 2000},
    {"random_sizes", random_sizes, random_sum, 10000, random_sum, 10000},
    {"grows_by_steps", grows_by_steps, 100000, 1, 50050000, 1000},

    {"hands_over", hands_over, 0, 0, 1235, 1},
    {"takes_over", takes_over, 0, 0, 0, 0},
    {"makes_cells", makes_cells, 240, 15, 640, 40},
    {"frees_cells", frees_cells, 0, 0, 0, 0},

    {"calls_layers", calls_layers, 1600, 4, 1600, 4},
    {"layer_one", nothing, 1600, 4, 1600, 4},
    {"layer_two", nothing, 1200, 3, 1200, 3},
    {"layer_three", nothing, 800, 2, 800, 2},
    {"layer_four", nothing, 400, 1, 400, 1},
    {"recurses_eight", recurses_eight, 88, 8, 88, 8},

    {"jumps", jumps, 123456 + 123457 + 123458, 3, 123456 + 123457 + 123458, 3},
    {"jumps_inner", nothing, 123456 + 123457, 2, 123456 + 123457, 2},
    {"switches_stacks", switches_stacks, 0, 0, 0, 0},
    {"on_own_stack", nothing, 2664, 2, 2664, 2},
    {"in_parent", forks, 256, 1, 256, 1},
    {"in_child", nothing, 512, 1, 512, 1},
    // Last, since some systems do not let so large a process fork.
    {"large_blocks", large_blocks, 5 * giga, 5, 6 * giga, 6},
};

void state(const Site& site) {
  truth::state("functions", site.name, "live", site.live);
  truth::state("functions", site.name, "live_count", site.live_count);
  truth::state("functions", site.name, "total", site.total);
  truth::state("functions", site.name, "total_count", site.total_count);
}

}  // namespace

int main(int argc, char** argv) {
  truth::begin(argc, argv);
  for (const Site& site : sites) {
    site.run();
    state(site);
  }
  // The exception itself is allocated too, by the library in the throwing function; it is freed.
  catches();
  truth::state("catching", "catches", "live", 123456 + 123457 + 123458);
  truth::state("catching", "catches", "live_count", 3);
  truth::state("catching", "catches_inner", "live", 123456 + 123457);
  truth::state("counters", "free_miss", "events", 0);
  return truth::end();
}
