// SPDX-License-Identifier: BSD-2-Clause
// Makes known numbers of pages resident, or gives them back, in named functions. "gained" and
// "released" are pages of the resident set; "minor" are page faults of functions that take one per
// page. What the kernel decides (how much of a file it maps around a fault) is measured instead and
// marked "approximate". Every step is checked against the process's own
// page tables.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "examples/truth/raw_syscall.h"
#include "examples/truth/report.h"

using truth::page;

namespace {

constexpr int64_t huge_page = 2 << 20;
constexpr int64_t file_pages = 400;

char file_bytes[page];
int64_t zeros = -1, disk_file = -1, memory_file = -1;  // descriptors
char *advised, *unmapped, *around, *inherited, *by_libc;

int64_t expect(int64_t result) {
  if (result < 0 && result > -4096) truth::fail("a system call failed");
  return result;
}

[[gnu::always_inline]] inline char* map(int64_t pages, int64_t flags = MAP_PRIVATE | MAP_ANONYMOUS,
                                        int64_t file = -1) {
  const int64_t bytes = pages * page;
  char* start = truth::pointer(
      expect(truth::raw_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, flags, file, 0)));
  // One page per fault, whatever the machine's setting for huge pages.
  if ((flags & MAP_ANONYMOUS) != 0)
    truth::raw_syscall(SYS_madvise, truth::number(start), bytes, MADV_NOHUGEPAGE);
  return start;
}

[[gnu::always_inline]] inline void write_each(char* start, int64_t pages) {
  for (int64_t i = 0; i < pages; ++i) *static_cast<volatile char*>(start + i * page) = 1;
}
[[gnu::always_inline]] inline void read_each(const char* start, int64_t pages) {
  for (int64_t i = 0; i < pages; ++i)
    static_cast<void>(*static_cast<const volatile char*>(start + i * page));
}

}  // namespace

extern "C" {

[[gnu::noinline]] void write_pages() { write_each(map(3000), 3000); }

// The kernel itself touches these pages, in read(2).
[[gnu::noinline]] void read_into_fresh() {
  const int64_t bytes = 1000 * page;
  if (truth::raw_syscall(SYS_read, zeros, truth::number(map(1000)), bytes) != bytes)
    truth::fail("short read");
}
// No fault at all: mmap() makes the pages resident.
[[gnu::noinline]] void map_populated() { map(2000, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE); }
[[gnu::noinline]] void write_huge_pages() {
  const int64_t start = expect(truth::raw_syscall(
      SYS_mmap, 0, 5 * huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const int64_t aligned = (start + huge_page - 1) / huge_page * huge_page;
  truth::raw_syscall(SYS_madvise, aligned, 4 * huge_page, MADV_HUGEPAGE);
  write_each(truth::pointer(aligned), 4 * huge_page / page);
}
// Reading memory that was never written maps the shared zero page, which counts for no process; a
// kernel without one gives each page.
[[gnu::noinline]] void read_untouched() { read_each(map(100), 100); }

[[gnu::noinline]] void read_private_file() {
  read_each(map(file_pages, MAP_PRIVATE, disk_file), file_pages);
}
// One page is read; the kernel maps its neighbours too when they are cached.
[[gnu::noinline]] void read_around() {
  around = map(file_pages, MAP_PRIVATE, disk_file);
  read_each(around + 200 * page, 1);
}
// Copies of file pages: each replaces the file's page, if that was mapped, by a private one.
[[gnu::noinline]] void write_private_file() {
  write_each(map(file_pages, MAP_PRIVATE, disk_file), file_pages);
}
[[gnu::noinline]] void write_shared_file() {
  write_each(map(file_pages, MAP_SHARED, disk_file), file_pages);
}
[[gnu::noinline]] void write_shared_memory() { write_each(map(500, MAP_SHARED, memory_file), 500); }

[[gnu::noinline]] void write_to_advise() { write_each(advised = map(700), 700); }
[[gnu::noinline]] void advise_away() {
  expect(truth::raw_syscall(SYS_madvise, truth::number(advised), 450 * page, MADV_DONTNEED));
}
[[gnu::noinline]] void write_again() { write_each(advised, 100); }
[[gnu::noinline]] void write_to_unmap() { write_each(unmapped = map(600), 600); }
[[gnu::noinline]] void unmap_written() {
  expect(truth::raw_syscall(SYS_munmap, truth::number(unmapped), 600 * page));
}

[[gnu::noinline]] void libc_read_into_fresh() {
  if (read(static_cast<int>(zeros), map(300), 300 * page) != 300 * page) truth::fail("short read");
}
[[gnu::noinline]] void libc_write_to_advise() { write_each(by_libc = map(260), 260); }
[[gnu::noinline]] void libc_advise_away() {
  if (madvise(by_libc, 260 * page, MADV_DONTNEED) != 0) truth::fail("madvise failed");
}

// A fork shares the pages; writing in the child copies them, page for page.
[[gnu::noinline]] void write_to_inherit() { write_each(inherited = map(250), 250); }
[[gnu::noinline]] void child_copies() { write_each(inherited, 250); }
[[gnu::noinline]] void child_writes() { write_each(map(150), 150); }

}  // extern "C"

namespace {

constexpr int64_t measured = -1, unstated = -1, if_reading_counts = -2;

struct Site {
  const char* name;
  void (*run)();
  int64_t gained, released, minor;
};

constexpr Site sites[] = {
    {"write_pages", write_pages, 3000, 0, 3000},
    {"read_into_fresh", read_into_fresh, 1000, 0, 1000},
    {"map_populated", map_populated, 2000, 0, 0},
    {"write_huge_pages", write_huge_pages, 2048, 0, unstated},
    {"read_untouched", read_untouched, if_reading_counts, 0, 100},
    {"read_private_file", read_private_file, file_pages, 0, unstated},
    {"read_around", read_around, measured, 0, unstated},
    {"write_private_file", write_private_file, file_pages, 0, unstated},
    {"write_shared_file", write_shared_file, file_pages, 0, unstated},
    {"write_shared_memory", write_shared_memory, 500, 0, unstated},
    {"write_to_advise", write_to_advise, 700, 0, 700},
    {"advise_away", advise_away, 0, 450, 0},
    {"write_again", write_again, 100, 0, 100},
    {"write_to_unmap", write_to_unmap, 600, 0, 600},
    {"unmap_written", unmap_written, 0, 600, 0},
    {"libc_read_into_fresh", libc_read_into_fresh, 300, 0, 300},
    {"libc_write_to_advise", libc_write_to_advise, 260, 0, 260},
    {"libc_advise_away", libc_advise_away, 0, 260, 0},
    {"write_to_inherit", write_to_inherit, 250, 0, 250},
};

// The number after `label` in a file of /proc, read without growing anything.
int64_t read_number(const char* path, const char* label) {
  static char text[4096];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (size <= 0) truth::fail("a file of /proc is not readable");
  close(file);
  text[size] = '\0';
  const char* found = std::strstr(text, label);
  if (found == nullptr) truth::fail("a file of /proc does not say what it should");
  return std::strtoll(found + std::strlen(label), nullptr, 10);
}

// Resident pages by the page tables. Before Linux 6.2, statm lags behind.
int64_t resident() { return read_number("/proc/self/smaps_rollup", "Rss:") * 1024 / page; }
int64_t resident_in_statm() { return read_number("/proc/self/statm", " "); }

// Whether a page that is only read counts as resident.
bool reading_counts() {
  constexpr int64_t pages = 100;
  resident();  // the kernel maps up to 16 pages around what it uses of libc
  const int64_t before = resident();
  read_each(map(pages), pages);
  return resident() - before >= pages;
}

void run(const Site& site, int64_t read_pages) {
  const int64_t before = resident();
  site.run();
  const int64_t change = resident() - before;
  int64_t gained = site.gained == measured ? change : site.gained;
  if (gained == if_reading_counts) gained = read_pages;
  if (change != gained - site.released) truth::fail(site.name);
  truth::state("functions", site.name, "gained", gained);
  truth::state("functions", site.name, "released", site.released);
  if (site.minor != unstated) truth::state("functions", site.name, "minor", site.minor);
  if (site.gained == measured) truth::state("functions", site.name, "approximate", 1);
}

void run_child() {
  const pid_t child = fork();
  if (child == 0) {
    child_copies();
    child_writes();
    _exit(0);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
    truth::fail("the child failed");
  truth::state("child", "child_copies", "gained", 0);
  truth::state("child", "child_copies", "minor", 250);
  truth::state("child", "child_writes", "gained", 150);
  truth::state("child", "child_writes", "minor", 150);
}

// A file of the current directory's file system, deleted at once; its pages are cached.
void create_files() {
  const char* directory = std::getenv("TMPDIR");
  zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  disk_file = open(directory != nullptr ? directory : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  memory_file = memfd_create("fault_truth", MFD_CLOEXEC);
  if (zeros < 0 || disk_file < 0 || memory_file < 0) truth::fail("no file to map");
  if (ftruncate(static_cast<int>(memory_file), 500 * page) != 0) truth::fail("no file to map");
  for (int64_t i = 0; i < file_pages; ++i)
    if (write(static_cast<int>(disk_file), file_bytes, page) != page) truth::fail("no file to map");
}

}  // namespace

int main(int argc, char** argv) {
  create_files();
  const int64_t read_pages = reading_counts() ? 100 : 0;
  truth::begin(argc, argv);
  const int64_t before = resident(), before_in_statm = resident_in_statm();
  for (const Site& site : sites) run(site, read_pages);
  truth::state("process", "page tables", "resident", resident() - before);
  truth::state("process", "statm", "resident", resident_in_statm() - before_in_statm);
  run_child();
  return truth::end();
}
