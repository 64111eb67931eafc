// SPDX-License-Identifier: BSD-2-Clause
// The memory of a PHP program: the globals of its executor are at the beginning.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "probes/languages/scripts.h"
#include "tests/probes/languages/php_memory.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t base = 0x10000;
  bpf::read_script = [&](void* to, size_t bytes, uint64_t address) -> long {
    if (address < base || address - base > size || size - (address - base) < bytes) return -14;
    std::memcpy(to, data + (address - base), bytes);
    return 0;
  };
  auto chain = std::make_unique<bpf::script_chain>();
  bpf::php_layout layout{};
  layout.offsets = size % 2 == 0 ? bpf::php_8_2 : bpf::php_8_4;
  bpf::read_php(*chain, layout, 0, base);
  if (chain->count > bpf::max_script_items) std::abort();
  auto record = std::make_unique<bpf::script_code_record>();
  record->language = bpf::language_php;
  Scripts scripts;
  // Few inputs have a chain that is whole, so functions are also read where there is none.
  for (uint32_t i = 0; i < 8; ++i) {
    uint64_t word = bpf::script_word(bpf::language_php, base + uint64_t{8} * i, i);
    uint64_t function = bpf::script_code(word);
    if (i < chain->count) {
      word = chain->items[i];
      function = chain->objects[i];
    }
    if (bpf::script_language(word) == bpf::language_none) continue;
    record->code = bpf::script_code(word);
    if (bpf::read_php_code(&layout, function, record.get()) == 0) continue;
    if (record->line_bytes > bpf::max_script_lines) std::abort();
    scripts.take(*record, sizeof(*record));
    std::vector<Pc> places;
    scripts.place({}, word, places);
    if (scripts.all().at(script_index(places.at(0))).function.empty()) std::abort();
  }
  return 0;
}
