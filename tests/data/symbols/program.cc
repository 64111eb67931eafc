// SPDX-License-Identifier: BSD-2-Clause
// A program that says where it is mapped and which addresses its stacks would have, so that tests
// have the truth of the kernel and the compiler to compare with. Built in many ways by
// tests/collapse/symbolize/CMakeLists.txt. Lines that tests look up are marked "LINE name".
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef __clang__
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE __attribute__((noipa))
#endif
#define INLINE __attribute__((always_inline)) inline

namespace {

void* place;  // where leaf() was last called from

OPAQUE void leaf() {
  place = __builtin_return_address(0);
  asm volatile("" ::: "memory");
}

// Not visible outside: without a linkage name in DWARF.
INLINE void hidden() {
  leaf();  // LINE hidden
  asm volatile("" ::: "memory");
}

}  // namespace

namespace shapes {

INLINE int inner(int x) {
  hidden();  // LINE inner
  return x + 1;
}

struct Box {
  template <class T>
  OPAQUE T hold(T value) {
    const T held = inner(value) * 2;  // LINE hold
    asm volatile("" ::: "memory");
    return held;
  }
};

}  // namespace shapes

extern "C" OPAQUE int plain(int x) {
  leaf();  // LINE plain
  asm volatile("" ::: "memory");
  return x;
}

static OPAQUE int local_only(int x) {
  leaf();  // LINE local
  asm volatile("" ::: "memory");
  return x;
}

// Ends in a call that does not return: the return address is behind the end of the function.
extern "C" OPAQUE void last_call() { std::abort(); }

OPAQUE int with_lambda(int x) {
  const auto add = [](int y) __attribute__((noinline)) {
    leaf();  // LINE lambda
    asm volatile("" ::: "memory");
    return y + 1;
  };
  return add(x) + 1;
}

static void say(const char* name, const void* address) { std::printf("at %s %p\n", name, address); }

int main(int argc, char** argv) {
  if (argc > 2) last_call();
  shapes::Box box;
  int sum = box.hold(argc);
  say("hold", place);
  sum += plain(argc);
  say("plain", place);
  sum += local_only(argc);
  say("local", place);
  sum += with_lambda(argc);
  say("lambda", place);
  say("plain_entry", reinterpret_cast<void*>(&plain));
  say("last_call_entry", reinterpret_cast<void*>(&last_call));

  if (std::FILE* maps = std::fopen("/proc/self/maps", "r")) {
    char line[4096];
    while (std::fgets(line, sizeof line, maps) != nullptr)
      if (std::strstr(line, " r-xp ") != nullptr || std::strstr(line, " rwxp ") != nullptr)
        std::printf("map %s", line);
    std::fclose(maps);
  }
  return sum == 0 && argv == nullptr;
}
