// SPDX-License-Identifier: BSD-2-Clause
// Moves the program break by known amounts in named functions and never uses malloc in between.
// "grown" is signed: what a function added minus what it gave back. "outstanding" sees the heap as
// a stack of segments: a shrink takes from the top, whoever grew it. Amounts are not whole pages,
// on purpose; the sum is, so that it equals the change of [heap] in /proc/PID/maps. "frameless" are
// the functions that only a profiler can name that unwinds without frame pointers, as sbrk() keeps
// none.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "examples/truth/raw_syscall.h"
#include "examples/truth/report.h"

namespace {

int64_t top = 0;  // the break as the kernel said last

[[gnu::always_inline]] inline void move_to(int64_t wanted) {
  top = truth::raw_syscall(SYS_brk, wanted);
  if (top != wanted) truth::fail("the break did not move");
}

void expect_unchanged(int64_t answer) {
  if (answer != top) truth::fail("the break is not where it was");
}

}  // namespace

extern "C" {

[[gnu::noinline]] void grow_index() { move_to(top + 1000003); }
[[gnu::noinline]] void grow_cache() {
  for (int i = 0; i < 3; ++i) move_to(top + 50001);
}
[[gnu::noinline]] void grow_scratch() { move_to(top + 2000000); }

// Takes all of grow_scratch and 100,000 of grow_cache.
[[gnu::noinline]] void shrink_scratch() { move_to(top - 2100000); }

[[gnu::noinline]] void query_break() {
  for (int i = 0; i < 5; ++i) expect_unchanged(truth::raw_syscall(SYS_brk, 0));
}
// Refused: beyond the address space, and below the start of the heap. The kernel answers with the
// break as it was.
[[gnu::noinline]] void grow_too_far() {
  expect_unchanged(truth::raw_syscall(SYS_brk, int64_t{1} << 47));
}
[[gnu::noinline]] void shrink_too_far() { expect_unchanged(truth::raw_syscall(SYS_brk, 4096)); }

// Fills the rest of a page, then shrinks and grows within the last page: no mapping changes, the
// break does.
[[gnu::noinline]] void grow_within_page() { move_to((top + 4095) / 4096 * 4096 + 100); }
[[gnu::noinline]] void shrink_within_page() { move_to(top - 100); }

// Through the C library. Its own idea of the break is old by now; brk() renews it.
[[gnu::noinline]] void libc_brk_same() {
  if (brk(truth::pointer(top)) != 0) truth::fail("brk failed");
}
[[gnu::noinline]] void libc_brk_grow() {
  if (brk(truth::pointer(top + 409600)) != 0) truth::fail("brk failed");
}
[[gnu::noinline]] void libc_sbrk_grow() {
  if (truth::number(sbrk(300000)) != top + 409600) truth::fail("sbrk failed");
}
[[gnu::noinline]] void libc_sbrk_shrink() {
  if (truth::number(sbrk(-300000)) != top + 709600) truth::fail("sbrk failed");
}
[[gnu::noinline]] void libc_sbrk_query() {
  if (truth::number(sbrk(0)) != top + 409600) truth::fail("sbrk(0) failed");
}

}  // extern "C"

namespace {

struct Site {
  const char* name;
  void (*run)();
  int64_t grown, outstanding, calls;  // calls that moved the break
  const char* section = "functions";
};

// grow_within_page depends on where the heap started; the others are constants.
Site sites[] = {
    {"grow_index", grow_index, 1000003, 1000003, 1},
    {"grow_cache", grow_cache, 150003, 50003, 3},
    {"grow_scratch", grow_scratch, 2000000, 0, 1},
    {"shrink_scratch", shrink_scratch, -2100000, 0, 1},
    {"query_break", query_break, 0, 0, 0},
    {"grow_too_far", grow_too_far, 0, 0, 0},
    {"shrink_too_far", shrink_too_far, 0, 0, 0},
    {"grow_within_page", grow_within_page, 0, 0, 1},
    {"shrink_within_page", shrink_within_page, -100, 0, 1},
    {"libc_brk_same", libc_brk_same, 0, 0, 0},
    {"libc_brk_grow", libc_brk_grow, 409600, 409600, 1},
    {"libc_sbrk_grow", libc_sbrk_grow, 300000, 0, 1, "frameless"},
    {"libc_sbrk_shrink", libc_sbrk_shrink, -300000, 0, 1, "frameless"},
    {"libc_sbrk_query", libc_sbrk_query, 0, 0, 0, "frameless"},
};

}  // namespace

int main(int argc, char** argv) {
  // From a page boundary on, as malloc may have left the break anywhere.
  top = truth::raw_syscall(SYS_brk, 0);
  move_to((top + 4095) / 4096 * 4096);
  const int64_t start = top;
  truth::begin(argc, argv);
  for (Site& site : sites) {
    const int64_t before = top;
    site.run();
    if (site.run == grow_within_page) {
      site.grown = top - before;
      site.outstanding = site.grown - 100;
    }
    truth::state(site.section, site.name, "grown", site.grown);
    truth::state(site.section, site.name, "outstanding", site.outstanding);
    truth::state(site.section, site.name, "calls", site.calls);
  }
  truth::state("process", "heap", "grown", truth::raw_syscall(SYS_brk, 0) - start);
  return truth::end();
}
