// SPDX-License-Identifier: BSD-2-Clause
// How a process and its threads join a run: memory for their state, the handshake with memflame,
// and a ring for each thread.
#include "python_stack.h"
#include "sampling.h"
#include "sys.h"
#include "unloads.h"

extern "C" {
extern char** environ __attribute__((weak));
extern void* memflame_stack_end asm("__libc_stack_end") __attribute__((weak));
int pthread_key_create(unsigned*, void (*)(void*)) __attribute__((weak));
int pthread_setspecific(unsigned, const void*) __attribute__((weak));
}

namespace memflame::inside {

Here* here;
__thread Thread* self __attribute__((tls_model("initial-exec")));

namespace {

constexpr long af_unix = 1, sock_seqpacket = 5, sock_cloexec = 02000000;
constexpr long sol_socket = 1, so_rcvtimeo = 20, scm_rights = 1;
constexpr long msg_cmsg_cloexec = 0x40000000;

// 1 while a thread makes `here`; others do without until it is there.
uint32_t joining;
// A key whose destructor tells that a thread ends; made once.
unsigned thread_key;
bool has_thread_key;
bool refused;  // this process is not watched
// What a forked child finds as its parent left it, unlike `here`. The exchange stays where it is
// for ever: threads look into it at each call.
struct {
  uint8_t *exchange, *tables;
  uint64_t table_bytes;
  uint32_t index;  // of the process
} inherited;
char attached_socket[sizeof(AttachRequest::socket)];  // instead of the one in the environment

// The value of an environment variable, before the C library has begun.
const char* variable(const char* name) {
  char** entry = &environ != nullptr ? environ : nullptr;
  if (entry == nullptr && &memflame_stack_end != nullptr && memflame_stack_end != nullptr) {
    // System V ABI, x86-64, 3.4.1: the number of arguments, the arguments, 0, the environment.
    auto* const words = static_cast<uint64_t*>(memflame_stack_end);
    entry = reinterpret_cast<char**>(words + 1 + words[0] + 1);
  }
  for (; entry != nullptr && *entry != nullptr; ++entry) {
    const char* at = *entry;
    const char* letter = name;
    while (*letter != 0 && *at == *letter) ++at, ++letter;
    if (*letter == 0 && *at == '=') return at + 1;
  }
  return nullptr;
}

struct Address {
  uint16_t family;
  char path[108];
};

struct Vector {
  void* at;
  uint64_t bytes;
};

struct Message {
  void* name;
  uint32_t name_bytes;
  Vector* vectors;
  uint64_t vector_count;
  void* control;
  uint64_t control_bytes;
  uint32_t flags;
};

struct alignas(8) Descriptors {
  uint64_t bytes;
  int level, type;
  int fds[2];
};

// A connection to memflame, or a negative number.
long connect_to(const char* name) {
  Address address{.family = af_unix, .path = {}};  // a zero byte, then the name: abstract
  uint32_t length = 0;
  while (name[length] != 0 && length + 1 < sizeof(address.path)) {
    address.path[1 + length] = name[length];
    ++length;
  }
  const long fd = syscall6(__NR_socket, af_unix, sock_seqpacket | sock_cloexec);
  if (failed(fd)) return -1;
  const struct { long seconds, microseconds; } patience{10, 0};
  syscall6(__NR_setsockopt, fd, sol_socket, so_rcvtimeo, as_word(&patience), sizeof(patience));
  if (syscall6(__NR_connect, fd, as_word(&address),
               static_cast<long>(sizeof(address.family) + 1 + length)) == 0)
    return fd;
  syscall6(__NR_close, fd);
  return -1;
}

// False if memflame does not want this process.
bool shake_hands(long fd, const Hello& hello, Welcome& welcome, int (&files)[2]) {
  if (syscall6(__NR_sendto, fd, as_word(&hello), sizeof(hello)) != sizeof(hello)) return false;
  Vector vector{&welcome, sizeof(welcome)};
  Descriptors control{};
  Message message{};
  message.vectors = &vector;
  message.vector_count = 1;
  message.control = &control;
  message.control_bytes = sizeof(control);
  long got = 0;
  do got = syscall6(__NR_recvmsg, fd, as_word(&message), msg_cmsg_cloexec);
  while (got == -4);  // EINTR
  if (got != sizeof(welcome) || welcome.version != protocol_version || welcome.accepted == 0)
    return false;
  if (message.control_bytes < sizeof(control) - 4 || control.type != scm_rights) return false;
  files[0] = control.fds[0];
  files[1] = control.fds[1];
  return true;
}

bool map_files(const Welcome& welcome, const int (&files)[2]) {
  const uint64_t table_bytes = welcome.rows_at + welcome.rows_bytes;
  void* const tables = map_memory(table_bytes, prot_read, map_shared | map_noreserve, files[1], 0);
  void* const exchange =
      tables == nullptr ? nullptr
                        : map_memory(exchange_bytes, prot_read | prot_write,
                                     map_shared | map_noreserve, files[0], 0, inherited.exchange);
  if (exchange == nullptr) {
    if (tables != nullptr) unmap_memory(tables, table_bytes);
    return false;
  }
  if (inherited.tables != nullptr) unmap_memory(inherited.tables, inherited.table_bytes);
  inherited.table_bytes = table_bytes;
  syscall6(__NR_madvise, as_word(exchange), exchange_bytes, advise_dontdump);
  syscall6(__NR_madvise, as_word(tables), static_cast<long>(table_bytes), advise_dontdump);
  inherited.exchange = static_cast<uint8_t*>(exchange);
  inherited.tables = static_cast<uint8_t*>(tables);
  return true;
}

void take_places(Here& now, const Welcome& welcome) {
  inherited.index = welcome.process;
  now.index = welcome.process;
  now.control = reinterpret_cast<Control*>(inherited.exchange);
  now.process = reinterpret_cast<Process*>(inherited.exchange + processes_at) + welcome.process;
  now.heads = reinterpret_cast<RingHead*>(inherited.exchange + heads_at);
  now.rings = inherited.exchange + rings_at;
  now.ranges = reinterpret_cast<const CodeRange*>(inherited.tables);
  now.rows = reinterpret_cast<const unwind::row*>(inherited.tables + welcome.rows_at);
  now.row_count = welcome.rows_bytes / sizeof(unwind::row);
}

// Joins the run that the environment or memflame names.
bool join(Here& now, bool forked) {
  const char* const name = attached_socket[0] != 0 ? attached_socket : variable(socket_variable);
  if (name == nullptr) return false;
  Hello hello;
  hello.time = ticks();
  hello.forked = forked;
  hello.parent = forked ? inherited.index : 0;
  void* const functions[] = {
      reinterpret_cast<void*>(real.malloc),         reinterpret_cast<void*>(real.calloc),
      reinterpret_cast<void*>(real.realloc),        reinterpret_cast<void*>(real.reallocarray),
      reinterpret_cast<void*>(real.memalign),       reinterpret_cast<void*>(real.aligned_alloc),
      reinterpret_cast<void*>(real.posix_memalign), reinterpret_cast<void*>(real.valloc),
      reinterpret_cast<void*>(real.pvalloc)};
  for (uint32_t i = 0; i < sizeof(functions) / sizeof(*functions); ++i)
    hello.functions[i] = reinterpret_cast<uint64_t>(functions[i]);
  for (uint32_t i = fn_new; i < fn_free; ++i)
    hello.functions[i] = reinterpret_cast<uint64_t>(real_operators.allocate[i - fn_new]);
  hello.functions[fn_free] = reinterpret_cast<uint64_t>(real.free);
  for (uint32_t i = fn_delete; i < fn_python_malloc; ++i)
    hello.functions[i] = reinterpret_cast<uint64_t>(real_operators.release[i - fn_delete]);
  const long fd = connect_to(name);
  if (fd < 0) return false;
  Welcome welcome;
  int files[2] = {-1, -1};
  const bool accepted = shake_hands(fd, hello, welcome, files);
  const bool mapped = accepted && welcome.process < most_processes &&
                      ((forked && inherited.exchange != nullptr) || map_files(welcome, files));
  if (mapped) take_places(now, welcome);
  for (const int file : files)
    if (file >= 0) syscall6(__NR_close, file);
  syscall6(__NR_close, fd);
  return mapped;
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
    if (!forked && attached_socket[0] == 0) find_loader_counts(0);
    memory->seen_unloads = unloads();
    if (!has_thread_key && &pthread_key_create != nullptr)
      has_thread_key = pthread_key_create(&thread_key, on_thread_end) == 0;
    store_release(here, memory);
    store_release(memory->phase, static_cast<uint32_t>(phase_idle));
    // In a running process, the loader's lock is to be held for that: see put_hooks_in().
    if (memory->control->python != 0 && (forked || attached_socket[0] == 0))
      start_with_python(forked);
  } else {
    if (memory != nullptr && now == nullptr) unmap_memory(memory, sizeof(Here));
    store(refused, true);
  }
  __atomic_store_n(&joining, 0U, __ATOMIC_RELEASE);
  return joined ? memory : nullptr;
}

}  // namespace

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
  const uint64_t ms = process.control->ticks_per_ms;
  if (load(process.no_ring_at) != 0 && ticks() - load(process.no_ring_at) < 100 * ms)
    return most_rings;
  for (uint32_t ring = 0; ring < most_rings; ++ring) {
    uint32_t expected = state_free;
    if (load(process.heads[ring].state) == state_free &&
        __atomic_compare_exchange_n(&process.heads[ring].state, &expected,
                                    static_cast<uint32_t>(state_taken), false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
      return ring;
  }
  store(process.no_ring_at, ticks());
  return most_rings;
}

}  // namespace

Thread* begin_thread() {
  Here* const process = begin_process();
  const uint32_t run = process != nullptr ? load(process->control->reading) : 0;
  if (run == 0) return nullptr;
  Thread* thread = self;
  if (thread == nullptr) {
    thread = static_cast<Thread*>(private_memory(sizeof(Thread)));
    if (thread == nullptr) return nullptr;
  }
  const uint32_t ring = take_ring(*process);
  if (ring == most_rings) {
    if (self == nullptr) unmap_memory(thread, sizeof(Thread));
    return nullptr;
  }
  thread->ring = ring;
  thread->run = run;
  thread->lost = sampling.keeps_all != 0 ? 0 : mean_untold;
  thread->told_mean = 0;
  thread->generation = 0;
  forget_stack(*thread);
  thread->head = &process->heads[ring];
  thread->records = process->rings + uint64_t{ring} * ring_bytes;
  // memflame frees a ring when it has read all of it: head and tail go on from there. Other
  // processes can write them, so an uneven head must not lead beyond the ring.
  thread->written = load(thread->head->head) / sizeof(uint64_t) * sizeof(uint64_t);
  thread->tail = load_acquire(thread->head->tail);
  store(thread->head->process, process->index);
  const long tid = syscall6(__NR_gettid);
  thread->is_main = tid == syscall6(__NR_getpid);
  store(thread->head->thread, tid);
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
  if (thread->functions != nullptr) unmap_memory(thread->functions, sizeof(Functions));
  unmap_memory(thread, sizeof(Thread));
}

AttachResult join_run(const char* socket) {
  if (__atomic_exchange_n(&joining, 1U, __ATOMIC_ACQUIRE) != 0) return attach_busy;
  for (uint32_t i = 0; i + 1 < sizeof(attached_socket); ++i) attached_socket[i] = socket[i];
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
             static_cast<int64_t>(control.ticks_per_ms * control.patience_ms);
}

void leave_run() {
  attached_socket[0] = 0;
  if (here == nullptr || inherited.exchange == nullptr) return;
  if (load_acquire(here->phase) != phase_new) store(here->control->reading, 0U);
  constexpr long anonymous = map_private | map_anonymous | map_noreserve;
  map_memory(exchange_bytes, prot_read | prot_write, anonymous, -1, 0, inherited.exchange);
  map_memory(inherited.table_bytes, prot_read, anonymous, -1, 0, inherited.tables);
  // All but the page that threads look at.
  const uint64_t rest = (reinterpret_cast<uint64_t>(here) + 2 * page - 1) & ~(page - 1);
  syscall6(
      __NR_madvise, static_cast<long>(rest),
      static_cast<long>((reinterpret_cast<uint64_t>(here) + sizeof(Here) - rest) & ~(page - 1)),
      advise_dontneed);
}

}  // namespace memflame::inside
