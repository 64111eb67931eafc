// SPDX-License-Identifier: BSD-2-Clause
// The memory of a PHP program: the globals of its executor are at the beginning. The first byte
// says which version, or that the offsets are from the input.
#include <array>
#include <cstdlib>
#include <vector>

#include "probes/languages/scripts/scripts.h"
#include "tests/fuzz/made_memory.h"
#include "tests/probes/languages/php_memory.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const uint8_t> input(data, size);
  const auto choice = take_made<uint8_t>(input);
  bpf::php_layout layout{};
  static const std::array versions{bpf::php_8_1, bpf::php_8_2, bpf::php_8_3, bpf::php_8_4};
  layout.offsets = versions[choice % versions.size()];
  if ((choice & made_layout) != 0) layout.offsets = take_made<bpf::php_offsets>(input);
  const MadeMemory memory{.bytes = input, .everywhere = (choice & made_everywhere) != 0};
  bpf::read_script = [&](void* to, size_t bytes, uint64_t address) {
    return memory.read(to, bytes, address);
  };
  // As in BPF programs, what was read of other stacks is still there.
  static bpf::script_chain chain;
  static bpf::script_code_record record;
  bpf::read_php(chain, layout, 0, MadeMemory::base);
  if (chain.count > bpf::max_script_items) std::abort();
  record.language = bpf::language_php;
  Scripts scripts;
  // Few inputs have a chain that is whole, so functions are also read where there is none.
  for (uint32_t i = 0; i < 8; ++i) {
    uint64_t word = bpf::script_word(bpf::language_php, MadeMemory::base + uint64_t{8} * i, i);
    uint64_t function = bpf::script_code(word);
    if (i < chain.count) {
      word = chain.items[i];
      function = chain.objects[i];
    }
    if (bpf::script_language(word) == bpf::language_none) continue;
    record.code = bpf::script_code(word);
    if (bpf::read_php_code(&layout, function, &record) == 0) continue;
    if (record.line_bytes > bpf::max_script_lines) std::abort();
    scripts.take(record, sizeof(record));
    std::vector<Pc> places;
    scripts.place({}, word, places);
    if (scripts.all().at(script_index(places.at(0))).function.empty()) std::abort();
  }
  return 0;
}
