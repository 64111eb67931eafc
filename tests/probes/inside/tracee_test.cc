// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/tracee.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "core/error.h"
#include "probes/inside/attach/own_process.h"
#include "probes/inside/attach/remote_memory.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace): tests only

namespace {

uint64_t address_of(const char* name) {
  return reinterpret_cast<uintptr_t>(::dlsym(RTLD_DEFAULT, name));
}

LibraryFunctions own_functions() {
  return {.map = address_of("mmap"),
          .unmap = address_of("munmap"),
          .system_call = address_of("syscall"),
          .error_place = address_of("__errno_location"),
          .load = address_of("dlopen"),
          .find = address_of("dlsym"),
          .error_text = address_of("dlerror")};
}

// What the child and this process share.
struct Shared {
  volatile long rounds = 0;
  volatile long forks = 0;
  volatile long wrong = 0;
};

// Waits in read() again and again, and finds out if anything about that changes.
[[noreturn]] void wait_for_bytes(int from, Shared& shared) {
  while (true) {
    errno = 77;
    char byte = 0;
    if (::read(from, &byte, 1) != 1 || errno != 77) shared.wrong = shared.wrong + 1;
    shared.rounds = shared.rounds + 1;
  }
}

// Stops for nobody while the child that shares its memory lives, which ends with the next byte.
[[noreturn]] void wait_for_children(int from, Shared& shared) {
  const pid_t parent = ::getpid();
  while (true) {
    errno = 77;
    shared.forks = shared.forks + 1;
    // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): that is what is to be tested
    const pid_t child = ::vfork();
    if (child == 0) {
      char byte = 0;
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);  // it was killed before that
      ::_exit(::read(from, &byte, 1) == 1 ? 0 : 1);
    }
    int status = -1;
    if (child < 0 || errno != 77 || ::waitpid(child, &status, 0) != child || status != 0)
      shared.wrong = shared.wrong + 1;
    shared.rounds = shared.rounds + 1;
  }
}

struct Child {
  explicit Child(void (*work)(int, Shared&) = wait_for_bytes) {
    shared = static_cast<Shared*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    REQUIRE(::pipe(ends) == 0);
    pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) work(ends[0], *shared);
  }
  ~Child() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::munmap(shared, 4096);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Lets it go on, and waits until it waits again.
  void wake() {
    const long before = shared->rounds;
    REQUIRE(::write(ends[1], "x", 1) == 1);
    for (int i = 0; i < 20000 && shared->rounds == before; ++i) pause_for(100'000);
    CHECK(shared->rounds == before + 1);
  }

  pid_t pid = -1;
  int ends[2]{};
  Shared* shared = nullptr;
};

}  // namespace

TEST_CASE("a function that is called in another process's thread leaves no trace there") {
  Child child;
  child.wake();
  bool was_held = false;
  std::thread([&] {
    for (int i = 0; i < 10; ++i) {
      Tracee tracee(child.pid, child.pid, {});
      if (tracee.state() != Tracee::State::held) continue;
      was_held = true;
      RemoteCalls calls(tracee, own_functions());
      CHECK(calls.call(address_of("getpid"), {}) == static_cast<uint64_t>(child.pid));
      CHECK(calls.call(address_of("labs"), {static_cast<uint64_t>(-5)}) == 5);
      CHECK(calls.system_call(SYS_close, {987654}) == -EBADF);  // sets errno
      CHECK(calls.memory().text(calls.text("a text")) == "a text");
    }
  }).join();
  if (!was_held) {
    MESSAGE("tracing is forbidden here");
    return;
  }
  child.wake();
  child.wake();
  CHECK(child.shared->wrong == 0);
}

TEST_CASE("a call that crashes is an error, and the thread goes on as before") {
  Child child;
  child.wake();
  std::thread([&] {
    Tracee tracee(child.pid, child.pid, {});
    if (tracee.state() != Tracee::State::held) return;
    RemoteCalls calls(tracee, own_functions());
    CHECK_THROWS_AS(calls.call(16, {}), Error);
    CHECK(calls.call(address_of("getpid"), {}) == static_cast<uint64_t>(child.pid));
  }).join();
  child.wake();
  CHECK(child.shared->wrong == 0);
}

TEST_CASE("a thread that stops late is held then, and goes on as before") {
  Child child(wait_for_children);
  while (child.shared->forks == 0) pause_for(100'000);
  bool is_traced = false;
  std::thread([&] {
    for (int i = 0; i < 3; ++i) {
      // It has begun, and then waits for its child within a moment, in which it may still be held.
      Tracee tracee(child.pid, child.pid, {});
      if (tracee.state() == Tracee::State::held) continue;
      if (tracee.state() == Tracee::State::gone) return;
      is_traced = true;
      for (int look = 0; look < 20; ++look) {
        CHECK(tracee.catch_up() == Tracee::State::running);
        pause_for(1'000'000);
      }
      const long before = child.shared->rounds;
      REQUIRE(::write(child.ends[1], "x", 1) == 1);
      for (int look = 0; look < 20000 && tracee.catch_up() == Tracee::State::running; ++look)
        pause_for(100'000);
      CHECK(tracee.state() == Tracee::State::held);
      CHECK(child.shared->rounds == before);  // it waits for memflame
      tracee.let_go();
      for (int look = 0; look < 20000 && child.shared->rounds == before; ++look) pause_for(100'000);
      CHECK(child.shared->rounds == before + 1);
    }
  }).join();
  if (!is_traced) MESSAGE("tracing is forbidden here");
  CHECK(child.shared->wrong == 0);
}

TEST_CASE("symbols are found in memory as the dynamic linker finds them") {
  const RemoteMemory memory(::getpid());
  const std::vector<LoadedObject> objects = loaded_objects(memory, read_maps(::getpid()).value());
  const auto library =
      std::find_if(objects.begin(), objects.end(), [&](const LoadedObject& object) {
        return object.find(memory, "gnu_get_libc_version").address != 0;
      });
  REQUIRE(library != objects.end());
  for (const char* name : {"dlopen", "dlsym", "mmap", "syscall", "pthread_cond_wait"})
    CHECK(library->find(memory, name).address ==
          reinterpret_cast<uintptr_t>(::dlsym(::dlopen("libc.so.6", RTLD_NOW), name)));
  CHECK(library->find(memory, "no_such_function").address == 0);
  CHECK(library->holds(library->find(memory, "mmap").address));
  const bool is_own = std::any_of(objects.begin(), objects.end(), [](const LoadedObject& object) {
    return object.holds(reinterpret_cast<uintptr_t>(&own_functions));
  });
  CHECK(is_own);
}

TEST_CASE("a process of its own says what came of its work, and ends with it only") {
  OwnProcess process([](const OwnProcess::Give& give) {
    give(0);
    return std::string("done");
  });
  for (int i = 0; i < 20000 && !process.has_ended(); ++i) pause_for(100'000);
  CHECK(process.said() == "done");
  CHECK(process.given());
  OwnProcess killed([](const OwnProcess::Give&) -> std::string {
    ::raise(SIGTERM);
    ::raise(SIGINT);
    return "still here";
  });
  for (int i = 0; i < 20000 && !killed.has_ended(); ++i) pause_for(100'000);
  CHECK(killed.said() == "still here");
}
