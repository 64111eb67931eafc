// SPDX-License-Identifier: BSD-2-Clause
// The memory of a process with V8, and a call in it.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "probes/languages/scripts.h"
#include "probes/languages/v8/tables.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t base = 0x10000;
  const ReadV8Memory read = [&](uint64_t address, void* to, size_t bytes) {
    if (address < base || address - base > size || size - (address - base) < bytes) return false;
    std::memcpy(to, data + (address - base), bytes);
    return true;
  };
  if (size < 64) return 0;
  constexpr uint16_t versions[] = {0x0a02, 0x0b03, 0x0c04, 0};
  auto record = std::make_unique<bpf::script_code_record>();
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
  for (const bool is_file : {false, true}) {
    const V8Calls calls = read_v8_calls(call, 0, is_file, read);
    if (calls.sites.size() > 65) std::abort();
    Scripts scripts;
    record->code = bpf::v8_word(call.key, &call.site);
    std::memcpy(record->lines, &call, sizeof(call));
    scripts.take_v8_call(*record, sizeof(*record), is_file, read);
    std::vector<Pc> places;
    scripts.place({}, record->code, places);
    if (places.empty()) std::abort();
    for (const Pc& place : places)
      if (scripts.all().at(script_index(place)).function.empty()) std::abort();
  }
  const std::span<const uint8_t> all(data, size);
  v8_position_in(all.subspan(16), data[10]);
  v8_baseline_bytecode(all.subspan(32), all.subspan(16, 16), versions[data[0] & 3U], data[11]);
  return 0;
}
