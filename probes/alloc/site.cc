#include "probes/alloc/site.h"

#include <algorithm>
#include <optional>

namespace memflame {
namespace {

// Whether code behind the entry up to `last` is reached from elsewhere than from the entry.
bool jumped_into(std::span<const Instruction> body, uint64_t entry, uint64_t last) {
  return std::any_of(body.begin(), body.end(),
                     [&](const Instruction& i) { return i.target > entry && i.target <= last; });
}

// A computed jump may go anywhere in its own function; one through a slot of the linker leaves it.
bool jumps_anywhere(std::span<const Instruction> body, uint64_t entry, uint64_t size) {
  return std::any_of(body.begin(), body.end(), [&](const Instruction& i) {
    return i.kind == Instruction::jump && i.target == 0 && i.slot == 0 && i.address - entry < size;
  });
}

}  // namespace

Site choose_site(CodeBytes entry, uint64_t address, std::span<const Instruction> body,
                 const SiteNeeds& needs) {
  const std::optional<Instruction> first = decode(entry, address, needs.long_nops);
  if (!first) return {0, ProbeCost::refused};
  Site best{0, first->cost};
  if (first->cost == ProbeCost::emulated) return best;
  const bool may_move = needs.size != 0 && !jumps_anywhere(body, address, needs.size);
  std::optional<Instruction> at = first;
  while (may_move && at->kind == Instruction::other && !at->changes_stack &&
         (at->arguments_written & needs.arguments) == 0) {
    const uint64_t delta = at->next() - address;
    at = decode(entry.subspan(delta), address + delta, needs.long_nops);
    if (!at || jumped_into(body, address, address + delta)) break;
    if (at->cost == ProbeCost::emulated) return {delta, ProbeCost::emulated};
    if (best.cost == ProbeCost::refused) best = {delta, at->cost};
  }
  return best;
}

}  // namespace memflame
