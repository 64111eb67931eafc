// SPDX-License-Identifier: BSD-2-Clause
// Any bytes as the code of a function: a site must come after the entry, be the start of an
// instruction, and lie within the bytes.
#include <cstdlib>

#include "probes/alloc/finding/site.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): no header

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  constexpr uint64_t address = 0x401000;
  const auto arguments = static_cast<uint8_t>(data[0] & 0x3f);
  const bool long_nops = (data[0] & 0x40) != 0, known = (data[0] & 0x80) == 0;
  const CodeBytes code(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  const std::vector<Instruction> body = decode_all(code, address, long_nops);
  const Site site = choose_site(
      code, address, body,
      {.arguments = arguments, .size = known ? code.size() : 0, .long_nops = long_nops});
  if (site.delta >= code.size()) std::abort();
  if (site.delta != 0 && !known) std::abort();
  // The skipped instructions change nothing that the probe needs.
  uint64_t delta = 0;
  while (delta < site.delta) {
    const std::optional<Instruction> passed = decode(code.subspan(delta), address + delta);
    if (!passed || passed->kind != Instruction::other || passed->changes_stack ||
        (passed->arguments_written & arguments) != 0)
      std::abort();
    delta += passed->length;
  }
  if (delta != site.delta) std::abort();
  for (const Instruction& i : body)
    if (i.target > address && i.target <= address + site.delta) std::abort();
  return 0;
}
