// SPDX-License-Identifier: BSD-2-Clause
// Loads libraries one after the other at the same address, and uses each: three different ones, the
// first one once more, and one that is replaced on disk while it is not loaded. States how much
// each of them has allocated and not freed.
//
//   same_place DIRECTORY [--wait]
//
// The directory is for the library that is replaced.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "examples/truth/report.h"

namespace {

constexpr int rounds = 100;

struct Tenant {
  const char* file;
  const char* function;
};
constexpr Tenant first{"libtenant_first.so", "leak_first"};
constexpr Tenant second{"libtenant_second.so", "leak_second"};
constexpr Tenant third{"libtenant_third.so", "leak_third"};

void* place = nullptr;

std::string beside_program(const char* name) {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) truth::fail("no /proc/self/exe");
  const std::string program(path, static_cast<size_t>(size));
  return program.substr(0, program.rfind('/') + 1) + name;
}

void copy(const std::string& from, const std::string& to) {
  static char buffer[1 << 20];
  const int in = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  const int out = open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  if (in < 0 || out < 0) truth::fail("a library cannot be copied");
  for (ssize_t size = 0; (size = read(in, buffer, sizeof buffer)) > 0;)
    if (write(out, buffer, static_cast<size_t>(size)) != size) truth::fail("the disk is full");
  close(in);
  close(out);
}

void use(const std::string& file, const Tenant& tenant) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) truth::fail(dlerror());
  void* const found = dlsym(library, "run_tenant");
  if (place == nullptr) place = found;
  if (found != place) truth::fail("a library lies at another address");
  for (int i = 0; i < rounds; ++i)
    truth::state("leaks", tenant.function, "live", reinterpret_cast<int (*)()>(found)());
  dlclose(library);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) truth::fail("the first argument is a directory");
  truth::begin(argc, argv);
  for (const Tenant& tenant : {first, second, third, first})
    use(beside_program(tenant.file), tenant);

  const std::string live = std::string(argv[1]) + "/live.so";
  const std::string next = std::string(argv[1]) + "/next.so";
  copy(beside_program(second.file), live);
  use(live, second);
  usleep(500'000);  // a file that is gone before it can be opened has no names
  copy(beside_program(third.file), next);
  if (rename(next.c_str(), live.c_str()) != 0) truth::fail("a library cannot be renamed");
  use(live, third);
  return truth::end();
}
