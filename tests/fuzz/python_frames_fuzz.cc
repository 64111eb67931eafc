// SPDX-License-Identifier: BSD-2-Clause
// The memory of a Python program: the state of its thread is at the beginning. The first byte says
// which version, or that the offsets are from the input.
#include <cstdlib>
#include <vector>

#include "core/python_lines.h"
#include "probes/languages/python/program.h"
#include "probes/languages/scripts/scripts.h"
#include "tests/fuzz/made_memory.h"
#include "tests/probes/languages/python_memory.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

namespace {

bpf::python_layout layout_of(uint8_t choice, std::span<const uint8_t>& input) {
  if ((choice & made_layout) == 0) return python_version(11 + (choice & 63U) % 5)->layout;
  auto layout = take_made<bpf::python_layout>(input);
  for (uint16_t* offset : {&layout.frame_code, &layout.frame_instruction, &layout.frame_previous})
    *offset &= uint16_t{0xfff8};  // no layout has words elsewhere
  return layout;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const uint8_t> input(data, size);
  const auto choice = take_made<uint8_t>(input);
  const bpf::python_layout layout = layout_of(choice, input);
  const MadeMemory memory{.bytes = input, .everywhere = (choice & made_everywhere) != 0};
  bpf::read_script = [&](void* to, size_t bytes, uint64_t address) {
    return memory.read(to, bytes, address);
  };
  // As in BPF programs, what was read of other stacks is still there.
  static bpf::script_chain chain;
  static bpf::script_code_record record;
  bpf::read_python(chain, layout, MadeMemory::base);
  if (chain.count > bpf::max_script_items) std::abort();
  record.language = bpf::language_python;
  Scripts scripts;
  for (uint32_t i = 0; i < chain.count && i < 8; ++i) {
    const uint64_t word = chain.items[i];
    if (bpf::script_language(word) == bpf::language_none) continue;
    record.code = bpf::script_code(word);
    if (bpf::read_python_code(&layout, record.code, &record) == 0) continue;
    if (record.line_bytes > bpf::max_script_lines) std::abort();
    scripts.take(record, sizeof(record));
    std::vector<Pc> pcs;
    scripts.place({}, word, pcs);
    const ScriptCode& code = scripts.all().at(script_index(pcs.at(0)));
    python_line(code.lines, code.first_line, bpf::script_place(word));
  }
  return 0;
}
