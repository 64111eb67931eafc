// SPDX-License-Identifier: BSD-2-Clause
// Threads allocate and free as fast as they can, and mostly free blocks of other threads:
// blocks change hands in mailboxes without a lock. Every block is freed in the end.
//
//   alloc_storm [--threads N] [--operations M] [--mailboxes B] [--forever] [--wait]
//
// M allocations in all (default 5,000,000), through B mailboxes (default 4,096): with few of them,
// each block is freed as soon as it is there. --forever goes on until SIGTERM. Prints how many
// allocations, bytes and frees there were, by construction and by count.
#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "examples/truth/report.h"

namespace {

constexpr int64_t most_threads = 64;
constexpr int64_t most_mailboxes = 4096;

std::atomic<void*> mailboxes[most_mailboxes];
uint64_t mailbox_count = most_mailboxes;
std::atomic<bool> stopped = false;
sem_t start, finished, leave;

struct Worker {
  pthread_t thread{};
  uint64_t random = 0;
  int64_t share = 0;  // allocations to make; negative: until stopped
  int64_t allocations = 0, bytes = 0, frees = 0;
};
Worker workers[most_threads];

uint64_t next(uint64_t& random) {  // xorshift64
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  return random;
}

void on_term(int) { stopped.store(true, std::memory_order_relaxed); }

}  // namespace

extern "C" {

[[gnu::noinline]] void* storm_allocate(Worker& worker, size_t size) {
  void* block = malloc(size);
  if (block == nullptr) truth::fail("an allocation failed");
  std::memset(block, 1, size < 16 ? size : 16);
  ++worker.allocations;
  worker.bytes += static_cast<int64_t>(size);
  return block;
}

[[gnu::noinline]] void storm_free(Worker& worker, void* block) {
  if (block == nullptr) return;
  free(block);
  ++worker.frees;
}

[[gnu::noinline]] void storm_work(Worker& worker) {
  for (int64_t i = 0; worker.share < 0 || i < worker.share; ++i) {
    if (stopped.load(std::memory_order_relaxed)) break;
    const uint64_t random = next(worker.random);
    void* block = storm_allocate(worker, 16 + random % 512);
    // Puts it into a mailbox and frees the block that was there, whichever thread put it in.
    storm_free(worker, mailboxes[(random >> 32) % mailbox_count].exchange(block));
  }
}

[[gnu::noinline]] void storm_empty_mailboxes(Worker& worker) {
  for (std::atomic<void*>& mailbox : mailboxes) storm_free(worker, mailbox.exchange(nullptr));
}

}  // extern "C"

namespace {

// Threads live from before "ready" to after "done": starting one allocates, ending one frees.
void* run_worker(void* argument) {
  sem_wait(&start);
  storm_work(*static_cast<Worker*>(argument));
  sem_post(&finished);
  sem_wait(&leave);
  return nullptr;
}

int64_t option(int argc, char** argv, const char* name, int64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return std::strtoll(argv[i + 1], nullptr, 10);
  return otherwise;
}
bool flag(int argc, char** argv, const char* name) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t threads = option(argc, argv, "--threads", 8);
  const int64_t operations = option(argc, argv, "--operations", 5'000'000);
  const int64_t boxes = option(argc, argv, "--mailboxes", most_mailboxes);
  const bool forever = flag(argc, argv, "--forever");
  if (threads < 1 || threads > most_threads) truth::fail("--threads takes 1 to 64");
  if (boxes < 1 || boxes > most_mailboxes) truth::fail("--mailboxes takes 1 to 4096");
  mailbox_count = static_cast<uint64_t>(boxes);
  std::signal(SIGTERM, on_term);
  sem_init(&start, 0, 0);
  sem_init(&finished, 0, 0);
  sem_init(&leave, 0, 0);
  for (int64_t i = 0; i < threads; ++i) {
    Worker& worker = workers[i];
    worker.random = 0x9e3779b97f4a7c15U * static_cast<uint64_t>(i + 1);
    worker.share = forever ? -1 : operations / threads + (i < operations % threads ? 1 : 0);
    if (pthread_create(&worker.thread, nullptr, run_worker, &worker) != 0)
      truth::fail("no thread could be started");
  }
  truth::begin(argc, argv);
  for (int64_t i = 0; i < threads; ++i) sem_post(&start);
  for (int64_t i = 0; i < threads;)
    if (sem_wait(&finished) == 0) ++i;  // a signal may interrupt it
  storm_empty_mailboxes(workers[0]);

  for (int64_t i = 0; i < threads; ++i) {
    const Worker& worker = workers[i];
    truth::state("functions", "storm_allocate", "total", worker.bytes);
    truth::state("functions", "storm_allocate", "total_count", worker.allocations);
    truth::state("counters", "free", "events", worker.frees);
  }
  truth::state("functions", "storm_allocate", "live", 0);
  truth::state("functions", "storm_allocate", "live_count", 0);
  const int status = truth::end();
  for (int64_t i = 0; i < threads; ++i) sem_post(&leave);
  for (int64_t i = 0; i < threads; ++i) pthread_join(workers[i].thread, nullptr);
  return status;
}
