// SPDX-License-Identifier: BSD-2-Clause
// The test itself as the target: addresses known from the C library and the compiler are compared
// with the names that are found for them.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <fstream>

#include "collapse/symbolize/symbolize.h"
#include "tests/collapse/symbolize/symbolize_fixture.h"

using namespace memflame;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::fixture;  // NOLINT(google-build-using-namespace)

namespace {

Recording self() { return record(parse_maps(read_file("/proc/self/maps"))); }

uint64_t address_in(const char* library, const char* symbol) {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return 0;
  void* address = ::dlsym(handle, symbol);
  ::dlclose(handle);
  return reinterpret_cast<uint64_t>(address);
}

void* return_address;

[[gnu::noinline]] void mark() {
  return_address = __builtin_return_address(0);
  asm volatile("" ::: "memory");
}

[[gnu::always_inline]] inline void inlined_here() {
  mark();  // LINE inlined_here
  asm volatile("" ::: "memory");
}

}  // namespace

[[gnu::noinline]] void caller_of_inlined() {
  inlined_here();  // LINE caller
  asm volatile("" ::: "memory");
}

TEST_CASE("our own functions, with what is inlined into them") {
  caller_of_inlined();
  Recording recording = self();
  const std::vector<Symbol> symbols =
      name(recording, {reinterpret_cast<uint64_t>(return_address), true});
  REQUIRE(symbols.size() == 2);
  CHECK(symbols[0].function == "caller_of_inlined()");
  CHECK(symbols[0].line == line_of(__FILE__, "caller"));
  CHECK(symbols[1].function.starts_with("(anonymous namespace)::inlined_here"));
  CHECK(symbols[1].kind == FrameKind::inlined);
  CHECK(symbols[1].line == line_of(__FILE__, "inlined_here"));
  CHECK(symbols[0].file.ends_with("symbolize_self_test.cc"));
}

TEST_CASE("functions of the C library have their plain names") {
  const char* functions[] = {"malloc", "free",  "calloc", "realloc", "qsort",
                             "fopen",  "fputs", "mmap",   "strtol",  "posix_memalign"};
  for (const char* function : functions) {
    CAPTURE(function);
    const uint64_t address = address_in("libc.so.6", function);
    REQUIRE(address != 0);
    Recording recording = self();
    const std::vector<Symbol> symbols = name(recording, {address, false});
    REQUIRE_FALSE(symbols.empty());
    const std::string& found = symbols.front().function;
    // If an address has several names, each public one is right (mmap64); an internal one is not.
    CHECK(address_in("libc.so.6", found.c_str()) == address);
    CHECK_FALSE(found.starts_with("_"));
    CHECK(symbols.front().module.find("libc") != std::string::npos);
    CHECK(symbols.front().kind == FrameKind::user);
  }
}

TEST_CASE("the vdso") {
  uint64_t address = address_in("linux-vdso.so.1", "__vdso_clock_gettime");
  if (address == 0) {
    MESSAGE("no vdso in this process: nothing to compare with");
    return;
  }
  Recording recording = self();
  const Symbol symbol = name(recording, {address, false}).front();
  CHECK(symbol.function == "clock_gettime");
  CHECK(symbol.module == "[vdso]");
  CHECK(symbol.kind == FrameKind::user);
  CHECK(recording.meta.notes.empty());
}

TEST_CASE("the running kernel") {
  // One function of the kernel and one of its neighbours, as they are listed.
  std::ifstream kallsyms("/proc/kallsyms");
  uint64_t address = 0;
  for (std::string line; std::getline(kallsyms, line);)
    if (line.ends_with(" T ksys_mmap_pgoff") || line.ends_with(" T vm_mmap"))
      address = std::stoull(line, nullptr, 16);
  Recording recording = self();
  add_stack(recording, {{address + 1, true}}, 1);
  symbolize(recording, {});
  const Symbol& symbol = recording.locations[recording.frames[1][0].index].symbols.front();
  CHECK(symbol.kind == FrameKind::kernel);
  if (address == 0) {
    MESSAGE("kernel addresses are hidden here");
    CHECK(symbol.function.starts_with("[kernel 0x"));
    CHECK(recording.losses[Loss::unknown_symbol].events == 1);
  } else {
    const bool known = symbol.function == "ksys_mmap_pgoff" || symbol.function == "vm_mmap";
    CHECK(known);
    CHECK(symbol.module == "kernel");
  }
}

TEST_CASE("every place is named once for thousands of stacks") {
  Recording recording = self();
  const uint64_t malloc_address = address_in("libc.so.6", "malloc");
  for (uint64_t i = 0; i < 20000; ++i)
    add_stack(recording, {{malloc_address, false},
                          {malloc_address + 1 + i % 7, true},
                          {reinterpret_cast<uint64_t>(&caller_of_inlined), false}});
  symbolize(recording, {});
  CHECK(recording.locations.size() == 1 + 1 + 7 + 1);
  CHECK(recording.frames.size() == recording.stacks.size());
}
