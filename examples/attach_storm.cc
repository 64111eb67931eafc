// SPDX-License-Identifier: BSD-2-Clause
// Everything that makes it hard to come into a running process, at once: threads that allocate and
// verify what they have written, threads that come and go, a library that is loaded and unloaded
// all the time, a timer's signal every 5 ms, exceptions, and threads that wait in read(), in
// nanosleep() and in epoll_wait().
//
//   attach_storm [THREADS]
//
// Prints "ready PID", and works until its input ends. Then it prints how much it did. Whatever it
// finds wrong is an error: a changed byte, a signal handler's loss, an EINTR that no handler
// caused.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>

namespace {

constexpr int most_threads = 32;
constexpr size_t kept_blocks = 64;

std::atomic<bool> stopped = false;
std::atomic<uint64_t> operations = 0, loads = 0, threads = 0, alarms = 0, thrown = 0;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "attach_storm: %s\n", what);
  std::_Exit(1);
}

uint64_t next(uint64_t& random) {  // xorshift64
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  return random;
}

struct Block {
  unsigned char* bytes = nullptr;
  size_t size = 0;
  unsigned char pattern = 0;
};

void verify(const Block& block) {
  for (size_t i = 0; i < block.size; i += 1 + block.size / 16)
    if (block.bytes[i] != block.pattern) fail("a byte has changed");
}

[[gnu::noinline]] void throw_it(uint64_t depth) {
  if (depth == 0) throw std::runtime_error("thrown on purpose");
  throw_it(depth - 1);
  operations.fetch_add(1, std::memory_order_relaxed);  // not a tail call
}

[[gnu::noinline]] void renew(Block& block, uint64_t random) {
  verify(block);
  const size_t size = 1 + random % 600;
  if (random % 5 == 0) {
    auto* bytes = static_cast<unsigned char*>(std::realloc(block.bytes, size));
    if (bytes == nullptr) fail("no memory");
    block.bytes = bytes;
  } else {
    std::free(block.bytes);
    block.bytes =
        static_cast<unsigned char*>(random % 3 == 0 ? std::calloc(1, size) : std::malloc(size));
    if (block.bytes == nullptr) fail("no memory");
  }
  block.size = size;
  block.pattern = static_cast<unsigned char>(random >> 32);
  std::memset(block.bytes, block.pattern, size);
}

void allocate_for(uint64_t random, uint64_t rounds) {
  Block blocks[kept_blocks];
  for (uint64_t i = 0; i < rounds && !stopped.load(std::memory_order_relaxed); ++i) {
    const uint64_t drawn = next(random);
    renew(blocks[drawn % kept_blocks], drawn >> 8);
    if (drawn % 4096 == 0) {
      try {
        throw_it(drawn >> 12 & 15);
      } catch (const std::runtime_error&) {
        thrown.fetch_add(1, std::memory_order_relaxed);
      }
    }
    if (drawn % 64 == 0) operations.fetch_add(64, std::memory_order_relaxed);
  }
  for (Block& block : blocks) {
    verify(block);
    std::free(block.bytes);
  }
}

void* allocates(void* seed) {
  allocate_for(reinterpret_cast<uintptr_t>(seed), UINT64_MAX);
  return nullptr;
}

void* comes_and_goes(void* seed) {
  allocate_for(reinterpret_cast<uintptr_t>(seed), 200);
  return nullptr;
}

void* starts_threads(void*) {
  for (uint64_t seed = 1; !stopped; ++seed) {
    pthread_t thread{};
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (pthread_create(&thread, nullptr, comes_and_goes, reinterpret_cast<void*>(seed * 977)) != 0)
      fail("no thread can be started");
    pthread_join(thread, nullptr);
    threads.fetch_add(1, std::memory_order_relaxed);
    usleep(500);
  }
  return nullptr;
}

void* loads_libraries(void* path) {
  while (!stopped) {
    void* const library = dlopen(static_cast<const char*>(path), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fail(dlerror());
    const auto work = reinterpret_cast<uint64_t (*)(uint64_t)>(dlsym(library, "storm_plugin_work"));
    if (work == nullptr || work(20) != 20) fail("the library does not work");
    dlclose(library);
    loads.fetch_add(1, std::memory_order_relaxed);
    usleep(700);
  }
  return nullptr;
}

void* sleeps(void*) {
  while (!stopped) {
    const timespec time{.tv_sec = 0, .tv_nsec = 20'000'000};
    if (nanosleep(&time, nullptr) != 0) fail("nanosleep() ended early");
  }
  return nullptr;
}

// epoll_wait() is not begun anew after a signal, nor after a stop by a tracer.
void* waits_for_events(void* descriptor) {
  epoll_event event{};
  const int queue = epoll_create1(EPOLL_CLOEXEC);
  event.events = EPOLLIN | EPOLLHUP;
  if (epoll_ctl(queue, EPOLL_CTL_ADD, static_cast<int*>(descriptor)[0], &event) != 0)
    fail("no events");
  if (epoll_wait(queue, &event, 1, -1) != 1) fail("epoll_wait() ended early");
  close(queue);
  return nullptr;
}

void on_alarm(int) { alarms.fetch_add(1, std::memory_order_relaxed); }

std::string beside_program(const char* name) {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) fail("no /proc/self/exe");
  const std::string program(path, static_cast<size_t>(size));
  return program.substr(0, program.rfind('/') + 1) + name;
}

pthread_t start(void* (*function)(void*), void* argument) {
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, function, argument) != 0) fail("no thread can be started");
  return thread;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 3;
  if (count < 1 || count > most_threads) fail("THREADS is 1 to 32");
  std::string library = beside_program("attach_storm_plugin.so");
  int ends[2];
  if (pipe(ends) != 0) fail("no pipe");

  // The signal goes to threads that allocate, not to those that wait.
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm_only, nullptr);
  pthread_t others[] = {start(starts_threads, nullptr), start(loads_libraries, library.data()),
                        start(sleeps, nullptr), start(waits_for_events, ends)};
  pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
  pthread_t workers[most_threads];
  for (int i = 0; i < count; ++i)
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    workers[i] =
        start(allocates, reinterpret_cast<void*>(uintptr_t{88172645463325252} + unsigned(i)));
  pthread_sigmask(SIG_BLOCK, &alarm_only, nullptr);
  struct sigaction action {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval every{.it_interval = {.tv_sec = 0, .tv_usec = 5000},
                        .it_value = {.tv_sec = 0, .tv_usec = 5000}};
  setitimer(ITIMER_REAL, &every, nullptr);

  std::printf("ready %d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
  char byte = 0;
  ssize_t got = 0;
  while ((got = read(0, &byte, 1)) == 1) {
  }
  if (got < 0) fail("read() ended early");

  stopped = true;
  close(ends[1]);
  for (const pthread_t thread : others) pthread_join(thread, nullptr);
  for (int i = 0; i < count; ++i) pthread_join(workers[i], nullptr);
  std::printf(
      "{\"operations\": %llu, \"loads\": %llu, \"threads\": %llu, \"alarms\": %llu, \"thrown\": "
      "%llu}\n",
      static_cast<unsigned long long>(operations), static_cast<unsigned long long>(loads),
      static_cast<unsigned long long>(threads), static_cast<unsigned long long>(alarms),
      static_cast<unsigned long long>(thrown));
  return 0;
}
