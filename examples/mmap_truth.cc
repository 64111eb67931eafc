// SPDX-License-Identifier: BSD-2-Clause
// Maps, cuts, overlays, moves and protects known amounts of memory in named functions. Amounts are
// pages; a section per kind of mapping states which function each page belongs to at the end. A
// page belongs to the code that mapped it: an overlay takes pages over, mremap() owns what it adds,
// and a reserved page that becomes accessible belongs to the code that made it so. Only a profiler
// that unwinds without frame pointers can name the "frameless" functions, as mremap() keeps none.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "examples/truth/raw_syscall.h"
#include "examples/truth/report.h"

using truth::page;

namespace {

constexpr int64_t reserved_pages = 16384;  // 64 MiB, as glibc reserves for an arena
constexpr int64_t terabyte = int64_t{1} << 40;
// Addresses that no kernel hands out by itself: above the program, below the mmap area.
constexpr int64_t sparse_start = 16 * terabyte;

int64_t some_file = -1, memory_file = -1;  // descriptors
int64_t cut_at_start, cut_at_end, cut_in_middle, unaligned, below, reserved;
int64_t to_grow, to_shrink, to_move, move_target, to_twin, to_duplicate, by_libc;

int64_t expect(int64_t result) {
  if (result < 0 && result > -4096) truth::fail("a system call failed");
  return result;
}
void expect_error(int64_t result, int64_t error) {
  if (result != -error) truth::fail("a call that must fail did not, or differently");
}

constexpr int64_t readable = PROT_READ | PROT_WRITE;
constexpr int64_t anonymous = MAP_PRIVATE | MAP_ANONYMOUS;

[[gnu::always_inline]] inline int64_t try_map(int64_t bytes, int64_t protection = readable,
                                              int64_t flags = anonymous, int64_t file = -1,
                                              int64_t address = 0) {
  return truth::raw_syscall(SYS_mmap, address, bytes, protection, flags, file, 0);
}
[[gnu::always_inline]] inline int64_t map(int64_t pages, int64_t protection = readable,
                                          int64_t flags = anonymous, int64_t file = -1,
                                          int64_t address = 0) {
  return expect(try_map(pages * page, protection, flags, file, address));
}
[[gnu::always_inline]] inline int64_t unmap(int64_t address, int64_t bytes) {
  return truth::raw_syscall(SYS_munmap, address, bytes);
}
[[gnu::always_inline]] inline int64_t remap(int64_t address, int64_t old_pages, int64_t new_pages,
                                            int64_t flags, int64_t target = 0) {
  return truth::raw_syscall(SYS_mremap, address, old_pages * page, new_pages * page, flags, target);
}

}  // namespace

extern "C" {

[[gnu::noinline]] void map_anonymous() { map(245); }
[[gnu::noinline]] void map_repeatedly() {
  for (int i = 0; i < 5; ++i) map(3);
}
[[gnu::noinline]] void map_private_file() { map(2, PROT_READ, MAP_PRIVATE, some_file); }
[[gnu::noinline]] void map_shared_anonymous() { map(20, readable, MAP_SHARED | MAP_ANONYMOUS); }
[[gnu::noinline]] void map_shared_file() { map(12, readable, MAP_SHARED, memory_file); }

// Only the first 34 pages of the reservation become memory that can be used.
[[gnu::noinline]] void reserve_arena() { reserved = map(reserved_pages, PROT_NONE); }
[[gnu::noinline]] void commit_arena() {
  expect(truth::raw_syscall(SYS_mprotect, reserved, 33 * page + 1, readable));
}

[[gnu::noinline]] void map_cut_at_start() { cut_at_start = map(7); }
[[gnu::noinline]] void map_cut_at_end() { cut_at_end = map(7); }
[[gnu::noinline]] void map_cut_in_middle() { cut_in_middle = map(7); }
[[gnu::noinline]] void cut_mappings() {
  expect(unmap(cut_at_start, 2 * page));
  expect(unmap(cut_at_end + 4 * page, 3 * page));
  expect(unmap(cut_in_middle + 3 * page, page));
}

// Lengths are rounded up to pages, in both calls.
[[gnu::noinline]] void map_unaligned() { unaligned = expect(try_map(12000)); }
[[gnu::noinline]] void unmap_unaligned() { expect(unmap(unaligned, page + 1)); }

[[gnu::noinline]] void map_below() { below = map(7); }
[[gnu::noinline]] void overlay() { map(2, readable, anonymous | MAP_FIXED, -1, below + 3 * page); }
[[gnu::noinline]] void overlay_refused() {
  expect_error(try_map(page, readable, anonymous | MAP_FIXED_NOREPLACE, -1, below), EEXIST);
}

[[gnu::noinline]] void map_to_grow() { to_grow = map(5); }
[[gnu::noinline]] void remap_grow() { to_grow = expect(remap(to_grow, 5, 11, MREMAP_MAYMOVE)); }
[[gnu::noinline]] void map_to_shrink() { to_shrink = map(9); }
[[gnu::noinline]] void remap_shrink() { expect(remap(to_shrink, 9, 4, 0)); }
[[gnu::noinline]] void map_to_move() { to_move = map(6); }
[[gnu::noinline]] void map_move_target() { move_target = map(8); }
[[gnu::noinline]] void remap_move() {
  expect(remap(to_move, 6, 6, MREMAP_MAYMOVE | MREMAP_FIXED, move_target));
}
// The old place stays mapped, and is empty.
[[gnu::noinline]] void map_to_twin() { to_twin = map(3); }
[[gnu::noinline]] void remap_twin() {
  expect(remap(to_twin, 3, 3, MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
}
// An old length of zero maps a shared mapping a second time.
[[gnu::noinline]] void map_to_duplicate() {
  to_duplicate = map(4, readable, MAP_SHARED | MAP_ANONYMOUS);
}
[[gnu::noinline]] void remap_duplicate() { expect(remap(to_duplicate, 0, 4, MREMAP_MAYMOVE)); }
[[gnu::noinline]] void remap_refused() {
  expect_error(remap(sparse_start, 1, 2, MREMAP_MAYMOVE), EFAULT);
}

[[gnu::noinline]] void map_impossible() {
  expect_error(try_map(128 * terabyte), ENOMEM);
  expect_error(try_map(0), EINVAL);
  expect_error(try_map(page, PROT_READ, MAP_PRIVATE, 9999), EBADF);
}
[[gnu::noinline]] void unmap_impossible() {
  expect_error(unmap(below + 1, page), EINVAL);
  expect_error(unmap(below, int64_t{1} << 46), EINVAL);
  expect_error(unmap(below, 0), EINVAL);
}

// Islands in 16 TiB of reserved addresses, and one after them that stays.
[[gnu::noinline]] void map_islands() {
  for (int64_t i = 0; i <= 4; ++i)
    map(5, readable, anonymous | MAP_FIXED_NOREPLACE, -1, sparse_start + i * 4 * terabyte);
}
[[gnu::noinline]] void unmap_islands() { expect(unmap(sparse_start, 16 * terabyte)); }
[[gnu::noinline]] void unmap_nothing() { expect(unmap(sparse_start, terabyte)); }

[[gnu::noinline]] void libc_mmap() {
  by_libc = truth::number(mmap(nullptr, 50 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
[[gnu::noinline]] void libc_munmap() {
  if (munmap(truth::pointer(by_libc), 10 * page) != 0) truth::fail("munmap failed");
}
[[gnu::noinline]] void libc_mremap() {
  if (mremap(truth::pointer(by_libc + 10 * page), 40 * page, 47 * page, MREMAP_MAYMOVE) ==
      MAP_FAILED)
    truth::fail("mremap failed");
}

}  // extern "C"

namespace {

constexpr int64_t open_question = -1;  // not stated, so not compared

struct Site {
  const char* name;
  void (*run)();
  const char* kind;
  int64_t outstanding, total, calls;
  bool frameless = false;
};

constexpr Site sites[] = {
    {"map_anonymous", map_anonymous, "[anon]", 245, 245, 1},
    {"map_repeatedly", map_repeatedly, "[anon]", 15, 15, 5},
    {"map_private_file", map_private_file, "[file]", 2, 2, 1},
    {"map_shared_anonymous", map_shared_anonymous, "[shared]", 20, 20, 1},
    {"map_shared_file", map_shared_file, "[shared]", 12, 12, 1},
    {"reserve_arena", reserve_arena, "[PROT_NONE]", reserved_pages - 34, reserved_pages, 1},
    {"commit_arena", commit_arena, "[anon]", 34, open_question, open_question},
    {"map_cut_at_start", map_cut_at_start, "[anon]", 5, 7, 1},
    {"map_cut_at_end", map_cut_at_end, "[anon]", 4, 7, 1},
    {"map_cut_in_middle", map_cut_in_middle, "[anon]", 6, 7, 1},
    {"cut_mappings", cut_mappings, "[anon]", 0, 0, 0},
    {"map_unaligned", map_unaligned, "[anon]", 1, 3, 1},
    {"unmap_unaligned", unmap_unaligned, "[anon]", 0, 0, 0},
    {"map_below", map_below, "[anon]", 5, 7, 1},
    {"overlay", overlay, "[anon]", 2, 2, 1},
    {"overlay_refused", overlay_refused, "[anon]", 0, 0, 0},
    {"map_to_grow", map_to_grow, "[anon]", 5, 5, 1},
    {"remap_grow", remap_grow, "[anon]", 6, 6, open_question},
    {"map_to_shrink", map_to_shrink, "[anon]", 4, 9, 1},
    {"remap_shrink", remap_shrink, "[anon]", 0, 0, open_question},
    {"map_to_move", map_to_move, "[anon]", 6, 6, 1},
    {"map_move_target", map_move_target, "[anon]", 2, 8, 1},
    {"remap_move", remap_move, "[anon]", 0, 0, open_question},
    {"map_to_twin", map_to_twin, "[anon]", 3, 3, 1},
    {"remap_twin", remap_twin, "[anon]", 3, 3, open_question},
    {"map_to_duplicate", map_to_duplicate, "[shared]", 4, 4, 1},
    {"remap_duplicate", remap_duplicate, "[shared]", 4, 4, open_question},
    {"remap_refused", remap_refused, "[anon]", 0, 0, 0},
    {"map_impossible", map_impossible, "[anon]", 0, 0, 0},
    {"unmap_impossible", unmap_impossible, "[anon]", 0, 0, 0},
    {"map_islands", map_islands, "[anon]", 5, 25, 5},
    {"unmap_islands", unmap_islands, "[anon]", 0, 0, 0},
    {"unmap_nothing", unmap_nothing, "[anon]", 0, 0, 0},
    {"libc_mmap", libc_mmap, "[anon]", 40, 50, 1},
    {"libc_munmap", libc_munmap, "[anon]", 0, 0, 0},
    {"libc_mremap", libc_mremap, "[anon]", 7, 7, open_question, true},
};

void state(const char* section, const Site& site) {
  truth::state(section, site.name, "outstanding", site.outstanding * page);
  if (site.total != open_question) truth::state(section, site.name, "total", site.total * page);
  if (site.calls != open_question) truth::state(section, site.name, "calls", site.calls);
}

// VmSize, read without touching anything that a profiler could see.
int64_t vm_pages() {
  static char text[128];
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, text, sizeof text - 1) <= 0) truth::fail("statm is not readable");
  close(file);
  return std::strtoll(text, nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
  some_file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  memory_file = memfd_create("mmap_truth", MFD_CLOEXEC);
  if (some_file < 0 || memory_file < 0 || ftruncate(static_cast<int>(memory_file), 12 * page) != 0)
    truth::fail("no file to map");
  truth::begin(argc, argv);
  const int64_t before = vm_pages();
  int64_t outstanding = 0;
  for (const Site& site : sites) {
    site.run();
    state(site.frameless ? "frameless" : "functions", site);
    if (!site.frameless) state(site.kind, site);
    outstanding += site.outstanding;
  }
  // The kernel agrees with the table, or the table is wrong.
  if (vm_pages() - before != outstanding) truth::fail("VmSize did not change as stated");
  truth::state("process", "VmSize", "outstanding", outstanding * page);
  return truth::end();
}
