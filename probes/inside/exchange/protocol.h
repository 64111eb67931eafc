// SPDX-License-Identifier: BSD-2-Clause
// What memflame and its agent inside a watched process share: two memory files, and the records in
// them. Only types of fixed size, for the agent has no library.
//
// The *exchange* can be written by both sides:
//
//   0              Control
//   executions_at  Execution[most_executions], in turn: what processes of the run execute
//   processes_at   Process[most_processes]: an address space each, from its program's start on
//   taken_at       a bit for each ring: 1 = taken
//   heads_at       RingHead[most_rings]
//   rings_at       most_rings rings: the first large_rings are large, the others small
//
// The *tables* are memflame's; processes can only read them:
//
//   0              CodeRange[most_code_ranges]: lists, each sorted by address
//   rows_at        unwind::row[]: the rows of all files, as in probes/unwind/tables.h
//
// memflame trusts nothing in the exchange: it takes each word once, and checks it.
//
// A process begins as memflame's guest: when its program starts, the agent in it connects to the
// socket that socket_variable names, sends a Hello, and gets a Welcome with both files. By then
// memflame has read its mappings and published their tables. A forked child has no agent state
// (MADV_WIPEONFORK), but both files are mapped: it claims an entry in the exchange, without a
// system call, and waits until memflame has made it its own.
#pragma once

#include <stddef.h>  // NOLINT(modernize-deprecated-headers): the agent has no C++ library
#include <stdint.h>  // NOLINT(modernize-deprecated-headers)

namespace memflame::inside {

// The variable says "SOCKET:TOKEN:FILTERS:FOLDER". The socket has its name twice: as an abstract
// one, and as a file in the folder of the agent, if that can be made, which also reaches into other
// network namespaces. A Hello has the token. FILTERS: how many seccomp filters memflame has.
inline constexpr char socket_variable[] = "MEMFLAME_INSIDE";

inline constexpr uint32_t protocol_version = 10;
inline constexpr uint32_t most_processes = 16384;
inline constexpr uint32_t most_executions = 256;  // that memflame has not taken yet
// A thread each, of all processes together. Agents map all of them, and mlockall() makes all of
// that resident: so the rings that few runs need are small.
inline constexpr uint32_t most_rings = 32768, large_rings = 1024;
inline constexpr uint32_t large_ring_bytes = 64 << 10, small_ring_bytes = 2 << 10;
constexpr uint32_t bytes_of_ring(uint32_t ring) {
  return ring < large_rings ? large_ring_bytes : small_ring_bytes;
}
// A record of this size always finds room in an empty ring, wherever that begins.
constexpr uint32_t most_record_bytes(uint32_t bytes_of_ring) { return bytes_of_ring / 2; }
inline constexpr uint32_t most_code_ranges = 1 << 18;
inline constexpr uint32_t most_frames = 1023;

// Which function gave or took a block. The reader adds it as the leaf of the stack, by its address
// in Process::functions. Six bits of a record name it.
enum Function : uint8_t {
  fn_malloc,
  fn_calloc,
  fn_realloc,
  fn_reallocarray,
  fn_memalign,
  fn_aligned_alloc,
  fn_posix_memalign,
  fn_valloc,
  fn_pvalloc,
  fn_new,
  fn_new_array,
  fn_new_nothrow,
  fn_new_array_nothrow,
  fn_new_aligned,
  fn_new_array_aligned,
  fn_new_aligned_nothrow,
  fn_new_array_aligned_nothrow,
  fn_free,
  fn_delete,  // and the other operators delete, in the order of agent/operators.def
  // The hooks of Python's allocator, in the order of PythonDomain.
  fn_python_malloc = fn_delete + 12,
  fn_python_calloc = fn_python_malloc + 2,
  fn_python_realloc = fn_python_calloc + 2,
  fn_python_free = fn_python_realloc + 2,
  function_count = fn_python_free + 2,
};
// Whether a block that it gives may be another one's successor.
inline bool reallocates(Function function) {
  return function == fn_realloc || function == fn_reallocarray ||
         (function >= fn_python_realloc && function < fn_python_free);
}

// The allocators of CPython that are hooked with Control::python. PyMem_RawMalloc() calls malloc().
enum PythonDomain : uint32_t { python_objects, python_memory, python_domains };

// The blocks of Python's own allocator are to be recorded, and stacks to have its functions.
enum PythonWanted : uint32_t { python_blocks = 1, python_functions = 2 };

// What an agent found of Python in its process.
enum PythonState : uint32_t {
  python_absent,
  python_hooked,
  python_unfit,      // another version than those that are known, or without a global lock
  python_not_found,  // its tables of functions are not where they should be
  python_changed,    // something else's functions are in its tables
  python_states,
};

struct alignas(64) Control {
  uint32_t version;
  uint32_t max_depth;  // frames, at most most_frames
  // The number of the run while memflame reads. 0: the hooks only call on. An agent clears it too,
  // if memflame has not beaten for patience_ms when a ring is full. An agent that came into a
  // running process may serve several runs, one after the other: a ring is of the one in which it
  // was taken.
  uint32_t reading;
  // How long the threads of a process, together, may be made to wait for memflame in each second
  // before allocations are lost. UINT32_MAX = no limit.
  uint32_t max_wait_ms;
  uint32_t patience_ms;   // without a heartbeat, until an agent takes memflame for gone
  uint64_t ticks_per_ms;  // of the TSC. An agent reads these three when it joins the run
  // Mean distance of samples in allocated bytes, at most 2^30; 0 = all blocks are recorded.
  // memflame may change it during a run, but not from or to 0. A process follows when a thread
  // looks.
  uint64_t sample_bytes;
  // A free tells its stack, too: kind_free_at in place of kind_free.
  uint32_t free_stacks;
  // memflame looks only at rings below this: an agent raises it (atomic maximum) before it sets a
  // ring owned. 0: nobody has, so all that are taken are looked at.
  uint32_t rings;
  uint32_t python;  // PythonWanted
  // While memflame rests, `rests` says for whom (enum Rest). A thread that needs it sets that to 0,
  // and rings: it adds to `bell`, a futex, and wakes who waits there.
  uint32_t rests, bell;
  // Entries of Process that were ever used are below this: raised like `rings`.
  uint32_t processes;
  uint32_t arrivals;               // counts claims
  uint32_t refused;                // children that found no entry
  uint32_t executions;             // counts those that were told
  uint32_t closed;                 // 1: memflame has ended, and lets nobody in
  uint32_t holds;                  // 1: who executes a program waits until memflame has seen it
  alignas(64) uint64_t heartbeat;  // TSC, when memflame read last
};

enum Rest : uint32_t { rests_not, rests_until_arrival, rests_until_bell };

// The state of Process and RingHead. An agent takes a ring by setting its bit in `taken`, fills in
// the fields and sets it owned, and ended when its thread has ended. memflame reads the rest, sets
// it free and then clears the bit. An entry of Process goes from free to taken (memflame, or a
// forked child), to asking (the child has filled it), to owned (memflame) or refused, to free
// (memflame; the child if it was refused).
enum State : uint32_t {
  state_free,
  state_taken,
  state_owned,
  state_ended,
  state_asking,
  state_refused,
};

enum ExecutionState : uint32_t { execution_untold, execution_begins, execution_failed };

// A process of the run is about to execute a program, or could not. An agent that is in the new
// program says Hello when it starts: so memflame knows of those that it cannot be in, however soon
// they end. An agent counts in Control::executions, fills in the place with that number, and sets
// the state last; memflame sets it back.
struct alignas(64) Execution {
  uint32_t state;
  // With Control::holds: the process, as it sees itself, which waits until memflame sets this to 0.
  // The kernel's probes are there by then, if no agent can be in the program.
  uint32_t holder;
  uint32_t is_spawned;    // another process becomes the program, not the one that waits
  uint32_t has_no_agent;  // its environment does not bring one
  uint32_t bars_agent;    // memflame: the program would not run with one, leave it out
  char path[108];         // cut, and ends with 0
};

struct alignas(64) Process {
  uint32_t state;
  // As memflame sees it. While a child asks: its own, in its own PID namespace; 0 = not known.
  uint32_t pid;
  uint32_t parent;  // of a child: the index of its parent
  uint64_t began;   // of a child: when it asked (TSC)
  // The list of this process's code in the tables: first | count << 32. A list never changes; a new
  // one gets another place, and the old one is kept for a second.
  uint64_t code;
  uint64_t generation;  // of the list; the agent forgets its rules when it changes
  // The agent met an address that is in no range. memflame reads the mappings again, publishes, and
  // sets `answered` to the number of requests that it had seen before it read.
  uint32_t requests, answered;
  // Counted by the agent.
  uint64_t reentered;         // calls from signal handlers that interrupted the agent
  uint64_t lost, lost_bytes;  // allocations for which there was no room in a ring
  uint64_t ringless, ringless_bytes,
      ringless_frees;           // allocations and frees in threads without one
  uint64_t waited_us;           // for room in rings and for tables
  uint64_t checked, differing;  // stacks walked twice, by an agent that is built to check itself
  uint64_t sample_ticks;        // of the TSC, to record sampled allocations; 0 if all are recorded
  uint64_t namespaces;          // of libraries (dlmopen), whose allocators have no hooks
  uint64_t scripts_unread;      // stacks with functions of Python that could not be read or placed
  uint32_t python;              // PythonState
  uint64_t functions[function_count];  // addresses of the real functions; 0 = not there
};

// The two counters that change with each record lie in cache lines of their own.
// memflame sets head and tail to 0 before it sets a ring free.
struct alignas(64) RingHead {
  uint32_t state;
  uint32_t process;           // index
  uint32_t thread;            // its id, in the process's own PID namespace
  alignas(64) uint64_t head;  // agent: bytes written since the beginning, a multiple of 8
  alignas(64) uint64_t tail;  // memflame: bytes read
};

// ---- records, in a ring, each of 8-byte words; none goes across the ring's end ----
//
// word 0: pointer 48 bits | kind 4 | frames kept 10 (with a stack)
// word 1: TSC
// word 2, with a stack: size 40 | frames pushed 10 | stop 5 | function 6. A size beyond 40 bits is
// stated as the largest one; a free has none.

enum Kind : uint8_t {
  kind_pad,    // the rest of the ring is empty: go on at its beginning
  kind_alloc,  // 3 words, then `pushed` words of frames, leaf first
  kind_free,   // 2 words
  // 2 words: the realloc() that has just freed this pointer in this thread failed, so the block
  // lives on.
  kind_restore,
  // 2 words: records were lost in this thread before this one; the pointer is their number. The
  // next stack keeps no frames.
  kind_gap,
  // 2 words: a free by realloc(). The thread's next record says what became of the block: an alloc
  // of realloc() or reallocarray() continues it; kind_restore.
  kind_leave,
  // 2 words: the alloc records that follow in this ring were sampled at another mean distance; the
  // pointer is that distance.
  kind_mean,
  kind_free_at,  // a free with its stack, as kind_alloc has it
  // What a function of Python is called; the pointer is its code object. It comes before the first
  // stack with it, and again if its memory became another function's. 4 words and three texts.
  kind_code,
  kind_count,
};
inline bool has_stack(Kind kind) { return kind == kind_alloc || kind == kind_free_at; }

// A stack is told by what differs from the stack that the thread told before: it keeps that many of
// its outermost frames, and adds others. A cut stack keeps none, and the one after it too. Where a
// stack is larger than a record may be, records with the pointer 0 come before it: they add
// its outer frames, and tell of no block.
struct Alloc {
  uint64_t pointer = 0, time = 0, size = 0;
  uint32_t kept = 0, pushed = 0;  // frames
  uint32_t stop = 0;              // enum stop (probes/bpf/record.h)
  Function function = fn_malloc;
};

inline constexpr uint64_t pointer_mask = (uint64_t{1} << 48) - 1;
// A frame's word: a function of Python, as script_word() (probes/languages/script.h) has it, or a
// native frame's address; with this bit it is the next instruction itself, not a return
// address (signal handlers interrupt anywhere).
inline constexpr uint64_t exact_bit = uint64_t{1} << 63;
inline constexpr uint64_t size_mask = (uint64_t{1} << 40) - 1;

inline uint64_t word0(uint64_t pointer, Kind kind, uint32_t kept = 0) {
  return (pointer & pointer_mask) | uint64_t{kind} << 48 | uint64_t{kept} << 52;
}
inline uint64_t word2(uint64_t size, uint32_t pushed, uint32_t stop, Function function) {
  return (size < size_mask ? size : size_mask) | uint64_t{pushed} << 40 | uint64_t{stop} << 50 |
         uint64_t{function} << 55;
}
inline Kind kind_of(uint64_t word) { return static_cast<Kind>(word >> 48 & 15); }
inline Alloc alloc_of(uint64_t first, uint64_t time, uint64_t third) {
  Alloc alloc;
  alloc.pointer = first & pointer_mask;
  alloc.kept = first >> 52 & 1023;
  alloc.time = time;
  alloc.size = third & size_mask;
  alloc.pushed = third >> 40 & 1023;
  alloc.stop = third >> 50 & 31;
  alloc.function = static_cast<Function>(third >> 55 & 63);
  return alloc;
}

// A kind_code has, from word 2 on: first line 32 | bytes of its table of lines 16; bytes of its
// name 16 | of its file 16 | their forms (struct script_text) 16 each. Each text begins with a
// word.
inline constexpr uint32_t code_words = 4, most_line_bytes = 16 << 10;
struct Code {
  uint32_t first_line = 0, line_bytes = 0;
  uint32_t name_bytes = 0, file_bytes = 0, name_form = 0, file_form = 0;
};
inline uint64_t code_word2(const Code& code) {
  return code.first_line | uint64_t{code.line_bytes} << 32;
}
inline uint64_t code_word3(const Code& code) {
  return code.name_bytes | uint64_t{code.file_bytes} << 16 |
         uint64_t{code.name_form & 0xffff} << 32 | uint64_t{code.file_form & 0xffff} << 48;
}
inline Code code_of(uint64_t third, uint64_t fourth) {
  Code code;
  code.first_line = static_cast<uint32_t>(third);
  code.line_bytes = third >> 32 & 0xffff;
  code.name_bytes = fourth & 0xffff;
  code.file_bytes = fourth >> 16 & 0xffff;
  code.name_form = fourth >> 32 & 0xffff;
  code.file_form = static_cast<uint32_t>(fourth >> 48);
  return code;
}
inline uint32_t words_of(uint32_t bytes) { return (bytes + 7) / 8; }
inline uint32_t words_of(const Code& code) {
  return code_words + words_of(code.name_bytes) + words_of(code.file_bytes) +
         words_of(code.line_bytes);
}

// ---- the tables ----

// Executable memory [start, end): where rows are, relative to `base` as in code_lists.h.
struct CodeRange {
  uint64_t start, end;
  uint64_t base;
  uint32_t first_row;
  uint32_t rows;  // number; or one of the following
  friend bool operator==(const CodeRange&, const CodeRange&) = default;
};
inline constexpr uint32_t by_frame_pointer = 0;       // generated code, and files that are not ELF
inline constexpr uint32_t rows_missing = 0xffffffff;  // there was no room for its table

// ---- the handshake ----

struct Hello {
  uint32_t version = protocol_version;
  uint32_t unused = 0;
  uint64_t token = 0;  // of the run: only readers of its processes' environment know it
  uint64_t time = 0;   // TSC
  uint64_t functions[function_count] = {};
};

// With it come the descriptors of the exchange and of the tables, in this order. `accepted` is 0,
// without descriptors, if the process is not to be watched: children are not followed, or there is
// no entry left.
struct Welcome {
  uint32_t version = protocol_version;
  uint32_t accepted = 0;
  uint32_t process = 0;                  // its index
  uint32_t rings = 0;                    // that it is to map: large_rings or most_rings
  uint64_t rows_at = 0, rows_bytes = 0;  // in the tables
};

// The agent's answer to a Welcome that accepts it, one byte. After any other than the first it
// waits for a byte from memflame, or the end of the connection: nothing is recorded in the process,
// but the kernel's probes may count it.
enum Joining : uint8_t {
  joining_done = 1,
  joining_without_descriptors,  // there was no room for two of them
  joining_without_memory,       // there was no room for what they map
};

// ---- places in the exchange ----

inline constexpr uint64_t page = 4096;
constexpr uint64_t pages_for(uint64_t bytes) { return (bytes + page - 1) / page * page; }
inline constexpr uint64_t executions_at = page;
inline constexpr uint64_t processes_at =
    executions_at + pages_for(sizeof(Execution) * most_executions);
inline constexpr uint64_t taken_at = processes_at + pages_for(sizeof(Process) * most_processes);
inline constexpr uint64_t heads_at = taken_at + pages_for(most_rings / 8);
inline constexpr uint64_t rings_at = heads_at + pages_for(sizeof(RingHead) * most_rings);
// From rings_at on. The end of the last ring, for most_rings.
constexpr uint64_t place_of_ring(uint32_t ring) {
  return ring < large_rings ? uint64_t{large_ring_bytes} * ring
                            : uint64_t{large_ring_bytes} * large_rings +
                                  uint64_t{small_ring_bytes} * (ring - large_rings);
}
inline constexpr uint64_t exchange_bytes = rings_at + place_of_ring(most_rings);
inline constexpr uint64_t rows_at_least = pages_for(sizeof(CodeRange) * most_code_ranges);

}  // namespace memflame::inside
