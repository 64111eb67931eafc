// SPDX-License-Identifier: BSD-2-Clause
// How a process and its threads join a run: memory for their state, the handshake with memflame,
// and a ring for each thread.
#include "join.h"

#include "answers.h"
#include "filter.h"
#include "python_stack.h"
#include "sampling.h"
#include "sys.h"
#include "unloads.h"

extern "C" {
int pthread_key_create(unsigned*, void (*)(void*)) __attribute__((weak));
int pthread_setspecific(unsigned, const void*) __attribute__((weak));
}

namespace memflame::inside {

Here* here;
Timing timing;
__thread Thread* self __attribute__((tls_model("initial-exec")));
__thread bool lacks_ring __attribute__((tls_model("initial-exec")));

namespace {

// 1 while a thread makes `here`; others do without until it is there.
uint32_t joining;
// A key whose destructor tells that a thread ends; made once.
unsigned thread_key;
bool has_thread_key;
bool refused;                                   // this process is not watched
char attached_run[sizeof(AttachRequest::run)];  // instead of the one in the environment

void take_places(Here& now) {
  now.index = inherited.index;
  now.control = reinterpret_cast<Control*>(inherited.exchange);
  now.process = reinterpret_cast<Process*>(inherited.exchange + processes_at) + inherited.index;
  now.taken = reinterpret_cast<uint64_t*>(inherited.exchange + taken_at);
  now.ring_count = inherited.rings;
  now.heads = reinterpret_cast<RingHead*>(inherited.exchange + heads_at);
  now.rings = inherited.exchange + rings_at;
  now.ranges = reinterpret_cast<const CodeRange*>(inherited.tables);
  now.rows = reinterpret_cast<const unwind::row*>(inherited.tables + inherited.rows_at);
  now.row_count = inherited.rows_bytes / sizeof(unwind::row);
}

// Threads that a filtered process may record with: mapped before the filter came.
constexpr uint32_t spare_threads = 16;
Thread* spares;

// Null if there is none.
Thread* spare_thread() {
  for (uint32_t i = 0; spares != nullptr && i < spare_threads; ++i)
    if (__atomic_exchange_n(&spares[i].is_taken, 1U, __ATOMIC_ACQUIRE) == 0) return &spares[i];
  return nullptr;
}

bool is_spare(const Thread* thread) {
  return spares != nullptr && thread >= spares && thread < spares + spare_threads;
}

Thread* new_thread() {
  return is_filtered() ? spare_thread() : static_cast<Thread*>(private_memory(sizeof(Thread)));
}

void give_back(Thread* thread) {
  if (is_spare(thread))
    store_release(thread->is_taken, 0U);
  else if (!is_filtered())
    unmap_memory(thread, sizeof(Thread));
}

// Joins the run that the environment or memflame names; a forked child its parent's.
bool join(Here& now, bool forked) {
  const char* const address = attached_run[0] != 0 ? attached_run : variable(socket_variable);
  const bool joined = forked && inherited.exchange != nullptr
                          ? claim_entry()
                          : address != nullptr && shake_hands(address);
  if (!joined) return false;
  take_places(now);
  if (!forked && spares == nullptr)
    spares = static_cast<Thread*>(private_memory(sizeof(Thread) * spare_threads));
  return true;
}

// What makes Python choose its allocator when it starts.
bool is_python_configured() {
  const auto is_set = [](const char* name) {
    const char* const value = variable(name);
    return value != nullptr && *value != 0;
  };
  return is_set("PYTHONMALLOC") || is_set("PYTHONDEVMODE");
}

void start_with_python(bool forked) {
  // A thread that is not there any more may hold the loader's lock.
  if (forked) return tell_python();
  if (python.is_found == 0 && is_python_configured())
    store(python.awaits, 1U);
  else
    put_python_in();
  if (python.is_found != 0 && python.is_initialized() == 0) store(python.awaits, 1U);
}

void on_thread_end(void* thread) { end_thread(static_cast<Thread*>(thread)); }

// For the thread that has set `joining`. `now`: the state, if there is any: in a forked child it is
// zeroed. Returns null if there is no run to join.
Here* begin_run(Here* now, bool forked) {
  Here* const memory = now != nullptr ? now : static_cast<Here*>(private_memory(sizeof(Here)));
  const bool joined = memory != nullptr && join(*memory, forked) &&
                      begin_sampling(memory->control->sample_bytes, forked);
  if (joined) {
    memory->wait_began = ticks();
    memory->generation = 1;
    add(memory->process->namespaces, other_namespaces());
    if (!forked && attached_run[0] == 0) find_loader_counts(0);
    memory->seen_unloads = unloads();
    if (!has_thread_key && &pthread_key_create != nullptr)
      has_thread_key = pthread_key_create(&thread_key, on_thread_end) == 0;
    store_release(here, memory);
    store_release(memory->phase, static_cast<uint32_t>(phase_idle));
    // In a running process, the loader's lock is to be held for that: see put_hooks_in().
    if (memory->control->python != 0 && (forked || attached_run[0] == 0)) start_with_python(forked);
  } else {
    if (memory != nullptr && now == nullptr) unmap_memory(memory, sizeof(Here));
    store(refused, true);
  }
  __atomic_store_n(&joining, 0U, __ATOMIC_RELEASE);
  return joined ? memory : nullptr;
}

}  // namespace

void tell_functions(uint64_t (&functions)[function_count]) {
  void* const allocators[] = {
      reinterpret_cast<void*>(real.malloc),         reinterpret_cast<void*>(real.calloc),
      reinterpret_cast<void*>(real.realloc),        reinterpret_cast<void*>(real.reallocarray),
      reinterpret_cast<void*>(real.memalign),       reinterpret_cast<void*>(real.aligned_alloc),
      reinterpret_cast<void*>(real.posix_memalign), reinterpret_cast<void*>(real.valloc),
      reinterpret_cast<void*>(real.pvalloc)};
  for (uint32_t i = 0; i < sizeof(allocators) / sizeof(*allocators); ++i)
    functions[i] = reinterpret_cast<uint64_t>(allocators[i]);
  for (uint32_t i = fn_new; i < fn_free; ++i)
    functions[i] = reinterpret_cast<uint64_t>(real_operators.allocate[i - fn_new]);
  functions[fn_free] = reinterpret_cast<uint64_t>(real.free);
  for (uint32_t i = fn_delete; i < fn_python_malloc; ++i)
    functions[i] = reinterpret_cast<uint64_t>(real_operators.release[i - fn_delete]);
}

Here* begin_process() {
  Here* const now = load_acquire(here);
  if (MEMFLAME_LIKELY(now != nullptr && load_acquire(now->phase) != phase_new)) return now;
  if (load(refused) || __atomic_exchange_n(&joining, 1U, __ATOMIC_ACQUIRE) != 0) return nullptr;
  return begin_run(now, now != nullptr);
}

namespace {

// Takes the first free ring, so that memflame need not look at many; most_rings if there is none.
uint32_t take_ring(Here& process) {
  // All are taken: threads that have none do not search at each call.
  const uint64_t ms = timing.ticks_per_ms;
  if (load(process.no_ring_at) != 0 && ticks() - load(process.no_ring_at) < 100 * ms)
    return most_rings;
  for (uint32_t first = 0; first < process.ring_count; first += 64) {
    uint64_t& taken = process.taken[first / 64];
    for (uint64_t known = load(taken); known != ~uint64_t{0};) {
      const uint64_t bit = ~known & (known + 1);  // the lowest that is free
      known = __atomic_fetch_or(&taken, bit, __ATOMIC_ACQUIRE);
      if ((known & bit) == 0) return first + static_cast<uint32_t>(__builtin_ctzll(bit));
    }
  }
  store(process.no_ring_at, ticks());
  return most_rings;
}

}  // namespace

Thread* begin_thread() {
  Here* const process = begin_process();
  const uint32_t run = process != nullptr ? load(process->control->reading) : 0;
  if (run == 0) return nullptr;
  if (is_timeless()) {
    lacks_ring = true;
    return nullptr;
  }
  Thread* const thread = self != nullptr ? self : new_thread();
  lacks_ring = thread == nullptr;
  if (thread == nullptr) return nullptr;
  if (is_spare(thread)) store(thread->is_taken, 1U);  // a forked child finds it zeroed
  const uint32_t ring = take_ring(*process);
  if (ring == most_rings) {
    if (self == nullptr) give_back(thread);
    lacks_ring = true;
    return nullptr;
  }
  thread->ring = ring;
  thread->run = run;
  thread->lost = sampling.keeps_all != 0 ? 0 : mean_untold;
  thread->told_mean = 0;
  thread->generation = 0;
  forget_stack(*thread);
  thread->head = &process->heads[ring];
  thread->ring_bytes = bytes_of_ring(ring);
  thread->records = process->rings + place_of_ring(ring);
  // memflame frees a ring when it has read all of it: head and tail go on from there. Other
  // processes can write them, so an uneven head must not lead beyond the ring.
  thread->written = load(thread->head->head) / sizeof(uint64_t) * sizeof(uint64_t);
  thread->tail = load_acquire(thread->head->tail);
  store(thread->head->process, process->index);
  const Ids ids = own_ids();
  thread->is_main = ids.thread == ids.process;
  store(thread->head->thread, ids.thread);
  uint32_t rings = load(process->control->rings);
  while (rings <= ring && !__atomic_compare_exchange_n(&process->control->rings, &rings, ring + 1,
                                                       false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  store_release(thread->head->state, static_cast<uint32_t>(state_owned));
  self = thread;
  // The C library may allocate to remember this: not an affair of the program's.
  store(thread->phase, phase_recording);
  if (has_thread_key) pthread_setspecific(thread_key, thread);
  store(thread->phase, phase_idle);
  return thread;
}

void end_thread(Thread* thread) {
  if (thread == nullptr || thread != self || load(thread->phase) == phase_new) return;
  store(thread->phase, phase_recording);
  // A ring of a run before may be another thread's now.
  if (load(here->control->reading) == thread->run) {
    store_release(thread->head->state, static_cast<uint32_t>(state_ended));
  }
  self = nullptr;
  if (thread->functions != nullptr && !is_filtered())
    unmap_memory(thread->functions, sizeof(Functions));
  thread->functions = nullptr;
  store(thread->phase, phase_new);
  give_back(thread);
}

AttachResult join_run(const char* run) {
  if (__atomic_exchange_n(&joining, 1U, __ATOMIC_ACQUIRE) != 0) return attach_busy;
  for (uint32_t i = 0; i + 1 < sizeof(attached_run); ++i) attached_run[i] = run[i];
  store(refused, false);
  Here* const now = here;
  if (now != nullptr) {
    store_release(now->phase, static_cast<uint32_t>(phase_new));
    now->seen_generation = now->no_ring_at = now->waited = 0;
    now->listed_unmaps = now->unmaps;
    for (uint64_t& unknown : now->unknown) unknown = 0;
    for (Rule& rule : now->rules) rule = 0;
    if (now->code_cells[0] != 0 || python.is_found != 0) {
      for (uint64_t& cell : now->code_cells) cell = 0;
      for (uint64_t& place : now->code_places) place = 0;
      now->untold_codes = 0;
    }
  }
  return begin_run(now, false) != nullptr ? attach_done : attach_no_answer;
}

bool is_in_run() {
  if (here == nullptr || load_acquire(here->phase) == phase_new) return false;
  const Control& control = *here->control;
  return load(control.reading) != 0 &&
         static_cast<int64_t>(ticks() - load(control.heartbeat)) <
             static_cast<int64_t>(timing.ticks_per_ms * timing.patience_ms);
}

void leave_run() {
  attached_run[0] = 0;
  if (here == nullptr || inherited.exchange == nullptr) return;
  if (load_acquire(here->phase) != phase_new) store(here->control->reading, 0U);
  constexpr long anonymous = map_private | map_anonymous | map_noreserve;
  map_memory(mapped_bytes(inherited.rings), prot_read | prot_write, anonymous, -1, 0,
             inherited.exchange);
  map_memory(inherited.table_bytes, prot_read, anonymous, -1, 0, inherited.tables);
  // All but the page that threads look at.
  const uint64_t rest = (reinterpret_cast<uint64_t>(here) + 2 * page - 1) & ~(page - 1);
  syscall6(
      __NR_madvise, static_cast<long>(rest),
      static_cast<long>((reinterpret_cast<uint64_t>(here) + sizeof(Here) - rest) & ~(page - 1)),
      advise_dontneed);
}

}  // namespace memflame::inside
