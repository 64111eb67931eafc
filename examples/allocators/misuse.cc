// SPDX-License-Identifier: BSD-2-Clause
// Frees wrongly, in functions that say how. Linked with an allocator that forgives it (bump.cc).
// Sections are memflame's names for each misuse; "correct" must not be reported.
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <new>

#include "examples/truth/report.h"

namespace {

constexpr std::align_val_t at{64};
void* volatile sink = nullptr;  // makes every block escape, and keeps compilers from knowing it
char not_allocated[256];
void* older[10];  // from before "ready"

void* keep(void* block) {
  if (block == nullptr) truth::fail("an allocation failed");
  sink = block;
  return sink;
}
void* hide(void* block) {
  sink = block;
  return sink;
}

// Runs `work` in a child, and waits for its end. The child begins once `before` has run here.
template <class Work, class Before>
void in_child(Work work, Before before) {
  int ends[2];
  if (pipe(ends) != 0) truth::fail("pipe");
  const pid_t child = fork();
  if (child < 0) truth::fail("fork");
  if (child == 0) {
    char word = 0;
    if (read(ends[0], &word, 1) == 1) work();
    _exit(0);
  }
  before();
  int status = 0;
  if (write(ends[1], "w", 1) != 1 || waitpid(child, &status, 0) != child || status != 0)
    truth::fail("the child");
  close(ends[0]);
  close(ends[1]);
}

}  // namespace

extern "C" {

[[gnu::noinline]] void frees_twice() {
  for (int i = 0; i < 5; ++i) {
    void* const block = keep(malloc(100));
    free(hide(block));
    free(hide(block));
  }
}
[[gnu::noinline]] void frees_four_times() {
  void* const block = keep(malloc(100));
  for (int i = 0; i < 4; ++i) free(hide(block));
}
[[gnu::noinline]] void deletes_twice() {
  for (int i = 0; i < 3; ++i) {
    void* const block = keep(::operator new(100));
    ::operator delete(hide(block));
    ::operator delete(hide(block));
  }
}
// A block that another function freed long ago.
void* freed_long_ago = nullptr;
[[gnu::noinline]] void frees_first() { free(freed_long_ago = keep(malloc(64))); }
[[gnu::noinline]] void frees_later() { free(hide(freed_long_ago)); }

[[gnu::noinline]] void frees_static() {
  for (size_t i = 0; i < 6; ++i) free(hide(not_allocated + 16 * i));
}
[[gnu::noinline]] void frees_stack() {
  alignas(16) char block[64];
  free(hide(block));
}
[[gnu::noinline]] void frees_the_middle() {
  char* const block = static_cast<char*>(keep(malloc(256)));
  for (size_t i = 1; i <= 3; ++i) free(hide(block + 32 * i));
  free(hide(block));
}

[[gnu::noinline]] void mallocs_and_deletes() {
  for (int i = 0; i < 4; ++i) ::operator delete(keep(malloc(100)));
}
[[gnu::noinline]] void mallocs_and_deletes_array() {
  for (int i = 0; i < 4; ++i) ::operator delete[](keep(malloc(100)));
}
[[gnu::noinline]] void news_and_frees() {
  for (int i = 0; i < 4; ++i) free(keep(::operator new(100)));
}
[[gnu::noinline]] void news_array_and_frees() {
  for (int i = 0; i < 4; ++i) free(keep(::operator new[](100)));
}
[[gnu::noinline]] void news_and_deletes_array() {
  for (int i = 0; i < 4; ++i) ::operator delete[](keep(::operator new(100)));
}
[[gnu::noinline]] void news_array_and_deletes() {
  for (int i = 0; i < 4; ++i) ::operator delete(keep(::operator new[](100)));
}

// All of this is correct.
[[gnu::noinline]] void does_it_right() {
  for (int i = 0; i < 20; ++i) {
    free(keep(malloc(100)));
    free(keep(calloc(10, 10)));
    free(keep(realloc(keep(malloc(10)), 100)));
    free(keep(aligned_alloc(64, 128)));
    free(nullptr);
    ::operator delete(keep(::operator new(100)));
    ::operator delete (keep(::operator new(100)), size_t{100});
    ::operator delete[](keep(::operator new[](100)));
    ::operator delete[](keep(::operator new[](100)), size_t{100});
    ::operator delete(keep(::operator new(100, at)), at);
    ::operator delete[](keep(::operator new[](100, at)), at);
    ::operator delete(keep(::operator new(100, std::nothrow)), std::nothrow);
    ::operator delete[](keep(::operator new[](100, std::nothrow)), std::nothrow);
    ::operator delete(nullptr);
  }
}
[[gnu::noinline]] void frees_older() {
  for (void*& block : older) free(block);
}

[[gnu::noinline]] void frees_before_fork() {
  void* const block = keep(malloc(100));
  free(block);
  in_child([&] { free(hide(block)); }, [] {});
}
[[gnu::noinline]] void frees_twice_in_child() {
  void* const block = keep(malloc(100));
  in_child(
      [&] {
        free(block);
        free(hide(block));
      },
      [] {});
  free(block);
}
// A child may free what it inherited from its parent, whatever the parent does.
[[gnu::noinline]] void frees_in_child() {
  void* blocks[10];
  for (void*& block : blocks) block = keep(malloc(100));
  in_child(
      [&] {
        for (void* block : blocks) free(block);
      },
      [&] {
        for (size_t i = 0; i < 5; ++i) free(blocks[i]);
      });
  for (size_t i = 5; i < 10; ++i) free(blocks[i]);
}

}  // extern "C"

int main(int argc, char** argv) {
  for (void*& block : older) block = keep(malloc(48));
  truth::begin(argc, argv);
  struct Misuse {
    const char* kind;
    const char* name;
    void (*run)();
    int64_t events;
  };
  constexpr const char* twice = "double free";
  constexpr const char* never = "free of an address never allocated";
  constexpr const char* mismatched = "mismatched free";
  for (const Misuse& misuse : {
           Misuse{twice, "frees_twice", frees_twice, 5},
           Misuse{twice, "frees_four_times", frees_four_times, 3},
           Misuse{twice, "deletes_twice", deletes_twice, 3},
           Misuse{"correct", "frees_first", frees_first, 0},
           Misuse{twice, "frees_later", frees_later, 1},
           Misuse{never, "frees_static", frees_static, 6},
           Misuse{never, "frees_stack", frees_stack, 1},
           Misuse{never, "frees_the_middle", frees_the_middle, 3},
           Misuse{mismatched, "mallocs_and_deletes", mallocs_and_deletes, 4},
           Misuse{mismatched, "mallocs_and_deletes_array", mallocs_and_deletes_array, 4},
           Misuse{mismatched, "news_and_frees", news_and_frees, 4},
           Misuse{mismatched, "news_array_and_frees", news_array_and_frees, 4},
           Misuse{mismatched, "news_and_deletes_array", news_and_deletes_array, 4},
           Misuse{mismatched, "news_array_and_deletes", news_array_and_deletes, 4},
           Misuse{"correct", "does_it_right", does_it_right, 0},
           Misuse{"correct", "frees_older", frees_older, 0},
           Misuse{twice, "frees_before_fork", frees_before_fork, 1},
           Misuse{twice, "frees_twice_in_child", frees_twice_in_child, 1},
           Misuse{"correct", "frees_in_child", frees_in_child, 0},
       }) {
    misuse.run();
    truth::state(misuse.kind, misuse.name, "events", misuse.events);
  }
  return truth::end();
}
