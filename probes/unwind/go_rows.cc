// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/go_rows.h"

#include <algorithm>

#include "core/elf/go_table.h"

namespace memflame::unwind {
namespace {

struct Special {
  std::string_view name;
  row_kind kind;
};
// runtime/asm_amd64.s and rt0_linux_amd64.s. Stacks begin in the functions marked TOPFRAME there,
// and in those that run on a thread's own stack and never return to the goroutine that called them
// (mcall, morestack). systemstack and asmcgocall do return to a goroutine's stack, but only the
// runtime's variables say where it is, so their callers are unknown. Go's table describes all of
// these functions as if their caller were on the same stack.
constexpr Special special[] = {
    {"runtime.goexit", row_end},      {"runtime.mstart", row_end},
    {"runtime.rt0_go", row_end},      {"_rt0_amd64_linux", row_end},
    {"runtime.mcall", row_end},       {"runtime.morestack", row_end},
    {"runtime.systemstack", row_bad}, {"runtime.asmcgocall", row_bad},
};

row rule(uint64_t pc, row_kind kind, uint64_t cfa = 0) {
  return {static_cast<uint32_t>(pc), static_cast<row_u16>(cfa), static_cast<row_u8>(kind), 0};
}

std::vector<row> rows_of(const GoFunctions& go, const GoFunctions::Function& function) {
  std::vector<row> rows;
  for (const GoFunctions::Depth& depth : go.depths(function)) {
    const uint64_t pc = depth.start - function.start, words = depth.bytes / 8 + 1;
    const bool fits = depth.bytes % 8 == 0 && words <= UINT16_MAX;
    rows.push_back(fits ? rule(pc, row_rsp, words) : rule(pc, row_bad));
  }
  return rows;
}

}  // namespace

GoRows go_rows(const ImageBytes& image, const ElfImage& elf) {
  const GoTable table = go_table(image, elf);
  if (!table.functions) return {};
  const GoFunctions& go = *table.functions;
  GoRows found;
  found.functions.reserve(go.functions().size());
  for (const GoFunctions::Function& function : go.functions()) {
    KnownCode known{function.start, function.end, {}};
    const auto* begin = std::ranges::find(special, go.name(function), &Special::name);
    if (begin != std::end(special)) {
      known.rows = {rule(0, begin->kind)};
      found.special.push_back(known);
    } else {
      known.rows = rows_of(go, function);
    }
    if (!known.rows.empty()) found.functions.push_back(std::move(known));
  }
  return found;
}

}  // namespace memflame::unwind
