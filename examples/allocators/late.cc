// SPDX-License-Identifier: BSD-2-Clause
// Loads libraries while it is watched: one that allocates with the program's malloc(), by the main
// thread and by another, and one that brings an allocator of its own.
//
//   alloc_late [MILLISECONDS] [--wait]
//
// It waits so long after loading the allocator before it is called.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "examples/truth/report.h"

namespace {

void* volatile sink = nullptr;  // makes every block escape
void* plugin = nullptr;

void* load(const char* name) {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) truth::fail("no /proc/self/exe");
  const std::string program(path, static_cast<size_t>(size));
  const std::string library = program.substr(0, program.rfind('/') + 1) + name;
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) truth::fail(dlerror());
  return loaded;
}

template <class Function>
Function* named(void* library, const char* name) {
  auto* const function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) truth::fail(name);
  return function;
}

void state(const char* name, int64_t live, int64_t live_count, int64_t total, int64_t total_count) {
  truth::state("functions", name, "live", live);
  truth::state("functions", name, "live_count", live_count);
  truth::state("functions", name, "total", total);
  truth::state("functions", name, "total_count", total_count);
}

}  // namespace

extern "C" {

[[gnu::noinline]] void on_main_thread() {
  named<void(size_t)>(plugin, "plugin_allocates")(4242);
  named<void(size_t)>(plugin, "plugin_frees")(1000);
}
[[gnu::noinline]] void on_other_thread() { named<void(size_t)>(plugin, "plugin_allocates")(4243); }
[[gnu::noinline]] void with_late_allocator(void* library) {
  auto* const allocate = named<void*(size_t)>(library, "je_malloc");
  auto* const release = named<void(void*)>(library, "je_free");
  for (int i = 0; i < 100; ++i) sink = allocate(600);
  for (int i = 0; i < 100; ++i) {
    sink = allocate(900);
    release(sink);
  }
}

}  // extern "C"

namespace {
void* other_thread(void*) {
  on_other_thread();
  return nullptr;
}
}  // namespace

int main(int argc, char** argv) {
  const int milliseconds = argc > 1 ? std::atoi(argv[1]) : 0;  // NOLINT(cert-err34-c)
  truth::begin(argc, argv);
  plugin = load("liblate_plugin.so");
  on_main_thread();
  state("on_main_thread", 424200, 100, 524200, 200);
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, other_thread, nullptr) != 0) truth::fail("no thread");
  pthread_join(thread, nullptr);
  state("on_other_thread", 424300, 100, 424300, 100);
  state("plugin_allocates", 848500, 200, 848500, 200);
  void* const allocator = load("libbump_je.so");
  usleep(static_cast<useconds_t>(milliseconds) * 1000);
  with_late_allocator(allocator);
  state("with_late_allocator", 60000, 100, 150000, 200);
  return truth::end();
}
