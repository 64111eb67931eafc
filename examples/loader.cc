// SPDX-License-Identifier: BSD-2-Clause
// Loads and unloads libraries that have events: two different ones under the same name and, likely,
// at the same addresses, one after the other; each also while its file is deleted or replaced.
//
//   loader alloc|brk|mmap|fault [ROUNDS] [MILLISECONDS] [--wait]
//
// It waits so long before it unloads a library.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "examples/chains/event.h"
#include "examples/truth/report.h"

namespace chain {
namespace {

using Run = char* (*)(Kind, char*, char* (*)(char*));

Kind wanted = Kind::none;
int milliseconds = 0;
char directory[] = "/tmp/memflame-loader-XXXXXX";
std::string copy, temporary;  // paths

std::string beside_program(const char* name) {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) truth::fail("no /proc/self/exe");
  const std::string program(path, static_cast<size_t>(size));
  return program.substr(0, program.rfind('/') + 1) + name;
}

// Another inode under the name, as package managers do it.
void install(const std::string& library) {
  static char buffer[1 << 16];
  const int from = open(library.c_str(), O_RDONLY | O_CLOEXEC);
  const int to = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  if (from < 0 || to < 0) truth::fail("a library cannot be copied");
  for (ssize_t size = 0; (size = read(from, buffer, sizeof buffer)) > 0;)
    if (write(to, buffer, static_cast<size_t>(size)) != size) truth::fail("the disk is full");
  close(from);
  close(to);
  if (rename(temporary.c_str(), copy.c_str()) != 0) truth::fail("a library cannot be renamed");
}

}  // namespace

// The library has its own idea of what page is next.
OWN_FRAME char* called_back(char* page) {
  fresh_page = page;
  event();
  return fresh_page;
}

OWN_FRAME void* loads() {
  void* const library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) truth::fail(dlerror());
  keep(library);
  return library;
}

OWN_FRAME void runs(void* library) {
  const Run run = reinterpret_cast<Run>(dlsym(library, "run_plugin"));
  if (run == nullptr) truth::fail("a library without the function");
  fresh_page = run(wanted, fresh_page, called_back);
  keep();
}

OWN_FRAME void unloads(void* library) {
  if (milliseconds != 0) usleep(static_cast<useconds_t>(milliseconds) * 1000);
  dlclose(library);
  if (dlopen(copy.c_str(), RTLD_NOLOAD | RTLD_NOW) != nullptr) truth::fail("it stays loaded");
  keep();
}

// While the file is there, when it is deleted, and when it is another.
OWN_FRAME void one_round(const std::string& first, const std::string& second) {
  renew_pages();
  install(first);
  void* library = loads();
  runs(library);
  unlink(copy.c_str());
  runs(library);
  unloads(library);

  install(second);
  library = loads();
  install(first);
  runs(library);
  unloads(library);
  keep();
}

namespace {

struct Site {
  const char* leaf;
  const char* callers;
  int64_t events;
};
#define TO_MAIN "run_plugin;chain::runs(void*);chain::one_round*;main;+;_start"
constexpr Site sites[] = {
    {"chain::alpha_inner()", "chain::alpha_outer();" TO_MAIN, 2},
    {"chain::beta_inner()", "chain::beta_outer();" TO_MAIN, 1},
    {"chain::called_back(char*)",
     "chain::alpha_calls_back(char* (*)(char*))|chain::beta_calls_back(char* (*)(char*));" TO_MAIN,
     3},
    // The dynamic linker's.
    {"chain::loads()", "chain::one_round*;main;+;_start", 0},
    {"chain::unloads(void*)", "chain::one_round*;main;+;_start", 0},
};

}  // namespace
}  // namespace chain

int main(int argc, char** argv) {
  using namespace chain;
  if (argc < 2) truth::fail("the first argument says what happens");
  const Kind asked = kind_named(argv[1]);
  int rounds = argc > 2 ? std::atoi(argv[2]) : 0;  // NOLINT(cert-err34-c): a word is not a number
  if (rounds <= 0) rounds = 1;
  if (argc > 3) milliseconds = std::atoi(argv[3]);  // NOLINT(cert-err34-c)

  if (mkdtemp(directory) == nullptr) truth::fail("no temporary directory");
  copy = std::string(directory) + "/plugin.so";
  temporary = std::string(directory) + "/new";
  const std::string alpha = beside_program("libplugin_alpha.so");
  const std::string beta = beside_program("libplugin_beta.so");

  choose(Kind::none);
  const int unhurried = milliseconds;
  milliseconds = 0;
  one_round(alpha, beta);
  milliseconds = unhurried;
  choose(wanted = asked);
  truth::begin(argc, argv);
  for (int i = 0; i < rounds; ++i) one_round(alpha, beta);
  for (const Site& site : sites) state(site.leaf, site.callers, site.events * rounds);
  unlink(copy.c_str());
  rmdir(directory);
  return truth::end();
}
