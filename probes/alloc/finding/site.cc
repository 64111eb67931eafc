// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/site.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace memflame {
namespace {

// Which registers hold which argument. Bit r of [n]: the register of argument r + 1 holds argument
// n + 1.
using Holders = std::array<uint8_t, 6>;

void follow(const Instruction& i, Holders& holders) {
  for (uint8_t& held : holders) {
    const bool copied = i.copy_of != 0 && (held >> (i.copy_of - 1) & 1) != 0;
    held = static_cast<uint8_t>(held & ~i.arguments_written);
    if (copied) held |= i.arguments_written;
  }
}

bool all_held(const Holders& holders, uint8_t arguments) {
  for (size_t n = 0; n < holders.size(); ++n)
    if ((arguments >> n & 1) != 0 && holders.at(n) == 0) return false;
  return true;
}

Site site_at(uint64_t delta, ProbeCost cost, const Holders& holders) {
  Site site{.delta = delta, .cost = cost};
  for (size_t n = 0; n < holders.size(); ++n)
    if (holders.at(n) != 0)
      site.holder.at(n) = static_cast<uint8_t>(std::countr_zero(holders.at(n)) + 1);
  return site;
}

// Whether a jump leads to code behind the entry, up to `last`, so that the entry is not passed.
bool jumped_into(std::span<const Instruction> body, uint64_t entry, uint64_t last) {
  return std::any_of(body.begin(), body.end(),
                     [&](const Instruction& i) { return i.target > entry && i.target <= last; });
}

// Whether the function has a computed jump, which may go anywhere in it. A jump through a slot of
// the linker leaves the function.
bool jumps_anywhere(std::span<const Instruction> body, uint64_t entry, uint64_t size) {
  return std::any_of(body.begin(), body.end(), [&](const Instruction& i) {
    return i.kind == Instruction::jump && i.target == 0 && i.slot == 0 && i.address - entry < size;
  });
}

// Whether a call in place of this instruction overwrites nothing that the function may read. A loop
// that leads back to the entry may have stored before.
bool keeps_data(const Instruction& at, bool stored, std::span<const Instruction> body,
                uint64_t entry, const SiteNeeds& needs) {
  if (!at.becomes_call) return true;
  return !stored && !needs.inside &&
         std::none_of(body.begin(), body.end(), [&](const Instruction& i) {
           return i.is_branch() && i.target >= entry && i.target < at.next();
         });
}

}  // namespace

Site choose_site(CodeBytes entry, uint64_t address, std::span<const Instruction> body,
                 const SiteNeeds& needs) {
  const std::optional<Instruction> first = decode(entry, address, needs.long_nops);
  if (!first) return {.delta = 0, .cost = ProbeCost::refused};
  Site best{.delta = 0, .cost = ProbeCost::refused};
  bool stored = false;
  if (keeps_data(*first, stored, body, address, needs)) best.cost = first->cost;
  Holders holders{1, 2, 4, 8, 16, 32};
  if (best.cost == ProbeCost::emulated) return best;
  const bool may_move = needs.size != 0 && !jumps_anywhere(body, address, needs.size);
  std::optional<Instruction> at = first;
  while (may_move && at->kind == Instruction::other && !at->changes_stack) {
    follow(*at, holders);
    stored |= at->stores;
    if (!all_held(holders, needs.arguments)) break;
    const uint64_t delta = at->next() - address;
    at = decode(entry.subspan(delta), address + delta, needs.long_nops);
    if (!at || jumped_into(body, address, address + delta)) break;
    if (!keeps_data(*at, stored, body, address, needs)) continue;
    if (at->cost == ProbeCost::emulated) return site_at(delta, at->cost, holders);
    if (best.cost == ProbeCost::refused) best = site_at(delta, at->cost, holders);
  }
  return best;
}

bpf::call_shape at_site(bpf::call_shape shape, const Site& site) {
  const auto now = [&](uint64_t number) -> unsigned {
    return number >= 1 && number <= site.holder.size() ? site.holder.at(number - 1)
                                                       : static_cast<unsigned>(number);
  };
  shape.size = now(shape.size) & 7U;
  shape.count = now(shape.count) & 7U;
  shape.block = now(shape.block) & 7U;
  shape.out = now(shape.out) & 7U;
  shape.pool = now(shape.pool) & 7U;
  if (shape.align != bpf::aligned_to_page) shape.align = now(shape.align) & 7U;
  return shape;
}

}  // namespace memflame
