// SPDX-License-Identifier: BSD-2-Clause
// Allocates known amounts in named functions, one function per rule that an allocation profiler can
// get wrong. Bytes are what the caller asked for. "functions" is this process; "frameless" too, but
// its functions allocate through library code without frame pointers, so that only a profiler
// that unwinds without those can name them; "child" is what a forked child adds; "counters" what
// has to be counted without being shown.
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "examples/truth/report.h"

namespace {

constexpr size_t older_count = 25;
constexpr size_t thread_count = 100;
constexpr size_t thread_freed = 60;

// Read at run time, so that the compiler neither warns about nor folds calls that must fail.
volatile size_t impossible = PTRDIFF_MAX;
volatile size_t odd_alignment = 3;

void* volatile sink = nullptr;  // makes every block escape
void* older[older_count];       // from before "ready"
void* older_to_move = nullptr;
void* to_grow = nullptr;
void* to_shrink = nullptr;
void* to_zero = nullptr;
void* to_fail = nullptr;
void* by_threads[thread_count];

void* keep(void* block) {
  if (block == nullptr) truth::fail("an allocation failed");
  sink = block;
  return block;
}
void expect_null(void* block) {
  if (block != nullptr) truth::fail("an impossible allocation succeeded");
}

}  // namespace

// Functions have C names, so that a frame's name is exactly the function's.
extern "C" {

// 30,000 bytes outstanding for each of the eight kinds.
[[gnu::noinline]] void leak_malloc() {
  for (int i = 0; i < 10; ++i) keep(malloc(3000));
}
[[gnu::noinline]] void leak_calloc() {
  for (int i = 0; i < 10; ++i) keep(calloc(3, 1000));
}
[[gnu::noinline]] void leak_realloc() {
  for (int i = 0; i < 10; ++i) keep(realloc(nullptr, 3000));
}
[[gnu::noinline]] void leak_posix_memalign() {
  for (int i = 0; i < 10; ++i) {
    void* block = nullptr;
    if (posix_memalign(&block, 64, 3000) != 0) truth::fail("posix_memalign failed");
    keep(block);
  }
}
[[gnu::noinline]] void leak_aligned_alloc() {
  for (int i = 0; i < 5; ++i) keep(aligned_alloc(16, 6000));
}
[[gnu::noinline]] void leak_memalign() {
  for (int i = 0; i < 10; ++i) keep(memalign(256, 3000));
}
[[gnu::noinline]] void leak_valloc() {
  for (int i = 0; i < 10; ++i) keep(valloc(3000));
}
// The allocator rounds this up to pages; 3000 is still what was asked for.
[[gnu::noinline]] void leak_pvalloc() {
  for (int i = 0; i < 10; ++i) keep(pvalloc(3000));
}

[[gnu::noinline]] void balanced_malloc() {
  for (int i = 0; i < 1000; ++i) free(keep(malloc(777)));
}
[[gnu::noinline]] void malloc_zero_bytes() {
  for (int i = 0; i < 3; ++i) keep(malloc(0));
}
[[gnu::noinline]] void malloc_impossible() {
  for (int i = 0; i < 5; ++i) expect_null(malloc(impossible));
}
[[gnu::noinline]] void calloc_overflow() { expect_null(calloc(impossible, 4)); }
[[gnu::noinline]] void posix_memalign_invalid() {
  void* block = older;  // what it held before must not be taken for a result
  if (posix_memalign(&block, odd_alignment, 512) == 0) truth::fail("alignment 3 was accepted");
}

// A reallocated block belongs to the code that reallocated it last.
[[gnu::noinline]] void allocate_to_grow() { to_grow = keep(malloc(1000)); }
[[gnu::noinline]] void realloc_grow() { to_grow = keep(realloc(to_grow, 100000)); }
[[gnu::noinline]] void allocate_to_shrink() { to_shrink = keep(malloc(50000)); }
[[gnu::noinline]] void realloc_shrink() { to_shrink = keep(realloc(to_shrink, 700)); }
[[gnu::noinline]] void allocate_to_zero() { to_zero = keep(malloc(4000)); }
[[gnu::noinline]] void realloc_to_zero() { expect_null(realloc(to_zero, 0)); }
[[gnu::noinline]] void allocate_to_fail() { to_fail = keep(malloc(2500)); }
[[gnu::noinline]] void realloc_fail() { expect_null(realloc(to_fail, impossible)); }
[[gnu::noinline]] void realloc_of_older() { older_to_move = keep(realloc(older_to_move, 9000)); }
[[gnu::noinline]] void reallocarray_new() { keep(reallocarray(nullptr, 7, 900)); }
[[gnu::noinline]] void reallocarray_overflow() {
  expect_null(reallocarray(to_fail, impossible, 4));
}

// Called directly, as a new-expression may be optimised away.
[[gnu::noinline]] void new_scalar() {
  for (int i = 0; i < 4; ++i) keep(::operator new(1200));
}
[[gnu::noinline]] void new_array() {
  for (int i = 0; i < 4; ++i) keep(::operator new[](1500));
}
[[gnu::noinline]] void new_aligned() { keep(::operator new (6400, std::align_val_t{64})); }
[[gnu::noinline]] void new_nothrow() { keep(::operator new(2100, std::nothrow)); }
[[gnu::noinline]] void new_deleted() {
  for (int i = 0; i < 50; ++i) ::operator delete(keep(::operator new(333)));
  for (int i = 0; i < 50; ++i) ::operator delete[](keep(::operator new[](444)));
}

[[gnu::noinline]] void free_null() {
  for (int i = 0; i < 100; ++i) free(nullptr);
}
[[gnu::noinline]] void free_older() {
  for (void* block : older) free(block);
}

[[gnu::noinline]] void thread_allocates() {
  for (void*& block : by_threads) block = keep(malloc(640));
}
[[gnu::noinline]] void thread_frees() {
  for (size_t i = 0; i < thread_freed; ++i) free(by_threads[i]);
}

// The child has the parent's blocks at the same addresses. Freeing its copy of one must not take
// the parent's from the live set.
[[gnu::noinline]] void child_allocates() {
  for (int i = 0; i < 5; ++i) keep(malloc(8192));
}
[[gnu::noinline]] void child_frees_inherited() { free(to_grow); }

}  // extern "C"

namespace {

// The threads exist before "ready" and end after "done": starting one allocates, ending one frees.
struct Worker {
  void (*work)() = nullptr;
  sem_t start, finished, leave;
  pthread_t thread{};
};
Worker allocating{thread_allocates, {}, {}, {}, {}};
Worker freeing{thread_frees, {}, {}, {}, {}};

void* run_worker(void* argument) {
  Worker& worker = *static_cast<Worker*>(argument);
  sem_wait(&worker.start);
  worker.work();
  sem_post(&worker.finished);
  sem_wait(&worker.leave);
  return nullptr;
}

void create(Worker& worker) {
  sem_init(&worker.start, 0, 0);
  sem_init(&worker.finished, 0, 0);
  sem_init(&worker.leave, 0, 0);
  if (pthread_create(&worker.thread, nullptr, run_worker, &worker) != 0)
    truth::fail("no thread could be started");
}

void run_on(Worker& worker) {
  sem_post(&worker.start);
  sem_wait(&worker.finished);
}
void on_allocating_thread() { run_on(allocating); }
void on_freeing_thread() { run_on(freeing); }

void join(Worker& worker) {
  sem_post(&worker.leave);
  pthread_join(worker.thread, nullptr);
}

void in_child() {
  const pid_t child = fork();
  if (child == 0) {
    child_allocates();
    child_frees_inherited();
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
  const char* section = "functions";
};

constexpr Site sites[] = {
    {"leak_malloc", leak_malloc, 30000, 10, 30000, 10},
    {"leak_calloc", leak_calloc, 30000, 10, 30000, 10},
    {"leak_realloc", leak_realloc, 30000, 10, 30000, 10},
    {"leak_posix_memalign", leak_posix_memalign, 30000, 10, 30000, 10},
    {"leak_aligned_alloc", leak_aligned_alloc, 30000, 5, 30000, 5},
    {"leak_memalign", leak_memalign, 30000, 10, 30000, 10},
    {"leak_valloc", leak_valloc, 30000, 10, 30000, 10},
    {"leak_pvalloc", leak_pvalloc, 30000, 10, 30000, 10},
    {"balanced_malloc", balanced_malloc, 0, 0, 777000, 1000},
    {"malloc_zero_bytes", malloc_zero_bytes, 0, 3, 0, 3},
    {"malloc_impossible", malloc_impossible, 0, 0, 0, 0},
    {"calloc_overflow", calloc_overflow, 0, 0, 0, 0},
    {"posix_memalign_invalid", posix_memalign_invalid, 0, 0, 0, 0},
    {"allocate_to_grow", allocate_to_grow, 0, 0, 1000, 1},
    {"realloc_grow", realloc_grow, 100000, 1, 100000, 1},
    {"allocate_to_shrink", allocate_to_shrink, 0, 0, 50000, 1},
    {"realloc_shrink", realloc_shrink, 700, 1, 700, 1},
    {"allocate_to_zero", allocate_to_zero, 0, 0, 4000, 1},
    {"realloc_to_zero", realloc_to_zero, 0, 0, 0, 0},
    {"allocate_to_fail", allocate_to_fail, 2500, 1, 2500, 1},
    {"realloc_fail", realloc_fail, 0, 0, 0, 0},
    {"realloc_of_older", realloc_of_older, 9000, 1, 9000, 1},
    {"reallocarray_new", reallocarray_new, 6300, 1, 6300, 1},
    {"reallocarray_overflow", reallocarray_overflow, 0, 0, 0, 0},
    {"new_scalar", new_scalar, 4800, 4, 4800, 4, "frameless"},
    {"new_array", new_array, 6000, 4, 6000, 4, "frameless"},
    {"new_aligned", new_aligned, 6400, 1, 6400, 1, "frameless"},
    {"new_nothrow", new_nothrow, 2100, 1, 2100, 1, "frameless"},
    {"new_deleted", new_deleted, 0, 0, 38850, 100, "frameless"},
    {"free_null", free_null, 0, 0, 0, 0},
    {"free_older", free_older, 0, 0, 0, 0},
    {"thread_allocates", on_allocating_thread, 25600, 40, 64000, 100},
    {"thread_frees", on_freeing_thread, 0, 0, 0, 0},
};

void state(const Site& site) {
  const char* section = site.section;
  truth::state(section, site.name, "live", site.live);
  truth::state(section, site.name, "live_count", site.live_count);
  truth::state(section, site.name, "total", site.total);
  truth::state(section, site.name, "total_count", site.total_count);
}

}  // namespace

int main(int argc, char** argv) {
  for (void*& block : older) block = keep(malloc(111));
  older_to_move = keep(malloc(222));
  create(allocating);
  create(freeing);
  truth::begin(argc, argv);
  for (const Site& site : sites) {
    site.run();
    state(site);
  }
  in_child();
  state({"child_allocates", nullptr, 40960, 5, 40960, 5, "child"});
  // The blocks freed above, and the one that was moved.
  truth::state("counters", "free_miss", "events", static_cast<int64_t>(older_count) + 1);
  // The child's copy of a block is its own; whether it knows the block or misses it is left open.
  truth::state("counters", "child_free_miss", "events", 1);
  const int status = truth::end();
  join(allocating);
  join(freeing);
  return status;
}
