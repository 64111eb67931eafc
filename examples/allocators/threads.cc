// SPDX-License-Identifier: BSD-2-Clause
// Threads that allocate: exact figures whatever runs at once.
//
//   alloc_threads [ROUNDS] [--wait]
//
// Two threads keep a hundred thousand blocks of 4 bytes each; thirty make and delete ROUNDS objects
// each and yield now and then; threads allocate while they die, and leave what they have.
#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "examples/truth/report.h"

namespace {

constexpr int64_t unfreed = 100000;
constexpr int64_t keepers = 2, deleters = 30, dying = 20;

int64_t rounds = 100000;
thread_local void* volatile sink = nullptr;  // makes every block escape
pthread_key_t key;

void* keep(void* block) {
  if (block == nullptr) truth::fail("an allocation failed");
  sink = block;
  return block;
}

void state(const char* name, int64_t live, int64_t live_count, int64_t total, int64_t total_count) {
  truth::state("functions", name, "live", live);
  truth::state("functions", name, "live_count", live_count);
  truth::state("functions", name, "total", total);
  truth::state("functions", name, "total_count", total_count);
}

}  // namespace

extern "C" {

[[gnu::noinline]] void keeps_small() {
  for (int64_t i = 0; i < unfreed; ++i) keep(malloc(4));
}
[[gnu::noinline]] void news_and_deletes() {
  for (int64_t i = 0; i < rounds; ++i) {
    void* const block = keep(::operator new(4));
    if (i % 128 == 0) sched_yield();
    ::operator delete(block);
  }
}
[[gnu::noinline]] void mallocs_and_frees() {
  for (int64_t i = 0; i < rounds; ++i) free(keep(malloc(10)));
}
// Called when a thread is as good as gone.
[[gnu::noinline]] void dies(void* block) {
  free(block);
  keep(malloc(345));
  free(keep(malloc(678)));
}
[[gnu::noinline]] void sets_key() { pthread_setspecific(key, keep(malloc(77))); }
[[gnu::noinline]] void leaves_behind() {
  for (int i = 0; i < 100; ++i) keep(malloc(234));
}
[[gnu::noinline]] void main_leaves_behind() {
  for (int i = 0; i < 100; ++i) keep(malloc(123));
}

}  // extern "C"

namespace {

// At the end of a thread, through the C++ library.
struct LastWords {
  bool spoken = false;
  LastWords() = default;
  LastWords(const LastWords&) = delete;
  ~LastWords();
};
thread_local LastWords last_words;

}  // namespace

extern "C" [[gnu::noinline]] void says_last_words() { keep(malloc(555)); }

namespace {

LastWords::~LastWords() {
  if (spoken) says_last_words();
}

void* keeper(void*) {
  keeps_small();
  return nullptr;
}
void* deleter(void*) {
  news_and_deletes();
  return nullptr;
}
void* balanced(void*) {
  mallocs_and_frees();
  return nullptr;
}
void* die(void*) {
  sets_key();
  last_words.spoken = true;
  leaves_behind();
  return nullptr;
}

void run(int64_t count, void* (*body)(void*)) {
  pthread_t threads[64];
  for (int64_t i = 0; i < count; ++i)
    if (pthread_create(&threads[i], nullptr, body, nullptr) != 0)
      truth::fail("no thread could be started");
  for (int64_t i = 0; i < count; ++i) pthread_join(threads[i], nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    const int64_t asked = std::atoll(argv[1]);  // NOLINT(cert-err34-c): a word is not a number
    if (asked > 0) rounds = asked;
  }
  if (pthread_key_create(&key, dies) != 0) truth::fail("no key");
  truth::begin(argc, argv);
  run(keepers, keeper);
  state("keeps_small", keepers * unfreed * 4, keepers * unfreed, keepers * unfreed * 4,
        keepers * unfreed);
  run(deleters, deleter);
  state("news_and_deletes", 0, 0, deleters * rounds * 4, deleters * rounds);
  run(8, balanced);
  state("mallocs_and_frees", 0, 0, 8 * rounds * 10, 8 * rounds);
  run(dying, die);
  state("sets_key", 0, 0, dying * 77, dying);
  state("dies", dying * 345, dying, dying * (345 + 678), dying * 2);
  state("says_last_words", dying * 555, dying, dying * 555, dying);
  state("leaves_behind", dying * 23400, dying * 100, dying * 23400, dying * 100);
  main_leaves_behind();
  state("main_leaves_behind", 12300, 100, 12300, 100);
  return truth::end();
}
