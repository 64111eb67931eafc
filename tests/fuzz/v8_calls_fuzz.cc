// SPDX-License-Identifier: BSD-2-Clause
// The memory of a process with V8, and a call in it: one that is all from the input, and one that
// is made, in which the input changes words.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "probes/languages/scripts/scripts.h"
#include "probes/languages/v8/tables.h"
#include "tests/probes/languages/v8_memory.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

namespace {

void read_all(const bpf::v8_call& call, uint32_t thread, const ReadV8Memory& read) {
  auto record = std::make_unique<bpf::script_code_record>();
  record->thread = thread;
  record->code = bpf::v8_word(call.key, &call.site);
  std::memcpy(record->lines, &call, sizeof(call));
  for (const bool is_file : {false, true}) {
    if (read_v8_calls(call, thread, is_file, read).sites.size() > 65) std::abort();
    Scripts scripts;
    scripts.take_v8_call(*record, sizeof(*record), is_file, read);
    std::vector<Pc> places;
    scripts.place({}, record->code, places);
    if (places.empty()) std::abort();
    for (const Pc& place : places)
      if (scripts.all().at(script_index(place)).function.empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t base = 0x10000;
  const ReadV8Memory read = [&](uint64_t address, void* to, size_t bytes) {
    if (address < base || address - base > size || size - (address - base) < bytes) return false;
    std::memcpy(to, data + (address - base), bytes);
    return true;
  };
  if (size < 64) return 0;
  constexpr uint16_t versions[] = {0x0a02, 0x0b03, 0x0c04, 0};
  bpf::v8_call call{};
  // What a program has seen in the frame, and types that are easy to meet.
  call.layout.version = versions[data[0] & 3U];
  call.layout.info_type = data[1];
  call.layout.script_type = data[2];
  call.layout.scope_type = data[3];
  call.layout.code_type = data[4];
  call.layout.bytecode_type = data[5];
  call.layout.bytes_type = call.layout.table_type = data[6];
  call.layout.deopt_type = data[7];
  call.layout.literal_type = data[8];
  call.layout.array_type = data[9];
  std::memcpy(&call.info, data + 16, 8);
  std::memcpy(&call.site, data + 24, sizeof(call.site));
  const V8Memory memory(call.layout, 0, read);
  call.key = memory.key_of(call.info);
  if (call.key == 0) call.key = 1;
  read_all(call, 0, read);
  V8Inlined made;
  for (size_t at = 16; at + 10 <= size && at < 160; at += 10) {
    uint64_t value = 0;
    std::memcpy(&value, data + at + 2, sizeof(value));
    const size_t words = made.process.bytes().size() / 8;
    const size_t place = (size_t{data[at]} << 8U | data[at + 1]) % words;
    std::memcpy(made.process.bytes().data() + 8 * place, &value, sizeof(value));
  }
  made.call.site.offset = data[12];
  read_all(made.call, V8Process::thread, made.process.reader());
  const std::span<const uint8_t> all(data, size);
  v8_position_in(all.subspan(16), data[10]);
  v8_baseline_bytecode(all.subspan(32), all.subspan(16, 16), versions[data[0] & 3U], data[11]);
  return 0;
}
