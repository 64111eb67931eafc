// SPDX-License-Identifier: BSD-2-Clause
// The functions that the program calls instead of the allocator's. An allocation is recorded after
// the real call, a free before it: so two records of one address are in order, whichever threads
// they are of. The outermost call counts, as for the probes in the kernel: what an allocator calls
// to do its work is not recorded.
//
// malloc() and free() jump to the real function if the call is not one to be recorded (sampling.h);
// what records is in functions of its own, so that nothing is saved and restored before that. They
// are called by a jump, too, so that the hook's caller is theirs.
#include "python_stack.h"
#include "rules.h"
#include "sampling.h"

namespace memflame::inside {

Real real;
RealOperators real_operators;

namespace {

// Memory for the dynamic linker while it looks up the real functions. Never freed.
alignas(16) uint8_t early[4096];
uint64_t early_used;

void* early_memory(size_t size) {
  const size_t rounded = (size + 15) / 16 * 16;
  const uint64_t at = add(early_used, rounded);
  if (rounded < size || at + rounded > sizeof(early)) return nullptr;
  fill_cell(blocks, cell_of(reinterpret_cast<uint64_t>(early + at)));  // free() must notice it
  return early + at;
}

bool is_early(const void* pointer) {
  return static_cast<const uint8_t*>(pointer) >= early &&
         static_cast<const uint8_t*>(pointer) < early + sizeof(early);
}

// Whether the hook that set the thread's phase has been left without returning, by a longjmp() out
// of a signal handler: then it was called below the present call, on the same stack.
bool is_left(const Thread& thread, uint64_t sp) {
  return sp > thread.busy_sp && thread.busy_sp >= thread.own_low && sp < thread.own_high;
}

// The state of this thread if its calls are to be recorded now.
Thread* begin_slowly(Thread* thread, uint64_t sp) {
  lacks_ring = false;
  const uint32_t phase = thread != nullptr ? load(thread->phase) : uint32_t{phase_new};
  if (phase == phase_new) return begin_thread();
  if (is_left(*thread, sp)) {
    forget_stack(*thread);
    store(thread->phase, phase_idle);
    return thread;
  }
  if (phase == phase_recording) add(here->process->reentered, 1);
  return nullptr;
}

inline Thread* recording_thread(uint64_t sp) {
  Thread* thread = self;
  if (MEMFLAME_UNLIKELY(thread == nullptr || load(thread->phase) != phase_idle))
    thread = begin_slowly(thread, sp);
  if (MEMFLAME_UNLIKELY(thread == nullptr)) return nullptr;
  const uint32_t run = load(here->control->reading);
  if (MEMFLAME_UNLIKELY(run != thread->run)) {
    lacks_ring = false;
    thread = run == 0 ? nullptr : begin_thread();  // another run than before
    if (thread == nullptr) return nullptr;
  }
  thread->busy_sp = sp;
  return thread;
}

// What a watched process cannot record for want of a ring is lost. `lacked`: when the call began.
void count_unrecorded(bool lacked, const void* pointer, size_t size) {
  if (!lacked || pointer == nullptr || load(here->control->reading) == 0) return;
  note_block(reinterpret_cast<uint64_t>(pointer), false);
  add(here->process->ringless, 1);
  add(here->process->ringless_bytes, size);
}

void count_unrecorded_free() {
  if (lacks_ring) add(here->process->ringless_frees, 1);
}

// Calls a real function that may call hooks: what they see is this call's.
template <class Call>
inline void* pass(uint64_t sp, const Call& call) {
  const uint64_t before = outer_call;
  outer_call = sp;
  void* const pointer = call();
  outer_call = before;
  return pointer;
}

// Calls the real function and records what it gives.
template <class Call>
inline void* allocate(size_t size, Function function, const Caller& caller, const Call& call) {
  if (MEMFLAME_UNLIKELY(!find_real())) return early_memory(size);
  if (MEMFLAME_UNLIKELY(!is_chosen(size, caller.sp))) return pass(caller.sp, call);
  Thread* const thread = recording_thread(caller.sp);
  if (MEMFLAME_UNLIKELY(thread == nullptr)) {
    const bool lacked = lacks_ring;
    void* const pointer = call();
    count_unrecorded(lacked, pointer, size);
    return pointer;
  }
  if (MEMFLAME_UNLIKELY(load(python.awaits) != 0)) settle_python();
  store(thread->phase, phase_calling);
  void* const pointer = call();
  if (MEMFLAME_LIKELY(pointer != nullptr))
    record_alloc(thread, pointer, size, function, caller);
  else
    store(thread->phase, phase_idle);
  return pointer;
}

void* move_early(void* old, size_t size) {
  // A block of the time before: it moves, with all that may have been in it.
  void* const moved = real.malloc(size);
  const size_t rest = static_cast<size_t>(early + sizeof(early) - static_cast<uint8_t*>(old));
  if (moved != nullptr) __builtin_memcpy(moved, old, size < rest ? size : rest);
  return moved;
}

// The old block lives on.
void take_back(Thread* thread, void* old, bool was_known) {
  if (was_known) {
    if (sampling.keeps_all == 0) note_block(reinterpret_cast<uint64_t>(old), true);
    return record_restore(thread, old);
  }
  if (sampling.keeps_all != 0) note_block(reinterpret_cast<uint64_t>(old), false);
  store(thread->phase, phase_idle);
}

template <class Call>
inline void* reallocate(void* old, size_t size, Function function, const Caller& caller,
                        const Call& call) {
  if (MEMFLAME_UNLIKELY(is_early(old))) return move_early(old, size);
  if (old == nullptr) return allocate(size, function, caller, call);
  if (MEMFLAME_UNLIKELY(!find_real())) return nullptr;
  const bool chosen = is_chosen(size, caller.sp);
  const bool known = is_known(old);
  if (MEMFLAME_UNLIKELY(!chosen) && !known) return pass(caller.sp, call);
  Thread* const thread = recording_thread(caller.sp);
  if (MEMFLAME_UNLIKELY(thread == nullptr)) {
    const bool lacked = lacks_ring;
    if (known) count_unrecorded_free();
    void* const pointer = call();
    if (chosen) count_unrecorded(lacked, pointer, size);
    return pointer;
  }
  // A block that goes on in one that is not recorded, or in none, ends here.
  if (MEMFLAME_LIKELY(known))
    record_free(thread, old, chosen && size != 0 ? kind_leave : kind_free, function, caller);
  store(thread->phase, phase_calling);
  void* const pointer = call();
  if (MEMFLAME_LIKELY(pointer != nullptr) && MEMFLAME_LIKELY(chosen))
    record_alloc(thread, pointer, size, function, caller);
  else if (pointer == nullptr && size != 0)
    take_back(thread, old, known);
  else
    store(thread->phase, phase_idle);
  return pointer;
}

// Records a free and calls the real function.
template <class Call>
inline void release(void* pointer, Function function, const Caller& caller, const Call& call) {
  if (pointer == nullptr || MEMFLAME_UNLIKELY(is_early(pointer)) || MEMFLAME_UNLIKELY(!find_real()))
    return;
  if (MEMFLAME_UNLIKELY(!is_known(pointer))) return call();
  Thread* const thread = recording_thread(caller.sp);
  if (MEMFLAME_UNLIKELY(thread == nullptr)) {
    count_unrecorded_free();
    return call();
  }
  record_free(thread, pointer, kind_free, function, caller);
  // What the allocator frees to do so is its own affair.
  store(thread->phase, phase_calling);
  call();
  store(thread->phase, phase_idle);
}

// The largest size if the product overflows; the call fails then.
size_t product(size_t count, size_t size) {
  size_t bytes = 0;
  return __builtin_mul_overflow(count, size, &bytes) ? ~size_t{0} : bytes;
}

}  // namespace
}  // namespace memflame::inside

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define HOOK extern "C" __attribute__((visibility("default")))
#define SLOW __attribute__((noinline)) static
// The registers as the hook's caller will have them. The frame address makes the compiler keep the
// caller's rbp at this place.
#define CALLER                                                       \
  memflame::inside::Caller {                                         \
    reinterpret_cast<uint64_t>(__builtin_return_address(0)),         \
        reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + 16, \
        *static_cast<uint64_t*>(__builtin_frame_address(0))          \
  }
// NOLINTEND(cppcoreguidelines-macro-usage)

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): the hooks are C
                                   // functions

SLOW void* malloc_slowly(size_t size) {
  return allocate(size, fn_malloc, CALLER, [&] { return real.malloc(size); });
}
SLOW void free_slowly(void* pointer) {
  release(pointer, fn_free, CALLER, [&] { real.free(pointer); });
}

HOOK void* malloc(size_t size) {
  return MEMFLAME_LIKELY(passes(size)) ? real.malloc(size) : malloc_slowly(size);
}

HOOK void free(void* pointer) {
  return MEMFLAME_LIKELY(!may_be_recorded(pointer)) ? real.free(pointer) : free_slowly(pointer);
}

HOOK void* calloc(size_t count, size_t size) {
  return allocate(product(count, size), fn_calloc, CALLER,
                  [&] { return real.calloc(count, size); });
}

HOOK void* realloc(void* old, size_t size) {
  return reallocate(old, size, fn_realloc, CALLER, [&] { return real.realloc(old, size); });
}

HOOK void* reallocarray(void* old, size_t count, size_t size) {
  return reallocate(old, product(count, size), fn_reallocarray, CALLER,
                    [&] { return real.reallocarray(old, count, size); });
}

HOOK void* memalign(size_t alignment, size_t size) {
  return allocate(size, fn_memalign, CALLER, [&] { return real.memalign(alignment, size); });
}

HOOK void* aligned_alloc(size_t alignment, size_t size) {
  return allocate(size, fn_aligned_alloc, CALLER,
                  [&] { return real.aligned_alloc(alignment, size); });
}

HOOK void* valloc(size_t size) {
  return allocate(size, fn_valloc, CALLER, [&] { return real.valloc(size); });
}

HOOK void* pvalloc(size_t size) {
  return allocate(size, fn_pvalloc, CALLER, [&] { return real.pvalloc(size); });
}

HOOK int posix_memalign(void** pointer, size_t alignment, size_t size) {
  int error = 12;  // ENOMEM
  allocate(size, fn_posix_memalign, CALLER, [&]() -> void* {
    error = real.posix_memalign(pointer, alignment, size);
    return error == 0 ? *pointer : nullptr;
  });
  return error;
}

HOOK int dlclose(void* library) {
  if (!find_real() || real.dlclose == nullptr) return -1;
  if (load(python.is_found) != 0) before_unloading();
  const int result = real.dlclose(library);
  if (load(python.is_found) != 0) after_unloading();
  if (here != nullptr && load(here->phase) != phase_new) forget_code();
  return result;
}

#include "libc_names.h"
#include "operators.h"
#include "python_hooks.h"
