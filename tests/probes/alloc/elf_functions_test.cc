// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/elf_functions.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/unique_fd.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("the offset found for a function is where its code lies in the file") {
  Dl_info info{};
  // Not an allocation function: another test may have a probe in one, which changes its code in
  // memory.
  void* function = ::dlsym(RTLD_NEXT, "getdomainname");
  REQUIRE(::dladdr(function, &info) != 0);
  const UniqueFd file(::open(info.dli_fname, O_RDONLY | O_CLOEXEC));
  REQUIRE(file);
  const auto found = find_functions(file.get(), {"getdomainname", "no such function"});
  REQUIRE(found.size() == 1);
  unsigned char code[16];
  REQUIRE(::pread(file.get(), code, sizeof(code), static_cast<off_t>(found[0].offset)) == 16);
  CHECK(std::memcmp(code, function, sizeof(code)) == 0);
}

TEST_CASE("a file that only calls a function does not define it") {
  const UniqueFd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  CHECK(elf_class(self.get()) == ElfClass::x86_64);
  REQUIRE(::sched_yield() == 0);
  CHECK(find_functions(self.get(), {"sched_yield"}).empty());
  CHECK(find_functions(self.get(), {"main"}).size() == 1);
}

TEST_CASE("what is not an ELF file has no functions") {
  const UniqueFd maps(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  CHECK(elf_class(maps.get()) == ElfClass::none);
  CHECK(find_functions(maps.get(), {"malloc"}).empty());
  CHECK(find_functions(-1, {"malloc"}).empty());
}
