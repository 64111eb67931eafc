// SPDX-License-Identifier: BSD-2-Clause
// The agent's memory: one Here per process, one Thread per thread. Both lie in mappings of their
// own that the kernel zeroes in a forked child, so a child finds `phase` 0 and begins anew,
// whatever its parent was doing.
#pragma once

#include "probes/inside/exchange/attach_protocol.h"
#include "probes/inside/exchange/protocol.h"
#include "probes/unwind/row.h"

namespace memflame::inside {

#define MEMFLAME_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define MEMFLAME_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

template <class T>
T load(const T& from) {
  return __atomic_load_n(&from, __ATOMIC_RELAXED);
}
template <class T>
T load_acquire(const T& from) {
  return __atomic_load_n(&from, __ATOMIC_ACQUIRE);
}
template <class T, class Value>
void store(T& to, Value value) {
  __atomic_store_n(&to, static_cast<T>(value), __ATOMIC_RELAXED);
}
template <class T, class Value>
void store_release(T& to, Value value) {
  __atomic_store_n(&to, static_cast<T>(value), __ATOMIC_RELEASE);
}
template <class T, class Value>
T add(T& to, Value value) {
  return __atomic_fetch_add(&to, static_cast<T>(value), __ATOMIC_RELAXED);
}

// What a thread is doing. phase_new is 0: memory that was just made, or zeroed by fork.
enum Phase : uint32_t {
  phase_new,
  phase_idle,       // in the program's own code: calls of hooks are recorded
  phase_calling,    // in the real function: calls of hooks are its own affair
  phase_recording,  // in the agent: a call of a hook comes from a signal handler
};

// A frame of the walk before, from the outermost on.
struct KeptFrame {
  uint64_t ip = 0, sp = 0, bp = 0;
  uint32_t words_beyond = 0;  // the walk from here on rests on words[0, words_beyond)
  uint8_t needs_bp = 0;       // bp decides how the walk goes on from here
  uint8_t is_exact = 0;
};

// A word of the stack that a walk rests on.
struct Word {
  uint64_t address = 0, value = 0;
};

// A frame that the present walk has found, from the innermost on.
struct FreshFrame {
  uint64_t ip, sp, bp;
  unwind::row row;  // that applies to it
  uint8_t is_exact;
  uint8_t words;      // read to step from here to the caller; of more than four, the first are kept
  uint8_t is_copied;  // some of them by the kernel: not from the thread's own stack
  Word read[4];
};

constexpr uint32_t most_words = 3 * most_frames;

// In Thread::lost: the mean of the next sample is to be told before it.
constexpr uint64_t mean_untold = uint64_t{1} << 63;

struct Functions;

struct Thread {
  uint32_t phase;
  uint32_t is_taken;  // of a spare one
  uint32_t ring;      // index
  uint32_t ring_bytes;
  RingHead* head;
  uint8_t* records;            // the ring
  uint64_t written;            // = head->head
  uint64_t tail;               // = head->tail, when it was read last
  uint64_t lost;               // records, since the last gap was written; and mean_untold
  uint64_t busy_sp;            // of the caller of the hook that set `phase`
  uint64_t own_low, own_high;  // readable part of the stack that the thread began on
  uint64_t barrier;            // a page below it that could not be read; 0 = none
  uint64_t frame_count;        // of `kept`
  uint64_t solid;              // frames below this index rest on `words` alone
  uint32_t generation;         // of the rules that `kept` was found with
  uint32_t is_main;
  KeptFrame kept[most_frames + 1];
  Word words[most_words];
  FreshFrame fresh[most_frames + 1];
  uint32_t run;        // Control::reading, when the ring was taken: a ring is of one run
  uint64_t told_mean;  // by the last kind_mean in the ring; 0 = none
  // A window of a stack that is not the thread's own, copied by the kernel.
  uint64_t window_at, window_bytes;
  uint8_t window[1024];
  // With functions of Python (python_stack.h).
  uint32_t has_functions;  // the last stack was told with them, where there are any
  uint32_t told_count;     // frames of it that the next one may keep
  Functions* functions;    // a mapping of its own; null until it is needed
};

// The next stack is told as a whole.
inline void forget_stack(Thread& thread) {
  thread.frame_count = 0;
  thread.told_count = 0;
}

constexpr uint32_t rule_bits = 16;

// An address and its row in 8 bytes: see rules.h.
using Rule = uint64_t;

struct Here {
  uint32_t phase;  // phase_new, then phase_idle
  uint32_t index;  // of `process`
  Control* control;
  Process* process;
  uint64_t* taken;
  uint32_t ring_count;
  RingHead* heads;
  uint8_t* rings;
  const CodeRange* ranges;
  const unwind::row* rows;
  uint64_t row_count;
  uint64_t seen_generation;  // of process->generation, for which `rules` hold
  uint32_t generation;       // of `rules`: changes whenever they are forgotten
  // How often code was unmapped, in all and before process->code was made.
  uint32_t unmaps, listed_unmaps;
  uint64_t seen_unloads;  // of unloads.h, when `unmaps` counted the last of them
  uint64_t no_ring_at;    // when none was free (TSC); 0 = never
  // How long threads have waited since `wait_began` (TSC), in microseconds.
  uint64_t wait_began, waited;
  uint64_t unknown[64];  // addresses that memflame could not tell anything about
  Rule rules[1 << rule_bits];
  // Code objects of Python that were told (block_set.h).
  uint32_t code_generation;  // changes whenever one goes
  uint32_t untold_codes;     // 1: some are not in the set, as it had no room
  uint64_t code_cells[1 << 11];
  uint64_t code_places[1 << 16];
};

// glibc's second names, __libc_malloc and so on.
struct RealLibc {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void (*free)(void*);
  void* (*memalign)(size_t, size_t);
  void* (*valloc)(size_t);
  void* (*pvalloc)(size_t);
};

// The functions behind the hooks; null where the program has none.
struct Real {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void* (*reallocarray)(void*, size_t, size_t);
  void (*free)(void*);
  void* (*memalign)(size_t, size_t);
  void* (*aligned_alloc)(size_t, size_t);
  int (*posix_memalign)(void**, size_t, size_t);
  void* (*valloc)(size_t);
  void* (*pvalloc)(size_t);
  int (*dlclose)(void*);
  RealLibc libc;
  uint32_t is_libc;  // libc's functions are the others, and the program brings none of its own
  uint32_t is_found;
};

// The allocator's own operators, if it has any: see operators.h.
struct RealOperators {
  void* (*allocate[8])(size_t, size_t, const void*);  // in the order of Function, from fn_new on
  void (*release[12])(void*, size_t, size_t, const void*);  // in the order of operators.h
};

// All begin as zeroes, before any code runs.
// NOLINTBEGIN(bugprone-dynamic-static-initializers)
extern Real real;
extern RealOperators real_operators;
extern Here* here;
// How long to wait for memflame, as the run began with: the program can write into the exchange.
struct Timing {
  uint64_t ticks_per_ms;
  uint32_t max_wait_ms, patience_ms;
};
extern Timing timing;
extern __thread Thread* self __attribute__((tls_model("initial-exec")));
// The last begin_thread() found no ring, or no memory.
extern __thread bool lacks_ring __attribute__((tls_model("initial-exec")));
// NOLINTEND(bugprone-dynamic-static-initializers)

// The registers of the code that called a hook, as they will be when the hook has returned.
struct Caller {
  uint64_t ip, sp, bp;
};

// Fills `real`. False while it is being filled: the caller is the dynamic linker, on behalf of the
// agent itself.
bool find_real_slowly();
inline bool find_real() {
  return MEMFLAME_LIKELY(load_acquire(real.is_found) != 0) || find_real_slowly();
}

// The process's state, ready to be used; null if it is not there.
Here* begin_process();
// The thread's state, ready to record; null if the process or thread cannot be watched.
Thread* begin_thread();
// Forgets the thread's state; its ring is memflame's to read out.
void end_thread(Thread* thread);

void record_alloc(Thread* thread, void* pointer, size_t size, Function function,
                  const Caller& caller);
// kind_free or kind_leave. `function` and `caller` count if memflame wants stacks of frees.
void record_free(Thread* thread, void* pointer, Kind kind = kind_free, Function function = fn_free,
                 const Caller& caller = {});
void record_restore(Thread* thread, void* pointer);

// For an agent that came into a running process (patch.h).
// Joins the run at this address; no thread may be inside a hook of a run before.
AttachResult join_run(const char* run);
// Whether the agent serves a run whose memflame lives.
bool is_in_run();
// Forgets the run, and gives its memory back. Threads may still be inside hooks: what they write
// goes into private memory.
void leave_run();

// How long a record may wait for room. A lost allocation is only missing, but the block of a lost
// free would seem live for ever: so a free waits as long as memflame reads.
enum class Patience : uint8_t { within_limit, unlimited };
// Rings for memflame if it rests at least like this.
void ring(Control& control, Rest least);
// Whether memflame has not beaten for too long: it was killed, or stopped.
bool has_memflame_gone(const Control& control);
// Whether the process may wait for memflame a little longer; if so it has napped.
bool wait_a_little(uint32_t nap_us, Patience patience = Patience::within_limit);

}  // namespace memflame::inside
