// SPDX-License-Identifier: BSD-2-Clause
// The memory of a Java program: the layout of its objects, its registers, and what lies behind.
#include <cstdlib>

#include "core/java_lines.h"
#include "probes/languages/scripts/scripts.h"
#include "tests/fuzz/made_memory.h"
#include "tests/probes/languages/java_memory.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t base = MadeMemory::base;
  struct Registers {
    uint64_t ip, sp, bp;
  };
  std::span<const uint8_t> input(data, size);
  const auto choice = take_made<uint8_t>(input);
  auto layout = take_made<bpf::java_layout>(input);
  const auto registers = take_made<Registers>(input);
  const MadeMemory memory{.bytes = input, .everywhere = (choice & made_everywhere) != 0};
  bpf::read_java_memory = [&](void* to, size_t bytes, uint64_t address) {
    return memory.read(to, bytes, address);
  };
  // Most inputs describe no machine that runs, so half of them need not.
  if ((choice & 1U) != 0) {
    layout.begun = 1;
    layout.heap[0] = {.low = base, .bytes = base, .segments = base, .segment_bits = 3};
    layout.low = base;
    layout.bytes = base;
  }
  if (bpf::begin_java(&layout, base) == 0 || layout.heaps > bpf::java_most_heaps) return 0;
  bpf::frame at{};
  at.ip = registers.ip;
  at.sp = registers.sp;
  at.bp = registers.bp;
  at.exact = registers.ip & 1U;
  Scripts scripts;
  // As in BPF programs, what was read of other stacks is still there.
  static bpf::script_code_record record;
  static bpf::java_scopes scopes;
  static bpf::JavaRoom room;
  ++room.memos.stack;
  // A virtual thread, on its stack or in the heap.
  bpf::java_chunk chunk{};
  chunk.came = at.sp;
  if ((choice & 2U) != 0) chunk = take_made<bpf::java_chunk>(input);
  if ((choice & 6U) != 0) bpf::enter_java_heap(&layout, &at, &chunk, bpf::room_for_chunk(room));
  for (int i = 0; i < 16; ++i) {
    const uint64_t sp = at.sp, pc = at.ip;
    bpf::java_frame frame{};
    const bpf::java_step step =
        bpf::step_java(&layout, &at, room.bytes, &room.memos, registers.ip, &chunk, &frame);
    if (step == bpf::java_frozen &&
        bpf::enter_java_heap(&layout, &at, &chunk, bpf::room_for_chunk(room)) != 0)
      continue;
    if (step != bpf::java_taken && step != bpf::java_passed) break;
    if (at.sp <= sp) std::abort();
    record.language = bpf::language_java;
    record.code = bpf::script_identity(frame.word);
    if (!bpf::is_java_code(frame.word)) {
      bpf::read_java_method(&layout, record.code, &record);
      scripts.take(record, sizeof(record));
    } else if (const uint64_t blob = bpf::read_java_blob(&layout, pc, scopes.memory)) {
      bpf::read_java_scopes(&layout, &scopes, bpf::java_compiled, blob, pc);
      if (scopes.count > bpf::java_most_inlined) std::abort();
    }
    std::vector<Pc> pcs;
    scripts.place({}, frame.word, pcs);
    for (const Pc& each : pcs)
      java_line(scripts.all().at(script_index(each)).lines, script_place(each));
  }
  return 0;
}
