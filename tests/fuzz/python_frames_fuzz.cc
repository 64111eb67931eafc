// SPDX-License-Identifier: BSD-2-Clause
// The memory of a Python program: the state of its thread is at the beginning. The first byte says
// which version.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/python_lines.h"
#include "probes/languages/python/program.h"
#include "probes/languages/scripts.h"
#include "tests/probes/languages/python_memory.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t base = 0x10000;
  if (size == 0) return 0;
  const bpf::python_layout layout = python_version(11 + data[0] % 3)->layout;
  ++data, --size;
  bpf::read_script = [&](void* to, size_t bytes, uint64_t address) -> long {
    if (address < base || address - base > size || size - (address - base) < bytes) return -14;
    std::memcpy(to, data + (address - base), bytes);
    return 0;
  };
  auto chain = std::make_unique<bpf::script_chain>();
  bpf::read_python(*chain, layout, base);
  if (chain->count > bpf::max_script_items) std::abort();
  auto record = std::make_unique<bpf::script_code_record>();
  record->language = bpf::language_python;
  Scripts scripts;
  for (uint32_t i = 0; i < chain->count && i < 8; ++i) {
    const uint64_t word = chain->items[i];
    if (bpf::script_language(word) == bpf::language_none) continue;
    record->code = bpf::script_code(word);
    if (bpf::read_python_code(&layout, record->code, record.get()) == 0) continue;
    scripts.take(*record, sizeof(*record));
    std::vector<Pc> pcs;
    scripts.place({}, word, pcs);
    const ScriptCode& code = scripts.all().at(script_index(pcs.at(0)));
    python_line(code.lines, code.first_line, bpf::script_place(word));
  }
  return 0;
}
