// SPDX-License-Identifier: BSD-2-Clause
// many_threads COUNT [PROCESSES]: COUNT threads at once, in each process, keep 4 blocks of 1000
// bytes; the last block has a deep stack, and they free a fifth block. Prints the bytes that are
// kept.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr size_t block_bytes = 1000;
constexpr int deep = 300;
pthread_barrier_t barrier;

extern "C" __attribute__((noinline)) void* keep_block() { return std::malloc(block_bytes); }

extern "C" __attribute__((noinline)) void* keep_deep(int frames) {
  void* const block = frames == 0 ? keep_block() : keep_deep(frames - 1);
  asm volatile("" ::: "memory");
  return block;
}

void* work(void* kept) {
  auto* const blocks = static_cast<void**>(kept);
  blocks[0] = keep_block();
  pthread_barrier_wait(&barrier);
  void* const freed = std::malloc(block_bytes);
  blocks[1] = keep_block();
  blocks[2] = keep_deep(deep);
  std::free(freed);
  blocks[3] = keep_block();
  pthread_barrier_wait(&barrier);
  return nullptr;
}

int run(size_t count) {
  std::vector<void*> kept(count * 4);
  std::vector<pthread_t> threads(count);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{128} << 10);
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(count));
  for (size_t i = 0; i < count; ++i)
    if (pthread_create(&threads[i], &attributes, work, &kept[i * 4]) != 0) {
      std::perror("a thread");
      return 1;
    }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1500;
  const int processes = argc > 2 ? std::atoi(argv[2]) : 1;
  for (int i = 1; i < processes; ++i)
    if (fork() == 0) _exit(run(count));
  int failed = run(count);
  for (int status = 0; wait(&status) > 0;) failed |= status;
  std::printf("%zu\n", 4 * block_bytes * count * static_cast<size_t>(processes));
  std::fflush(stdout);
  _exit(failed == 0 ? 0 : 1);
}
