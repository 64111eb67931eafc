// SPDX-License-Identifier: BSD-2-Clause
// Threads allocate and free as fast as they can, and say in a file how far each has come: before
// each call, and after it. So whoever kills the program knows what it can have done.
//
//   counted FILE [--threads N] [--operations M] [--forks F]
//
// M allocations in each of N threads (default 4); without --operations they go on for ever. Blocks
// are freed by whichever thread finds them, and most in the end. Meanwhile F children are forked,
// each of which allocates 2,000 blocks and frees half of them.
//
// The file: the process id and the number of threads, then 8 words for each thread: allocations,
// their bytes, frees, their bytes, each as begun and as done.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "examples/truth/report.h"

namespace {

constexpr int64_t most_threads = 16;
constexpr size_t mailbox_count = 1024;
constexpr int blocks_of_child = 2000;

using Number = std::atomic<uint64_t>;

// Only its thread writes it, so a store is enough.
struct Count {
  Number begun, done;
  void begin(uint64_t more) { begun.store(begun + more, std::memory_order_seq_cst); }
  void end(uint64_t more) { done.store(done + more, std::memory_order_seq_cst); }
};
struct alignas(64) Worker {
  Count allocations, bytes, frees, freed_bytes;
};
struct alignas(64) Head {
  Number pid, threads;
};
struct File {
  Head head;
  Worker workers[most_threads];
};

File* file = nullptr;
std::atomic<void*> mailboxes[mailbox_count];
int64_t operations = 0;  // of each thread; 0 = for ever

uint64_t next(uint64_t& random) {  // xorshift64
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  return random;
}

}  // namespace

extern "C" {

[[gnu::noinline]] void* counted_allocate(Worker& worker, uint64_t size) {
  worker.allocations.begin(1);
  worker.bytes.begin(size);
  auto* const block = static_cast<uint64_t*>(malloc(size));
  worker.allocations.end(1);
  worker.bytes.end(size);
  if (block == nullptr) truth::fail("an allocation failed");
  *block = size;
  return block;
}

[[gnu::noinline]] void counted_free(Worker& worker, void* block) {
  if (block == nullptr) return;
  const uint64_t size = *static_cast<uint64_t*>(block);
  worker.frees.begin(1);
  worker.freed_bytes.begin(size);
  free(block);
  worker.frees.end(1);
  worker.freed_bytes.end(size);
}

[[gnu::noinline]] void* child_allocate() {
  void* const block = malloc(100);
  if (block == nullptr) truth::fail("an allocation failed");
  return block;
}

}  // extern "C"

namespace {

void* work(void* argument) {
  Worker& worker = *static_cast<Worker*>(argument);
  uint64_t random = reinterpret_cast<uintptr_t>(argument) | 1;
  for (int64_t i = 0; operations == 0 || i < operations; ++i) {
    const uint64_t number = next(random);
    void* const block = counted_allocate(worker, 16 + number % 512);
    counted_free(worker, mailboxes[(number >> 32) % mailbox_count].exchange(block));
  }
  return nullptr;
}

pid_t fork_child() {
  const pid_t child = fork();
  if (child < 0) truth::fail("no child");
  if (child != 0) return child;
  for (int i = 0; i < blocks_of_child; ++i) {
    void* const block = child_allocate();
    if (i % 2 == 0) free(block);
  }
  _exit(0);
}

void make_file(const char* path, int64_t threads) {
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0 || ftruncate(fd, sizeof(File)) != 0) truth::fail("the file cannot be made");
  void* const memory = mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) truth::fail("the file cannot be mapped");
  close(fd);
  file = static_cast<File*>(memory);
  file->head.threads = static_cast<uint64_t>(threads);
  file->head.pid = static_cast<uint64_t>(getpid());
}

int64_t option(int argc, char** argv, const char* name, int64_t otherwise) {
  for (int i = 2; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return std::strtoll(argv[i + 1], nullptr, 10);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) truth::fail("the first argument is a file");
  const int64_t threads = option(argc, argv, "--threads", 4);
  const int64_t forks = option(argc, argv, "--forks", 0);
  operations = option(argc, argv, "--operations", 0);
  if (threads < 1 || threads > most_threads) truth::fail("--threads takes 1 to 16");
  make_file(argv[1], threads);
  pthread_t ids[most_threads]{};
  for (int64_t i = 0; i < threads; ++i)
    if (pthread_create(&ids[i], nullptr, work, &file->workers[i]) != 0)
      truth::fail("no thread could be started");
  for (int64_t i = 0; i < forks; ++i) {
    const pid_t child = fork_child();
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0) truth::fail("a child failed");
  }
  for (int64_t i = 0; i < threads; ++i) pthread_join(ids[i], nullptr);
  return 0;
}
