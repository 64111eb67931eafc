// SPDX-License-Identifier: BSD-2-Clause
// ELF files of watched programs, to unwind tables. Start it with some: unwind_table_fuzz corpus/
#include <cstdlib>

#include "core/elf/build_id.h"
#include "probes/unwind/table.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): a program of its own
using namespace memflame::unwind;  // NOLINT(google-build-using-namespace): a program of its own

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto image = std::as_bytes(std::span(data, size));
  const Table table = make_table(image);
  if (table.rows.empty() != table.segments.empty()) std::abort();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const row& r = table.rows[i];
    if (!is_kind(r.kind)) std::abort();
    if (i == 0 && r.pc != 0) std::abort();
    if (i == 0) continue;
    const row& before = table.rows[i - 1];
    if (before.pc >= r.pc || (before.kind == r.kind && before.cfa == r.cfa && before.rbp == r.rbp))
      std::abort();
  }
  for (const Segment& s : table.segments) {
    uint64_t address = 0;
    if (!base_address(table, 0x7f0000000000, s.offset & ~uint64_t{4095}, address)) std::abort();
  }
  build_id(ImageBytes(image));
  return 0;
}
