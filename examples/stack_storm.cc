// SPDX-License-Identifier: BSD-2-Clause
// Threads that come and go allocate on stacks of every kind: deep and shallow calls, exceptions,
// longjmp(), contexts whose stacks are unmapped at once, coroutines, signal handlers on a stack of
// their own and on the present one, also at any moment, and libraries that are loaded and unloaded.
//
//   stack_storm [ROUNDS] [THREADS]
//
// ROUNDS in all, of some twenty allocations each. Prints how many allocations it made itself.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaltstack()
#include <sys/time.h>
#include <ucontext.h>

#include <atomic>
#include <climits>
#include <coroutine>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "examples/chains/event.h"
#include "examples/truth/report.h"

namespace {

constexpr size_t stack_bytes = 64 << 10;
constexpr int rounds_of_thread = 2000;

std::atomic<int64_t> rounds_left, allocations;
std::string plugin;
thread_local volatile sig_atomic_t is_computing = 0;  // so handlers may allocate
thread_local uint64_t random_state = 1;
thread_local sigjmp_buf back;

uint64_t below(uint64_t limit) {  // xorshift64
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state % limit;
}

}  // namespace

OWN_FRAME void allocate() {
  void* const block = malloc(16 + below(200));
  chain::keep(block);
  free(block);
  allocations.fetch_add(1, std::memory_order_relaxed);
}

struct Guard {
  Guard() { allocate(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { allocate(); }
};

// A moment at which any signal may come.
OWN_FRAME void compute() {
  is_computing = 1;
  for (int i = 0; i < 300; ++i) chain::keep();
  is_computing = 0;
}

// Three functions with frames of different sizes call each other, down to a leaf that does
// something.
using Leaf = void (*)();
OWN_FRAME void goes_down(int depth, Leaf leaf);
OWN_FRAME void goes_by_large_frame(int depth, Leaf leaf) {
  char frame[600];
  chain::keep(frame);
  goes_down(depth - 1, leaf);
  chain::keep(frame);
}
// NOLINTNEXTLINE(misc-no-recursion): that is the point
OWN_FRAME void goes_by_frame_of_any_size(int depth, Leaf leaf) {
  chain::keep(__builtin_alloca(16 + below(300)));
  goes_down(depth - 1, leaf);
  chain::keep();
}
OWN_FRAME void goes_down(int depth, Leaf leaf) {
  if (depth <= 0) {
    leaf();
  } else {
    if (below(4) == 0) allocate();
    below(2) == 0 ? goes_by_large_frame(depth, leaf) : goes_by_frame_of_any_size(depth, leaf);
    if (below(4) == 0) allocate();
  }
  chain::keep();
}

OWN_FRAME void throws() { throw 1; }
OWN_FRAME void guards_and_throws() {
  const Guard guard;
  goes_down(static_cast<int>(below(4)), throws);
  chain::keep();
}
OWN_FRAME void catches() {
  try {
    goes_down(static_cast<int>(below(8)), guards_and_throws);
  } catch (int) {
    allocate();
  }
  chain::keep();
}

OWN_FRAME void jumps_back() { siglongjmp(back, 1); }
OWN_FRAME void jumps() {
  if (sigsetjmp(back, 0) == 0) goes_down(static_cast<int>(below(12)), jumps_back);
  allocate();
}

namespace {
thread_local ucontext_t caller, callee;
}  // namespace

OWN_FRAME void in_context() {
  for (;;) {
    goes_down(static_cast<int>(below(6)), allocate);
    swapcontext(&callee, &caller);
  }
}
OWN_FRAME void switches_stack() {
  const bool is_mapped = below(2) == 0;
  void* const stack = is_mapped ? mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                : malloc(stack_bytes);
  if (stack == nullptr || stack == MAP_FAILED) truth::fail("no stack for a context");
  getcontext(&callee);
  callee.uc_stack.ss_sp = stack;
  callee.uc_stack.ss_size = stack_bytes;
  callee.uc_link = nullptr;
  makecontext(&callee, in_context, 0);
  for (int i = 0; i < 3; ++i) {
    swapcontext(&caller, &callee);
    allocate();
  }
  is_mapped ? static_cast<void>(munmap(stack, stack_bytes)) : free(stack);
}

struct Generator {
  struct promise_type {
    Generator get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int) { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
};
OWN_FRAME Generator generates(int count) {
  const Guard guard;
  for (int i = 0; i < count; ++i) {
    goes_down(static_cast<int>(below(3)), allocate);
    co_yield i;
  }
}
OWN_FRAME void resumes() {
  const Generator generator = generates(3);
  for (generator.handle.resume(); !generator.handle.done(); generator.handle.resume())
    goes_down(static_cast<int>(below(3)), allocate);
  generator.handle.destroy();
}

// Signals that the thread sends itself.
OWN_FRAME void on_usr1(int) { goes_down(static_cast<int>(below(4)), allocate); }
OWN_FRAME void on_usr2(int) {
  allocate();
  if (below(2) == 0) siglongjmp(back, 1);
}
OWN_FRAME void raises_usr1() { raise(SIGUSR1); }
OWN_FRAME void raises_usr2() {
  if (sigsetjmp(back, 1) == 0) raise(SIGUSR2);
  allocate();
}
OWN_FRAME void raises() {
  goes_down(static_cast<int>(below(6)), below(2) == 0 ? raises_usr1 : raises_usr2);
}
// Signals that come at any moment.
OWN_FRAME void on_alarm(int) {
  if (is_computing != 0) allocate();
}

OWN_FRAME char* called_back(char* page) {
  goes_down(static_cast<int>(below(3)), allocate);
  return page;
}
OWN_FRAME void loads_library() {
  using Run = char* (*)(chain::Kind, char*, char* (*)(char*));
  void* const library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) truth::fail(dlerror());
  const Run run = reinterpret_cast<Run>(dlsym(library, "run_plugin"));
  if (run == nullptr) truth::fail("a library without the function");
  run(chain::Kind::alloc, nullptr, called_back);
  allocations.fetch_add(1, std::memory_order_relaxed);
  dlclose(library);
}

namespace {

void one_round() {
  static constexpr Leaf leaves[] = {allocate, catches, jumps, switches_stack, resumes, raises};
  const uint64_t which = below(sizeof leaves / sizeof *leaves);
  goes_down(static_cast<int>(below(10)), leaves[which]);
  if (below(1000) == 0) loads_library();
  compute();
}

void* work(void* argument) {
  random_state = reinterpret_cast<uintptr_t>(argument) * 0x9e3779b97f4a7c15U | 1;
  stack_t stack{};
  stack.ss_sp = malloc(stack_bytes);
  stack.ss_size = stack_bytes;
  if (stack.ss_sp == nullptr || sigaltstack(&stack, nullptr) != 0) truth::fail("no signal stack");
  for (int i = 0; i < rounds_of_thread && rounds_left.fetch_sub(1) > 0; ++i) one_round();
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  free(stack.ss_sp);
  return nullptr;
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags | SA_RESTART;
  if (sigaction(signal, &action, nullptr) != 0) truth::fail("no handler for a signal");
}

std::string beside_program(const char* name) {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) truth::fail("no /proc/self/exe");
  const std::string program(path, static_cast<size_t>(size));
  return program.substr(0, program.rfind('/') + 1) + name;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr long most_threads = 64;
  rounds_left = argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 10'000;
  const long threads = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 4;
  if (threads < 1 || threads > most_threads) truth::fail("1 to 64 threads");
  plugin = beside_program("libplugin_alpha.so");
  handle(SIGUSR1, on_usr1, SA_ONSTACK);
  handle(SIGUSR2, on_usr2, 0);
  handle(SIGALRM, on_alarm, SA_ONSTACK);
  const itimerval often{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &often, nullptr);
  uintptr_t number = 0;
  while (rounds_left > 0) {
    pthread_t ids[most_threads]{};
    for (long i = 0; i < threads; ++i)
      if (pthread_create(&ids[i], nullptr, work, reinterpret_cast<void*>(++number)) != 0)
        truth::fail("no thread could be started");
    for (long i = 0; i < threads; ++i) pthread_join(ids[i], nullptr);
  }
  std::printf("allocations %lld\n", static_cast<long long>(allocations));
  return 0;
}
