// SPDX-License-Identifier: BSD-2-Clause
// Processes and threads that come and go, each with one event: threads, fork, vfork and exec, clone
// with and without a stack of its own, fork in a thread.
//
//   life alloc|brk|mmap|fault [ROUNDS] [--wait]
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "examples/chains/event.h"
#include "examples/truth/report.h"

namespace chain {

const char* kind_word = nullptr;

OWN_FRAME void await(pid_t child) {
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
    truth::fail("a child failed");
}
OWN_FRAME void run_thread(void* (*function)(void*)) {
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, function, nullptr) != 0) truth::fail("no thread");
  pthread_join(thread, nullptr);
  keep();
}

OWN_FRAME void in_thread() { event(); }
OWN_FRAME void* thread(void* argument) {
  in_thread();
  keep();
  return argument;
}

OWN_FRAME void in_forked_child() { event(); }
OWN_FRAME void in_thread_of_child() { event(); }
OWN_FRAME void* thread_of_child(void* argument) {
  in_thread_of_child();
  keep();
  return argument;
}
OWN_FRAME void forks() {
  const pid_t child = fork();
  if (child == 0) {
    in_forked_child();
    run_thread(thread_of_child);
    _exit(0);
  }
  await(child);
  keep();
}

OWN_FRAME void in_child_of_thread() { event(); }
OWN_FRAME void* forking_thread(void* argument) {
  const pid_t child = fork();
  if (child == 0) {
    in_child_of_thread();
    _exit(0);
  }
  await(child);
  keep();
  return argument;
}
OWN_FRAME void forks_in_thread() {
  run_thread(forking_thread);
  keep();
}

// Runs in our memory until it is another program.
OWN_FRAME void in_vfork_child() { event(); }
OWN_FRAME void vforks() {
  const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (child == 0) {
    in_vfork_child();
    execl("/proc/self/exe", "life", kind_word, "--executed", "2", nullptr);
    _exit(1);
  }
  await(child);
  keep();
}
OWN_FRAME void after_exec() { event(); }
OWN_FRAME void executed(const char* times) {
  after_exec();
  if (times[0] > '1') execl("/proc/self/exe", "life", kind_word, "--executed", "1", nullptr);
  keep();
}

// The child goes on with a copy of the stack, without the C library's knowledge.
OWN_FRAME void in_cloned_child() { event(); }
OWN_FRAME void clones() {
  const pid_t child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    in_cloned_child();
    _exit(0);
  }
  await(child);
  keep();
}

alignas(16) char child_stack[64 << 10];
OWN_FRAME void in_clone_with_stack() { event(); }
OWN_FRAME int clone_with_stack(void*) {
  in_clone_with_stack();
  return 0;
}
OWN_FRAME void clones_with_stack() {
  await(clone(clone_with_stack, child_stack + sizeof child_stack, SIGCHLD, nullptr));
  keep();
}

OWN_FRAME void one_round() {
  renew_pages();
  run_thread(thread);
  forks();
  forks_in_thread();
  vforks();
  clones();
  clones_with_stack();
}

namespace {

struct Site {
  const char* leaf;
  const char* callers;
  int64_t events;
};
#define TO_MAIN ";chain::one_round();main;+;_start"
constexpr Site sites[] = {
    {"chain::in_thread()", "chain::thread(void*);+", 1},
    {"chain::in_forked_child()", "chain::forks()" TO_MAIN, 1},
    {"chain::in_thread_of_child()", "chain::thread_of_child(void*);+", 1},
    {"chain::in_child_of_thread()", "chain::forking_thread(void*);+", 1},
    {"chain::in_vfork_child()", "chain::vforks()" TO_MAIN, 1},
    {"chain::after_exec()", "chain::executed(char const*);main;+;_start", 2},
    {"chain::in_cloned_child()", "chain::clones()" TO_MAIN, 1},
    {"chain::in_clone_with_stack()", "chain::clone_with_stack(void*);+", 1},
    {"chain::run_thread(void* (*)(void*))", "?chain::forks();?chain::forks_in_thread()" TO_MAIN, 0},
    {"chain::forks()", "chain::one_round();main;+;_start", 0},
    {"chain::forking_thread(void*)", "+", 0},
    {"chain::clones_with_stack()", "chain::one_round();main;+;_start", 0},
};

}  // namespace
}  // namespace chain

int main(int argc, char** argv) {
  using namespace chain;
  if (argc < 2) truth::fail("the first argument says what happens");
  kind_word = argv[1];
  const Kind wanted = kind_named(kind_word);
  if (argc > 3 && std::strcmp(argv[2], "--executed") == 0) {
    choose(wanted);
    executed(argv[3]);
    return 0;
  }
  int rounds = argc > 2 ? std::atoi(argv[2]) : 0;  // NOLINT(cert-err34-c): a word is not a number
  if (rounds <= 0) rounds = 1;
  choose(wanted);
  truth::begin(argc, argv);
  for (int i = 0; i < rounds; ++i) one_round();
  for (const Site& site : sites) state(site.leaf, site.callers, site.events * rounds);
  return truth::end();
}
