// SPDX-License-Identifier: BSD-2-Clause
// asked [apart]: says that it is ready, waits for a line, and then asks dlsym() for malloc() in
// each way that there is. What a way gives allocates 100 blocks of 1000 bytes, and as many that the
// free() of the same way frees. With `apart` it loads its plugin into a namespace of its own
// instead, which keeps as much with a malloc() of its own.
#include "asked.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

void (*registered)() = nullptr;

namespace {

void* from_default(const char* name) { return dlsym(RTLD_DEFAULT, name); }
void* from_next(const char* name) { return dlsym(RTLD_NEXT, name); }
void* from_handle(const char* name) {
  static void* const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return library != nullptr ? dlsym(library, name) : nullptr;
}
void* from_version(const char* name) { return dlvsym(RTLD_DEFAULT, name, "GLIBC_2.2.5"); }

// Functions of their own, for the stacks.
extern "C" __attribute__((noinline)) void by_default() { keep_blocks(from_default); }
extern "C" __attribute__((noinline)) void by_next() { keep_blocks(from_next); }
extern "C" __attribute__((noinline)) void by_handle() { keep_blocks(from_handle); }
extern "C" __attribute__((noinline)) void by_version() { keep_blocks(from_version); }
extern "C" __attribute__((noinline)) void by_plugin_next(void* plugin) {
  reinterpret_cast<void (*)()>(dlsym(plugin, "keep_asked"))();
}
extern "C" __attribute__((noinline)) void by_plugin(void* plugin) {
  reinterpret_cast<void (*)()>(dlsym(plugin, "keep_called"))();
}
// Nobody asks for it by name after the plugin has come.
extern "C" __attribute__((noinline)) void by_registered() { registered(); }

}  // namespace

int main(int argc, char** argv) {
  const std::string own = argv[0];
  const std::string file = own.substr(0, own.rfind('/') + 1) + "asked_plugin.so";
  from_handle("malloc");  // dlopen() allocates when it is asked first
  std::puts("ready");
  std::fflush(stdout);
  std::getchar();
  if (argc > 1) {
    void* const apart = dlmopen(LM_ID_NEWLM, file.c_str(), RTLD_NOW);
    if (apart == nullptr) return 2;
    by_plugin(apart);
    by_default();
  } else {
    void* const plugin = dlopen(file.c_str(), RTLD_NOW);
    if (plugin == nullptr) return 2;
    by_registered();
    by_default();
    by_next();
    by_handle();
    by_version();
    by_plugin_next(plugin);
    by_plugin(plugin);
  }
  const auto asked_before = reinterpret_cast<void* (*)(size_t)>(from_default("malloc"));
  std::puts("done");
  std::fflush(stdout);
  std::getchar();
  std::getchar();
  std::free(asked_before(asked_bytes));  // which stays callable when memflame has gone
  return 0;
}
