// SPDX-License-Identifier: BSD-2-Clause
// Does one small thing many times at the bottom of a recursion, and says what it cost.
//
//   pairs malloc|fault DEPTH
//
// Says "ready", then for each number N read from standard input allocates and frees 64 bytes N
// times, or touches N fresh pages, and answers "done CPU ALL WALL", in nanoseconds. CPU is user and
// system time of the process; ALL also counts giving the pages back; WALL goes by the clock.
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr long page = 4096, most_pages = 4096;

int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

char* pages = nullptr;
int64_t giving_back = 0;  // CPU time

__attribute__((noinline)) void allocate(long times) {
  for (long i = 0; i < times; ++i) {
    void* volatile block = std::malloc(64);
    std::free(block);
  }
}

__attribute__((noinline)) void touch(long times) {
  while (times > 0) {
    const long some = times < most_pages ? times : most_pages;
    for (long i = 0; i < some; ++i) *static_cast<volatile char*>(pages + i * page) = 1;
    const int64_t start = now(CLOCK_PROCESS_CPUTIME_ID);
    if (madvise(pages, most_pages * page, MADV_DONTNEED) != 0) std::abort();
    giving_back += now(CLOCK_PROCESS_CPUTIME_ID) - start;
    times -= some;
  }
}

__attribute__((noinline)) int descend(int depth, void (*work)(long), long times) {
  if (depth <= 1) {
    work(times);
    return 1;
  }
  const int below = descend(depth - 1, work, times);
  __asm__ volatile("");  // no tail call, no loop
  return below + 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool faults = std::strcmp(argv[1], "fault") == 0;
  // main, descend … descend, the work: as many frames as asked for, besides the start of a program.
  const int depth = std::atoi(argv[2]) - 2;
  if (faults) {
    void* mapped = mmap(nullptr, most_pages * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return 1;
    pages = static_cast<char*>(mapped);
    madvise(pages, most_pages * page, MADV_NOHUGEPAGE);  // one page per fault
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 256);
  std::setvbuf(stdin, nullptr, _IOLBF, 256);
  std::puts("ready");
  long times = 0;
  while (std::scanf("%ld", &times) == 1) {
    giving_back = 0;
    const int64_t wall = now(CLOCK_MONOTONIC);
    const int64_t start = now(CLOCK_PROCESS_CPUTIME_ID);
    if (descend(depth, faults ? touch : allocate, times) < 1) return 1;
    const int64_t all = now(CLOCK_PROCESS_CPUTIME_ID) - start;
    std::printf("done %ld %ld %ld\n", static_cast<long>(all - giving_back), static_cast<long>(all),
                static_cast<long>(now(CLOCK_MONOTONIC) - wall));
  }
}
