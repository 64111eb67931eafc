// SPDX-License-Identifier: BSD-2-Clause
// The memory of a Java program: the layout of its objects, its registers, and what lies behind.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/java_lines.h"
#include "probes/languages/scripts.h"
#include "tests/probes/languages/java_memory.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t base = 1 << 20;
  bpf::java_layout layout{};
  uint64_t registers[3] = {};
  if (size < sizeof(layout) + sizeof(registers)) return 0;
  std::memcpy(&layout, data, sizeof(layout));
  std::memcpy(registers, data + sizeof(layout), sizeof(registers));
  data += sizeof(layout) + sizeof(registers);
  size -= sizeof(layout) + sizeof(registers);
  bpf::read_java_memory = [&](void* to, size_t bytes, uint64_t address) -> long {
    if (address < base || address - base > size || size - (address - base) < bytes) return -14;
    std::memcpy(to, data + (address - base), bytes);
    return 0;
  };
  // Most inputs describe no machine that runs, so half of them need not.
  if ((registers[0] & 2U) != 0) {
    layout.begun = 1;
    layout.heap[0] = {.low = base, .bytes = base, .segments = base, .segment_bits = 3};
    layout.low = base;
    layout.bytes = base;
  }
  if (bpf::begin_java(&layout, base) == 0 || layout.heaps > bpf::java_most_heaps) return 0;
  bpf::frame at{};
  at.ip = registers[0];
  at.sp = registers[1];
  at.bp = registers[2];
  at.exact = registers[0] & 1U;
  Scripts scripts;
  auto record = std::make_unique<bpf::script_code_record>();
  auto scopes = std::make_unique<bpf::java_scopes>();
  bpf::JavaRoom room{};
  for (int i = 0; i < 16; ++i) {
    const uint64_t sp = at.sp, pc = at.ip;
    bpf::java_frame frame{};
    const bpf::java_step step =
        bpf::step_java(&layout, &at, room.bytes, &room.memos, registers[0], &frame);
    if (step != bpf::java_taken && step != bpf::java_passed) break;
    if (at.sp <= sp) std::abort();
    record->language = bpf::language_java;
    record->code = bpf::script_identity(frame.word);
    if (!bpf::is_java_code(frame.word)) {
      bpf::read_java_method(&layout, record->code, record.get());
      scripts.take(*record, sizeof(*record));
    } else if (const uint64_t blob = bpf::read_java_blob(&layout, pc, scopes->memory)) {
      bpf::read_java_scopes(&layout, scopes.get(), bpf::java_compiled, blob, pc);
      if (scopes->count > bpf::java_most_inlined) std::abort();
    }
    std::vector<Pc> pcs;
    scripts.place({}, frame.word, pcs);
    for (const Pc& each : pcs)
      java_line(scripts.all().at(script_index(each)).lines, script_place(each));
  }
  return 0;
}
