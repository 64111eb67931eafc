// SPDX-License-Identifier: BSD-2-Clause
// Runs code that it writes at run time: functions with a frame pointer and nothing else that
// describes them, in memory that becomes executable before or after a profiler attaches, by mmap()
// or later by mprotect(). And copies of one function with a frame of a fixed size, as CPython makes
// them for its perf support. Their names are in /tmp/perf-PID.map.
//
//   jit alloc|brk|mmap|fault [ROUNDS] [--wait]
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "examples/chains/event.h"
#include "examples/truth/report.h"

namespace chain {

using Function = void (*)();

namespace {

FILE* perf_map = nullptr;
char perf_map_path[64];

// Where code is written: not executable yet when `later` is set.
class Code {
 public:
  explicit Code(bool later) : later_(later) {
    const int protection = PROT_READ | PROT_WRITE | (later ? 0 : PROT_EXEC);
    void* const pages =
        mmap(nullptr, 2 * page_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) truth::fail("no memory for code");
    start_ = at_ = static_cast<unsigned char*>(pages);
  }

  // A function that calls another.
  Function calling(Function callee, const char* name) {
    at_ += 64;  // not at the start of a page, where nothing could be before it
    unsigned char* const function = at_;
    write({0x55});                    // push %rbp
    write({0x48, 0x89, 0xe5});        // mov %rsp, %rbp
    write({0x48, 0x83, 0xec, 0x20});  // sub $32, %rsp
    write({0x48, 0xb8});              // movabs $callee, %rax
    std::memcpy(at_, &callee, sizeof callee);
    at_ += sizeof callee;
    write({0xff, 0xd0});  // call *%rax
    write({0xc9});        // leave
    write({0xc3});        // ret
    std::fprintf(perf_map, "%lx %lx %s\n", reinterpret_cast<unsigned long>(function),
                 static_cast<unsigned long>(at_ - function), name);
    std::fflush(perf_map);
    return reinterpret_cast<Function>(function);
  }

  void finish() {
    if (later_ && mprotect(start_, 2 * page_bytes, PROT_READ | PROT_EXEC) != 0)
      truth::fail("code cannot be made executable");
  }

  void release() { munmap(start_, 2 * page_bytes); }

 private:
  void write(std::initializer_list<unsigned char> bytes) {
    for (const unsigned char byte : bytes) *at_++ = byte;
  }

  bool later_;
  unsigned char *start_, *at_;
};

// As CPython's trampolines: call their fourth argument.
using Copy = void (*)(int, int, int, Function);

Copy copies(std::initializer_list<unsigned char> code, size_t distance, const char* name) {
  constexpr size_t bytes = 64 << 10;
  void* const pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) truth::fail("no memory for code");
  auto* const start = static_cast<unsigned char*>(pages);
  for (size_t at = 0; at + distance <= bytes; at += distance)
    std::copy(code.begin(), code.end(), start + at);
  if (mprotect(pages, bytes, PROT_READ | PROT_EXEC) != 0)
    truth::fail("code cannot be made executable");
  unsigned char* const third = start + 2 * distance;
  std::fprintf(perf_map, "%lx %zx %s\n", reinterpret_cast<unsigned long>(third), code.size(), name);
  std::fflush(perf_map);
  return reinterpret_cast<Copy>(third);
}

// sub $8, %rsp; call *%rcx; add $8, %rsp; ret
Copy packed_copies() {
  return copies({0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3}, 11,
                "py::packed:a.py");
}
// The same behind endbr64.
Copy aligned_copies() {
  return copies(
      {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3}, 16,
      "py::aligned:a.py");
}

}  // namespace

OWN_FRAME void under_packed_copy() { event(); }
OWN_FRAME void under_aligned_copy() { event(); }

OWN_FRAME void calls_copy(Copy copy, Function function) {
  copy(0, 0, 0, function);
  keep();
}

OWN_FRAME void under_early_code() { event(); }
OWN_FRAME void under_late_code() { event(); }
OWN_FRAME void under_protected_code() { event(); }
OWN_FRAME void under_nested_code() { event(); }

OWN_FRAME void calls_code(Function function) {
  function();
  keep();
}

namespace {

struct Site {
  const char* leaf;
  const char* callers;
};
#define TO_MAIN ";chain::calls_code(void (*)());main;+;_start"
#define FROM_COPY \
  ";chain::calls_copy(void (*)(int, int, int, void (*)()), void (*)());main;+;_start"
constexpr Site sites[] = {
    {"chain::under_early_code()", "jitted_early" TO_MAIN},
    {"chain::under_late_code()", "jitted_late" TO_MAIN},
    {"chain::under_protected_code()", "jitted_protected" TO_MAIN},
    {"chain::under_nested_code()",
     "jitted_inner;chain::calls_code(void (*)());jitted_outer" TO_MAIN},
    {"chain::under_packed_copy()", "py::packed:a.py" FROM_COPY},
    {"chain::under_aligned_copy()", "py::aligned:a.py" FROM_COPY},
};

Function to_nest = nullptr;

}  // namespace

OWN_FRAME void calls_nested() { calls_code(to_nest); }

}  // namespace chain

int main(int argc, char** argv) {
  using namespace chain;
  if (argc < 2) truth::fail("the first argument says what happens");
  const Kind wanted = kind_named(argv[1]);
  int rounds = argc > 2 ? std::atoi(argv[2]) : 0;  // NOLINT(cert-err34-c): a word is not a number
  if (rounds <= 0) rounds = 1;

  std::snprintf(perf_map_path, sizeof perf_map_path, "/tmp/perf-%d.map", getpid());
  perf_map = std::fopen(perf_map_path, "we");
  if (perf_map == nullptr) truth::fail("no perf map");
  choose(Kind::none);
  Code early(false);
  const Function in_early = early.calling(under_early_code, "jitted_early");
  calls_code(in_early);
  const Copy packed = packed_copies(), aligned = aligned_copies();
  choose(wanted);
  truth::begin(argc, argv);

  Code late(false), made_executable(true);
  const Function in_late = late.calling(under_late_code, "jitted_late");
  const Function in_protected = made_executable.calling(under_protected_code, "jitted_protected");
  to_nest = late.calling(under_nested_code, "jitted_inner");
  const Function in_outer = made_executable.calling(calls_nested, "jitted_outer");
  made_executable.finish();
  for (int i = 0; i < rounds; ++i) {
    renew_pages();
    for (const Function function : {in_early, in_late, in_protected, in_outer})
      calls_code(function);
    calls_copy(packed, under_packed_copy);
    calls_copy(aligned, under_aligned_copy);
  }
  for (const Site& site : sites) state(site.leaf, site.callers, rounds);
  const int status = truth::end();
  std::fclose(perf_map);
  unlink(perf_map_path);
  return status;
}
