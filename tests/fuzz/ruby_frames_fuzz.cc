// SPDX-License-Identifier: BSD-2-Clause
// The memory of a Ruby program: the state of its thread is at the beginning. The first byte says
// which version, and how tags are made, or that the offsets are from the input.
#include <cstdlib>
#include <vector>

#include "core/ruby_lines.h"
#include "probes/languages/ruby/program.h"
#include "probes/languages/scripts/scripts.h"
#include "tests/fuzz/made_memory.h"
#include "tests/probes/languages/ruby_memory.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

namespace {

bpf::ruby_layout layout_of(uint8_t choice, std::span<const uint8_t>& input) {
  if ((choice & made_layout) != 0) {
    auto layout = take_made<bpf::ruby_layout>(input);
    for (uint16_t* offset : {&layout.frame_bytes, &layout.tag_place, &layout.tag_previous})
      *offset &= uint16_t{0xfff8};  // no layout has words elsewhere
    return layout;
  }
  bpf::ruby_layout layout = *ruby_layout(1 + choice % 4);
  layout.loop_begin = 0x1000;
  layout.loop_end = 0x10000;
  if ((choice & 8U) != 0) {
    layout.tag_is_guarded = 1;
    layout.tag_place = 0x48;
    layout.tag_previous = 0xd8;
  }
  return layout;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const uint8_t> input(data, size);
  const auto choice = take_made<uint8_t>(input);
  const bpf::ruby_layout layout = layout_of(choice, input);
  const MadeMemory memory{.bytes = input, .everywhere = (choice & made_everywhere) != 0};
  bpf::read_script = [&](void* to, size_t bytes, uint64_t address) {
    return memory.read(to, bytes, address);
  };
  // As in BPF programs, what was read of other stacks is still there.
  static bpf::script_chain chain;
  static bpf::script_code_record record;
  bpf::read_ruby(chain, layout, 0, MadeMemory::base, 0);
  if (chain.count > bpf::max_script_items) std::abort();
  record.language = bpf::language_ruby;
  Scripts scripts;
  // Few inputs have a chain that is whole, so code is also read where there is none.
  for (uint32_t i = 0; i < 8; ++i) {
    const uint64_t word = i < chain.count ? chain.items[i]
                                          : bpf::script_word(bpf::language_ruby,
                                                             MadeMemory::base + uint64_t{8} * i, i);
    if (bpf::script_language(word) == bpf::language_none) continue;
    record.code = bpf::script_code(word);
    if (bpf::read_ruby_code(&layout, record.code, &record) == 0) continue;
    if (record.line_bytes > bpf::max_script_lines) std::abort();
    scripts.take(record, sizeof(record));
    std::vector<Pc> places;
    scripts.place({}, word, places);
    const ScriptCode& code = scripts.all().at(script_index(places.at(0)));
    ruby_line(code.lines, code.first_line, script_place(places[0]));
  }
  return 0;
}
