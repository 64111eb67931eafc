// SPDX-License-Identifier: BSD-2-Clause
// The agent's functions that memflame has a thread call (attach_protocol.h), and the hooks of what
// loads libraries (patch.h).
#include "answers.h"
#include "hooked.h"
#include "patch.h"
#include "state.h"
#include "unloads.h"

#define MEMFLAME_HIDDEN __attribute__((visibility("hidden")))
#define MEMFLAME_VISIBLE __attribute__((visibility("default")))

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): C functions

extern "C" {
AttachRequest memflame_request;
MEMFLAME_HIDDEN uint64_t memflame_real_dlopen, memflame_real_dlmopen, memflame_real_dlsym,
    memflame_real_dlvsym;
}

namespace {

// How many objects had been loaded when hooks were put in; 0 = they are out.
unsigned long long seen_adds;

int take_adds(MemflameLoaded* loaded, size_t, void* adds) {
  *static_cast<unsigned long long*>(adds) = loaded->adds;
  return 1;
}

unsigned long long adds_now() {
  unsigned long long adds = 0;
  dl_iterate_phdr(take_adds, &adds);
  return adds;
}

using Found = void (*)();

void state(const Changes& changes) {
  memflame_request.changed = changes.changed;
  memflame_request.failed = changes.failed;
}

Found as_address(AttachResult result) { return reinterpret_cast<Found>(uint64_t{result}); }

}  // namespace

namespace memflame::inside {

void follow_libraries() { store(seen_adds, 1); }
bool follows_libraries() { return load(seen_adds) != 0; }

void look_again() {
  const unsigned long long seen = load(seen_adds);
  if (seen == 0 || seen == adds_now()) return;
  const auto find = reinterpret_cast<void* (*)(void*, const char*)>(memflame_real_dlsym);
  find(reinterpret_cast<void*>(memflame_request.handle), "memflame_hooks_again");
}

}  // namespace memflame::inside

extern "C" {

MEMFLAME_VISIBLE uint64_t memflame_join() { return join_run(memflame_request.run); }

// The functions that dlsym() calls.
MEMFLAME_HIDDEN __attribute__((used)) Found memflame_find_now() {
  return as_address(is_in_run() ? attach_busy : find_originals());
}

MEMFLAME_HIDDEN __attribute__((used)) Found memflame_hooks_in_now() {
  if (memflame_request.is_attached != 0) {
    find_loader_counts(adds_now());
    state(put_hooks_in());
    store(seen_adds, 1);  // so once more at the next chance, for what a thread was still resolving
  }
  return as_address(attach_done);
}

// A thread of the program itself asks, and memflame may have taken the hooks out meanwhile.
MEMFLAME_HIDDEN __attribute__((used)) Found memflame_hooks_again_now() {
  if (load(seen_adds) != 0) {
    put_hooks_in();  // memflame reads what its own request has done
    store(seen_adds, adds_now());
  }
  return as_address(attach_done);
}

MEMFLAME_HIDDEN __attribute__((used)) Found memflame_hooks_out_now() {
  if (memflame_request.is_attached != 0) {
    store(seen_adds, 0);
    state(take_hooks_out());
  }
  leave_run();
  return as_address(attach_done);
}

MEMFLAME_VISIBLE void memflame_find() __attribute__((ifunc("memflame_find_now")));
MEMFLAME_VISIBLE void memflame_hooks_in() __attribute__((ifunc("memflame_hooks_in_now")));
MEMFLAME_VISIBLE void memflame_hooks_again() __attribute__((ifunc("memflame_hooks_again_now")));
MEMFLAME_VISIBLE void memflame_hooks_out() __attribute__((ifunc("memflame_hooks_out_now")));

// What the hooks answer; null: they go on in the real function. Libraries may have come since the
// last call: the thread is about to take the loader's lock anyway.
MEMFLAME_HIDDEN void* memflame_before_dlopen(const char* file, int flags) {
  find_loaders();
  look_again();
  return open_library(file, flags);
}

MEMFLAME_HIDDEN void* memflame_before_dlmopen(long space) {
  constexpr long new_space = -1;
  find_loaders();
  look_again();
  if (space == new_space) count_namespace();
  return nullptr;
}

MEMFLAME_HIDDEN void* memflame_before_dlsym(void* handle, const char* name, long, uint64_t caller) {
  find_loaders();
  look_again();
  return answer(handle, name, nullptr, caller);
}

MEMFLAME_HIDDEN void* memflame_before_dlvsym(void* handle, const char* name, const char* version,
                                             uint64_t caller) {
  find_loaders();
  look_again();
  return version != nullptr ? answer(handle, name, version, caller) : nullptr;
}

}  // extern "C"

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define MEMFLAME_BEFORE(name)       \
  asm(".text\n"                     \
      ".p2align 4\n"                \
      ".globl memflame_" #name      \
      "\n"                          \
      ".hidden memflame_" #name     \
      "\n"                          \
      ".type memflame_" #name       \
      ", @function\n"               \
      "memflame_" #name             \
      ":\n"                         \
      ".cfi_startproc\n"            \
      "endbr64\n"                   \
      "push %rdi\n"                 \
      ".cfi_adjust_cfa_offset 8\n"  \
      "push %rsi\n"                 \
      ".cfi_adjust_cfa_offset 8\n"  \
      "push %rdx\n"                 \
      ".cfi_adjust_cfa_offset 8\n"  \
      "mov 24(%rsp), %rcx\n"        \
      "call memflame_before_" #name \
      "\n"                          \
      "pop %rdx\n"                  \
      ".cfi_adjust_cfa_offset -8\n" \
      "pop %rsi\n"                  \
      ".cfi_adjust_cfa_offset -8\n" \
      "pop %rdi\n"                  \
      ".cfi_adjust_cfa_offset -8\n" \
      "test %rax, %rax\n"           \
      "jne 1f\n"                    \
      "jmp *memflame_real_" #name   \
      "(%rip)\n"                    \
      "1: ret\n"                    \
      ".cfi_endproc\n"              \
      ".size memflame_" #name ", . - memflame_" #name "\n")
// NOLINTEND(cppcoreguidelines-macro-usage)

MEMFLAME_BEFORE(dlopen);
MEMFLAME_BEFORE(dlmopen);
MEMFLAME_BEFORE(dlsym);
MEMFLAME_BEFORE(dlvsym);

// A preloaded agent is found by these names, as by those of the hooks in hooks.cc.
asm(".globl dlmopen, dlsym, dlvsym\n"
    ".type dlmopen, @function\n"
    ".type dlsym, @function\n"
    ".type dlvsym, @function\n"
    ".set dlmopen, memflame_dlmopen\n"
    ".set dlsym, memflame_dlsym\n"
    ".set dlvsym, memflame_dlvsym\n");
