// SPDX-License-Identifier: BSD-2-Clause
// Walks DWARF that may be damaged or malicious.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>

namespace memflame {

// Calls add(start, end) for the address ranges of an entry.
template <class Add>
void each_range(Dwarf_Die& die, Add add) {
  Dwarf_Addr base = 0, start = 0, end = 0;
  ptrdiff_t next = 0;
  while ((next = dwarf_ranges(&die, next, &base, &start, &end)) > 0) {
    // Linkers that drop a function leave 0 or a value near the top in place of its address.
    if (start != 0 && start < end) add(start, end);
  }
}

namespace detail {

template <class Visit>
void walk_children(Dwarf_Die& parent, uint64_t& budget, int depth, uint32_t state, Visit& visit) {
  constexpr int max_depth = 128;
  Dwarf_Die die;
  if (depth == max_depth || dwarf_child(&parent, &die) != 0) return;
  for (;;) {
    if (budget == 0) return;
    --budget;
    uint32_t inner = state;
    if (visit(die, inner)) walk_children(die, budget, depth + 1, inner, visit);
    // DW_AT_sibling may point anywhere, also backwards.
    const Dwarf_Off here = dwarf_dieoffset(&die);
    if (dwarf_siblingof(&die, &die) != 0 || dwarf_dieoffset(&die) <= here) return;
  }
}

}  // namespace detail

// Visits the entries below `root`: visit(die, state) says whether to go below `die`, and may change
// `state` for what is there. Every entry takes at least a byte, so a walk with more steps than its
// unit has bytes goes in circles, and ends.
template <class Visit>
void walk_tree(Dwarf_Die& root, Visit& visit) {
  Dwarf_Off next = 0;
  size_t header = 0;
  const Dwarf_Off unit = dwarf_dieoffset(&root) - dwarf_cuoffset(&root);
  if (dwarf_next_unit(dwarf_cu_getdwarf(root.cu), unit, &next, &header, nullptr, nullptr, nullptr,
                      nullptr, nullptr, nullptr) != 0 ||
      next <= unit)
    return;
  uint64_t budget = next - unit;
  detail::walk_children(root, budget, 0, 0, visit);
}

}  // namespace memflame
