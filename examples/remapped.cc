// SPDX-License-Identifier: BSD-2-Clause
// Replaces code by other code at the same address without unmapping it: by mmap() with MAP_FIXED
// and by mremap(). Each code has another frame layout, so a stack is complete only if the profiler
// knows which code is there now.
//
//   remapped alloc|brk|mmap|fault [ROUNDS] [--wait]
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "examples/chains/event.h"
#include "examples/truth/report.h"

namespace chain {
namespace {

constexpr int64_t calls = 4;  // of each code in a round
constexpr size_t room = 1 << 20;
char* place = nullptr;  // where all code is mapped, one after the other
char* aside = nullptr;  // where some comes from

using Through = void (*)(void (*)());

// A function of a library, and the offset of its code in the file.
struct Code {
  int fd = -1;
  off_t offset = 0;
  size_t size = 0, function = 0;  // bytes, and where in them it begins

  void map_at(char* where) const {
    if (mmap(where, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, offset) != where)
      truth::fail("the code cannot be mapped");
  }
  Through at(char* where) const { return reinterpret_cast<Through>(where + function); }
};

Code code_of(const char* name) {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) truth::fail("no /proc/self/exe");
  const std::string program(path, static_cast<size_t>(length));
  const std::string file = program.substr(0, program.rfind('/') + 1) + "libthrough_" + name + ".so";
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) truth::fail(dlerror());
  const auto symbol = reinterpret_cast<uintptr_t>(dlsym(library, name));
  FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (symbol == 0 || maps == nullptr) truth::fail("no code to map");
  Code code;
  char line[PATH_MAX + 128];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    uintptr_t start = 0, end = 0;
    unsigned long offset = 0;  // NOLINT(google-runtime-int): what scanf takes
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %lx", &start, &end, &offset) != 3)
      continue;
    if (symbol < start || symbol >= end) continue;
    code.offset = static_cast<off_t>(offset);
    code.size = end - start;
    code.function = symbol - start;
  }
  std::fclose(maps);
  code.fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (code.size == 0 || code.size > room || code.fd < 0) truth::fail("no code to map");
  dlclose(library);
  return code;
}

char* reserve() {
  void* const at = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) truth::fail("no addresses");
  return static_cast<char*>(at);
}

}  // namespace

OWN_FRAME void from_thin() { event(); }
OWN_FRAME void from_wide() { event(); }

OWN_FRAME void one_round(const Code& thin, const Code& wide) {
  renew_pages();
  thin.map_at(place);
  for (int64_t i = 0; i < calls; ++i) thin.at(place)(from_thin);
  wide.map_at(place);
  for (int64_t i = 0; i < calls; ++i) wide.at(place)(from_wide);
  thin.map_at(aside);
  if (mremap(aside, thin.size, thin.size, MREMAP_MAYMOVE | MREMAP_FIXED, place) != place)
    truth::fail("the code cannot be moved");
  for (int64_t i = 0; i < calls; ++i) thin.at(place)(from_thin);
  keep();
}

}  // namespace chain

int main(int argc, char** argv) {
  using namespace chain;
  if (argc < 2) truth::fail("the first argument says what happens");
  const Kind asked = kind_named(argv[1]);
  int rounds = argc > 2 ? std::atoi(argv[2]) : 0;  // NOLINT(cert-err34-c): a word is not a number
  if (rounds <= 0) rounds = 1;
  const Code thin = code_of("thin");
  const Code wide = code_of("wide");
  place = reserve();
  aside = reserve();
  choose(Kind::none);
  one_round(thin, wide);
  choose(asked);
  truth::begin(argc, argv);
  for (int i = 0; i < rounds; ++i) one_round(thin, wide);
  state("chain::from_thin()", "thin;chain::one_round*;main;+;_start", 2 * calls * rounds);
  state("chain::from_wide()", "wide;chain::one_round*;main;+;_start", calls * rounds);
  return truth::end();
}
