// SPDX-License-Identifier: BSD-2-Clause
// Hooks of what executes programs: memflame is told of each, so that it misses none in which no
// agent speaks (protocol.h, Execution). They may be called between vfork() and the program, so they
// keep nothing of the thread; and in a process with a filter, where they only write to memory.
#include <stdarg.h>  // NOLINT(modernize-deprecated-headers): the agent has no C++ library

#include "answers.h"
#include "filter.h"
#include "hooked.h"
#include "join.h"
#include "sys.h"

#define MEMFLAME_HIDDEN __attribute__((visibility("hidden")))
// A preloaded agent is found by the first name; hooked.cc takes the second.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define MEMFLAME_EXECUTES(name) __attribute__((visibility("default"), alias("memflame_" #name)))

extern "C" {
extern char** environ __attribute__((weak));
MEMFLAME_HIDDEN uint64_t memflame_real_execve, memflame_real_execv, memflame_real_execvp,
    memflame_real_execvpe, memflame_real_execl, memflame_real_execle, memflame_real_execlp,
    memflame_real_fexecve, memflame_real_execveat, memflame_real_posix_spawn,
    memflame_real_posix_spawnp, memflame_real_system, memflame_real_popen;
}

namespace memflame::inside {
namespace {

using Words = char* const*;

constexpr uint32_t nap_us = 50;
constexpr uint64_t most_held_ms = 10'000;

// Who becomes the program: this process, or one that the kernel makes meanwhile.
enum class By : uint8_t { itself, another };

struct Executed {
  const char* path;  // null: nothing is executed
  By by;
  Words environment = &environ != nullptr ? environ : nullptr;
};

bool begins_with(const char* text, const char* beginning) {
  while (*beginning != 0 && *text == *beginning) ++text, ++beginning;
  return *beginning == 0;
}

// Whether an environment has what brings an agent into a program.
bool brings_agent(Words environment) {
  bool has_library = false, has_run = false;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    has_run |= begins_with(*environment, socket_variable);
    if (!begins_with(*environment, "LD_PRELOAD=")) continue;
    for (const char* at = *environment; *at != 0; ++at) has_library |= begins_with(at, "/inside-");
  }
  return has_library && has_run;
}

Control& control_of_run() { return *reinterpret_cast<Control*>(inherited.exchange); }

// 0 if memflame does not ask for it, or the process has a filter.
uint32_t holder() {
  const Control& control = control_of_run();
  if (load(control.holds) == 0 || load(control.reading) == 0 || is_filtered() || is_timeless())
    return 0;
  return static_cast<uint32_t>(syscall6(__NR_getpid));
}

// A path that cannot be read is an error of the call, not a crash.
bool can_be_read(const char* path) {
  constexpr long bad_address = -14;
  return is_filtered() || syscall6(__NR_access, as_word(path), 0) != bad_address;
}

// Returns where it is told; null if it is not.
Execution* tell(const Executed& executed, ExecutionState state) {
  const char* const path = executed.path;
  if (path == nullptr || inherited.exchange == nullptr || !can_be_read(path)) return nullptr;
  Control& control = control_of_run();
  auto* const executions = reinterpret_cast<Execution*>(inherited.exchange + executions_at);
  Execution& told = executions[add(control.executions, 1U) % most_executions];
  uint32_t letters = 0;
  for (; path[letters] != 0 && letters + 1 < sizeof(told.path); ++letters)
    store(told.path[letters], path[letters]);
  store(told.path[letters], 0);
  store(told.holder, holder());
  store(told.is_spawned, uint32_t{executed.by == By::another});
  store(told.bars_agent, 0U);
  store(told.has_no_agent, uint32_t{!brings_agent(executed.environment)});
  store_release(told.state, static_cast<uint32_t>(state));
  return &told;
}

// Until memflame has seen what is executed; or it is gone, or takes too long. Whether the program
// must not get the agent.
bool wait_if_held(Execution& told) {
  const bool is_held = load(told.holder) != 0;
  Control& control = control_of_run();
  uint32_t own = load(told.holder);
  const uint64_t began = ticks();
  while (own != 0 && load_acquire(told.holder) == own) {
    const bool too_long = ticks() - began > timing.ticks_per_ms * most_held_ms;
    if (too_long || load(control.closed) != 0 || has_memflame_gone(control)) {
      __atomic_compare_exchange_n(&told.holder, &own, 0U, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED);
      return false;
    }
    ring(control, rests_until_arrival);
    rest_a_little(nap_us, timing.ticks_per_ms);
  }
  return is_held && load(told.bars_agent) != 0;
}

size_t letters_of(const char* text) {
  size_t count = 0;
  while (text[count] != 0) ++count;
  return count;
}

// The libraries in `list` that are not the agent; false if there are none.
bool copy_others(const char* list, char* to) {
  char* const begin = to;
  for (const char* item = list; *item != 0;) {
    const char* end = item;
    bool is_agent = false;
    for (; *end != 0 && *end != ':' && *end != ' '; ++end) is_agent |= begins_with(end, "/inside-");
    if (!is_agent && end != item) {
      if (to != begin) *to++ = ':';
      while (item != end) *to++ = *item++;
    }
    item = *end != 0 ? end + 1 : end;
  }
  *to = 0;
  return to != begin;
}

// An environment without the agent. `preload` has room for its LD_PRELOAD, `words` for all others.
void leave_agent_out(Words environment, const char** words, char* preload) {
  constexpr const char* name = "LD_PRELOAD=";
  for (; *environment != nullptr; ++environment) {
    if (!begins_with(*environment, name)) {
      *words++ = *environment;
      continue;
    }
    const size_t letters = letters_of(name);
    __builtin_memcpy(preload, name, letters);
    if (copy_others(*environment + letters, preload + letters)) *words++ = preload;
  }
  *words = nullptr;
}

// Calls a real function that executes a program, if there is one. `missing`: what a call without
// it returns. `call` gets the environment, and whether it is another than the program's.
template <class Result, class Call>
Result execute(const Executed& executed, Result missing, bool (*has_failed)(Result),
               const uint64_t& real_function, const Call& call) {
  if (real_function == 0) find_loaders();
  if (real_function == 0 || is_nothing(real_function)) return missing;
  Execution* const told = tell(executed, execution_begins);
  Words environment = executed.environment;
  const bool is_barred = told != nullptr && wait_if_held(*told) && brings_agent(environment);
  if (is_barred) {
    size_t count = 0, longest = 0;
    for (; environment[count] != nullptr; ++count)
      if (const size_t letters = letters_of(environment[count]); letters > longest)
        longest = letters;
    auto** const words = static_cast<const char**>(__builtin_alloca((count + 1) * sizeof(char*)));
    leave_agent_out(environment, words, static_cast<char*>(__builtin_alloca(longest + 1)));
    environment = const_cast<Words>(words);
  }
  const Result result = call(environment, is_barred);
  if (has_failed(result)) tell(executed, execution_failed);
  return result;
}

template <class Result, class... Arguments>
Result call_real(uint64_t function, Arguments... arguments) {
  return reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...);
}

// execve() and its like, which do not return if they succeed.
template <class Call>
int exec(const Executed& executed, const uint64_t& real_function, const Call& call) {
  return execute<int>(
      executed, -1, [](int result) { return result == -1; }, real_function, call);
}

// posix_spawn() and its like, which return an error.
template <class Call>
int spawn(const Executed& executed, const uint64_t& real_function, const Call& call) {
  constexpr int not_there = 38;  // ENOSYS
  return execute<int>(
      executed, not_there, [](int error) { return error != 0; }, real_function, call);
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
  return exec({path, By::itself, environment}, memflame_real_execve, [=](Words with, bool) {
    return call_real<int>(memflame_real_execve, path, words, with);
  });
}
MEMFLAME_HIDDEN int memflame_execv(const char* path, Words words) {
  return exec({path, By::itself}, memflame_real_execv, [=](Words with, bool is_other) {
    return is_other && memflame_real_execve != 0
               ? call_real<int>(memflame_real_execve, path, words, with)
               : call_real<int>(memflame_real_execv, path, words);
  });
}
MEMFLAME_HIDDEN int memflame_execvp(const char* file, Words words) {
  return exec({file, By::itself}, memflame_real_execvp, [=](Words with, bool is_other) {
    return is_other && memflame_real_execvpe != 0
               ? call_real<int>(memflame_real_execvpe, file, words, with)
               : call_real<int>(memflame_real_execvp, file, words);
  });
}
MEMFLAME_HIDDEN int memflame_execvpe(const char* file, Words words, Words environment) {
  return exec({file, By::itself, environment}, memflame_real_execvpe, [=](Words with, bool) {
    return call_real<int>(memflame_real_execvpe, file, words, with);
  });
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
  return exec({"", By::itself, environment}, memflame_real_fexecve, [=](Words with, bool) {
    return call_real<int>(memflame_real_fexecve, file, words, with);
  });
}
MEMFLAME_HIDDEN int memflame_execveat(int folder, const char* path, Words words, Words environment,
                                      int flags) {
  return exec({path, By::itself, environment}, memflame_real_execveat, [=](Words with, bool) {
    return call_real<int>(memflame_real_execveat, folder, path, words, with, flags);
  });
}
MEMFLAME_HIDDEN int memflame_posix_spawn(int* pid, const char* path, const void* actions,
                                         const void* attributes, Words words, Words environment) {
  return spawn({path, By::another, environment}, memflame_real_posix_spawn, [=](Words with, bool) {
    return call_real<int>(memflame_real_posix_spawn, pid, path, actions, attributes, words, with);
  });
}
MEMFLAME_HIDDEN int memflame_posix_spawnp(int* pid, const char* file, const void* actions,
                                          const void* attributes, Words words, Words environment) {
  return spawn({file, By::another, environment}, memflame_real_posix_spawnp, [=](Words with, bool) {
    return call_real<int>(memflame_real_posix_spawnp, pid, file, actions, attributes, words, with);
  });
}
// The C library has the shell run by another process, with the environment as it is.
MEMFLAME_HIDDEN int memflame_system(const char* line) {
  // Without a line it is asked whether there is a shell.
  return execute<int>(
      {line != nullptr ? "/bin/sh" : nullptr, By::another}, -1,
      [](int result) { return result == -1; }, memflame_real_system,
      [=](Words, bool) { return call_real<int>(memflame_real_system, line); });
}
MEMFLAME_HIDDEN void* memflame_popen(const char* line, const char* mode) {
  return execute<void*>(
      {"/bin/sh", By::another}, nullptr, [](void* file) { return file == nullptr; },
      memflame_real_popen,
      [=](Words, bool) { return call_real<void*>(memflame_real_popen, line, mode); });
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
