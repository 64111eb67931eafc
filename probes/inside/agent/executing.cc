// SPDX-License-Identifier: BSD-2-Clause
// Hooks of what executes programs: memflame is told of each, so that it misses none in which no
// agent speaks (protocol.h, Execution). They may be called between vfork() and the program, and in
// a process with a filter: so they only write to memory, and call on.
#include <stdarg.h>  // NOLINT(modernize-deprecated-headers): the agent has no C++ library

#include "answers.h"
#include "hooked.h"
#include "join.h"

#define MEMFLAME_HIDDEN __attribute__((visibility("hidden")))
// A preloaded agent is found by the first name; hooked.cc takes the second.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define MEMFLAME_EXECUTES(name) __attribute__((visibility("default"), alias("memflame_" #name)))

extern "C" {
MEMFLAME_HIDDEN uint64_t memflame_real_execve, memflame_real_execv, memflame_real_execvp,
    memflame_real_execvpe, memflame_real_execl, memflame_real_execle, memflame_real_execlp,
    memflame_real_fexecve, memflame_real_execveat, memflame_real_posix_spawn,
    memflame_real_posix_spawnp, memflame_real_system, memflame_real_popen;
}

namespace memflame::inside {
namespace {

using Words = char* const*;

// Without a path, nothing is executed.
void tell(const char* path, ExecutionState state) {
  if (path == nullptr || inherited.exchange == nullptr) return;
  auto& control = *reinterpret_cast<Control*>(inherited.exchange);
  auto* const executions = reinterpret_cast<Execution*>(inherited.exchange + executions_at);
  Execution& told = executions[add(control.executions, 1U) % most_executions];
  uint32_t letters = 0;
  for (; path[letters] != 0 && letters + 1 < sizeof(told.path); ++letters)
    store(told.path[letters], path[letters]);
  store(told.path[letters], 0);
  store_release(told.state, static_cast<uint32_t>(state));
}

// Calls a real function that executes this program, if there is one. `missing`: what a call without
// it returns.
template <class Result, class... Words>
Result execute(const char* path, Result missing, bool (*has_failed)(Result),
               const uint64_t& real_function, Words... words) {
  if (real_function == 0) find_loaders();
  if (real_function == 0 || is_nothing(real_function)) return missing;
  tell(path, execution_begins);
  const Result result = reinterpret_cast<Result (*)(Words...)>(real_function)(words...);
  if (has_failed(result)) tell(path, execution_failed);
  return result;
}

// execve() and its like, which do not return if they succeed; system().
template <class... Words>
int exec(const char* path, const uint64_t& real_function, Words... words) {
  return execute<int>(
      path, -1, [](int result) { return result == -1; }, real_function, words...);
}

// posix_spawn() and its like, which return an error.
template <class... Words>
int spawn(const char* path, const uint64_t& real_function, Words... words) {
  constexpr int not_there = 38;  // ENOSYS
  return execute<int>(
      path, not_there, [](int error) { return error != 0; }, real_function, words...);
}

// How many words there are until the null pointer that ends them.
size_t count_words(va_list& rest, const char* first) {
  size_t count = 0;
  for (const char* word = first; word != nullptr; word = va_arg(rest, const char*)) ++count;
  return count;
}

void copy_words(va_list& rest, const char* first, const char** words, size_t count) {
  const char* word = first;
  for (size_t i = 0; i < count; ++i, word = va_arg(rest, const char*)) words[i] = word;
  words[count] = nullptr;
}

}  // namespace
}  // namespace memflame::inside

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): C functions

// The words of a call with an open number of them, as an array, on the stack of its caller.
// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define MEMFLAME_TAKE_WORDS(words, rest, first)                                                  \
  va_list rest, again;                                                                           \
  va_start(rest, first);                                                                         \
  va_copy(again, rest);                                                                          \
  const size_t count = count_words(again, first);                                                \
  va_end(again);                                                                                 \
  auto** const words = static_cast<const char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
  copy_words(rest, first, words, count)
// NOLINTEND(cppcoreguidelines-macro-usage)

extern "C" {

MEMFLAME_HIDDEN int memflame_execve(const char* path, Words words, Words environment) {
  return exec(path, memflame_real_execve, path, words, environment);
}
MEMFLAME_HIDDEN int memflame_execv(const char* path, Words words) {
  return exec(path, memflame_real_execv, path, words);
}
MEMFLAME_HIDDEN int memflame_execvp(const char* file, Words words) {
  return exec(file, memflame_real_execvp, file, words);
}
MEMFLAME_HIDDEN int memflame_execvpe(const char* file, Words words, Words environment) {
  return exec(file, memflame_real_execvpe, file, words, environment);
}
MEMFLAME_HIDDEN int memflame_execl(const char* path, const char* first, ...) {
  MEMFLAME_TAKE_WORDS(words, rest, first);
  va_end(rest);
  return memflame_execv(path, const_cast<Words>(words));
}
MEMFLAME_HIDDEN int memflame_execle(const char* path, const char* first, ...) {
  MEMFLAME_TAKE_WORDS(words, rest, first);
  const Words environment = va_arg(rest, Words);
  va_end(rest);
  return memflame_execve(path, const_cast<Words>(words), environment);
}
MEMFLAME_HIDDEN int memflame_execlp(const char* file, const char* first, ...) {
  MEMFLAME_TAKE_WORDS(words, rest, first);
  va_end(rest);
  return memflame_execvp(file, const_cast<Words>(words));
}
MEMFLAME_HIDDEN int memflame_fexecve(int file, Words words, Words environment) {
  return exec("", memflame_real_fexecve, file, words, environment);
}
MEMFLAME_HIDDEN int memflame_execveat(int folder, const char* path, Words words, Words environment,
                                      int flags) {
  return exec(path, memflame_real_execveat, folder, path, words, environment, flags);
}
MEMFLAME_HIDDEN int memflame_posix_spawn(int* pid, const char* path, const void* actions,
                                         const void* attributes, Words words, Words environment) {
  return spawn(path, memflame_real_posix_spawn, pid, path, actions, attributes, words, environment);
}
MEMFLAME_HIDDEN int memflame_posix_spawnp(int* pid, const char* file, const void* actions,
                                          const void* attributes, Words words, Words environment) {
  return spawn(file, memflame_real_posix_spawnp, pid, file, actions, attributes, words,
               environment);
}
MEMFLAME_HIDDEN int memflame_system(const char* line) {
  // Without a line it is asked whether there is a shell.
  return exec(line != nullptr ? "/bin/sh" : nullptr, memflame_real_system, line);
}
MEMFLAME_HIDDEN void* memflame_popen(const char* line, const char* mode) {
  return execute<void*>(
      "/bin/sh", nullptr, [](void* file) { return file == nullptr; }, memflame_real_popen, line,
      mode);
}

MEMFLAME_EXECUTES(execve) int execve(const char*, Words, Words);
MEMFLAME_EXECUTES(execv) int execv(const char*, Words);
MEMFLAME_EXECUTES(execvp) int execvp(const char*, Words);
MEMFLAME_EXECUTES(execvpe) int execvpe(const char*, Words, Words);
MEMFLAME_EXECUTES(execl) int execl(const char*, const char*, ...);
MEMFLAME_EXECUTES(execle) int execle(const char*, const char*, ...);
MEMFLAME_EXECUTES(execlp) int execlp(const char*, const char*, ...);
MEMFLAME_EXECUTES(fexecve) int fexecve(int, Words, Words);
MEMFLAME_EXECUTES(execveat) int execveat(int, const char*, Words, Words, int);
MEMFLAME_EXECUTES(posix_spawn)
int posix_spawn(int*, const char*, const void*, const void*, Words, Words);
MEMFLAME_EXECUTES(posix_spawnp)
int posix_spawnp(int*, const char*, const void*, const void*, Words, Words);
MEMFLAME_EXECUTES(system) int system(const char*);
MEMFLAME_EXECUTES(popen) void* popen(const char*, const char*);
}
