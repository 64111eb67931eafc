// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/joined.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace memflame {
namespace {

// Appends a table, whose first entry stands for none. Returns what to add to an id of it.
template <class Entry>
uint32_t append(std::vector<Entry>& into, std::vector<Entry>& from) {
  const auto shift = static_cast<uint32_t>(into.size() - 1);
  into.insert(into.end(), std::make_move_iterator(from.begin() + 1),
              std::make_move_iterator(from.end()));
  return shift;
}

template <class Id>
void move_id(Id& id, uint32_t shift) {
  if (id) id.index += shift;
}

// The column of `from` for each one of `into`; no_column if it is not there.
std::vector<size_t> columns_of(const Recording& into, const Recording& from) {
  std::vector<size_t> columns;
  for (const ValueType& type : into.types) {
    const auto same = std::ranges::find(from.types, type.name, &ValueType::name);
    columns.push_back(same == from.types.end() ? no_column
                                               : static_cast<size_t>(same - from.types.begin()));
  }
  return columns;
}

// What both compare with the OS is the sum of both; it is not known if one could not read it.
void join_comparisons(Meta& into, const Meta& from) {
  for (const Reconciliation& more : from.reconciliation) {
    const auto same = std::ranges::find(into.reconciliation, more.name, &Reconciliation::name);
    if (same == into.reconciliation.end()) {
      into.reconciliation.push_back(more);
      continue;
    }
    same->captured += more.captured;
    if (same->os && more.os)
      *same->os += *more.os;
    else
      same->os.reset();
  }
}

}  // namespace

void join_recording(Recording& into, Recording from) {
  const std::vector<size_t> columns = columns_of(into, from);
  const uint32_t modules = append(into.modules, from.modules);
  const size_t first_space = into.spaces.size(), first_stack = into.stacks.size();
  const auto spaces = static_cast<uint32_t>(first_space - 1);
  for (size_t i = 1; i < from.spaces.size(); ++i) into.spaces.push_back(std::move(from.spaces[i]));
  const uint32_t scripts = append(into.scripts, from.scripts);
  const uint32_t stacks = append(into.stacks, from.stacks);
  for (size_t i = first_space; i < into.spaces.size(); ++i) {
    move_id(into.spaces[i].forked_from, spaces);
    for (Mapping& mapping : into.spaces[i].mappings) move_id(mapping.module, modules);
  }
  for (size_t i = first_stack; i < into.stacks.size(); ++i) {
    move_id(into.stacks[i].space, spaces);
    for (Pc& pc : into.stacks[i].pcs)
      if (is_script(pc) && script_index(pc) != 0)
        pc = script_pc(script_index(pc) + scripts, script_place(pc));
  }
  for (Aggregate& sum : from.sums) {
    move_id(sum.stack, stacks);
    move_id(sum.above, stacks);
    std::vector<int64_t> values;
    values.reserve(columns.size());
    for (const size_t column : columns)
      values.push_back(column == no_column ? 0 : sum.values[column]);
    sum.values = std::move(values);
    into.sums.push_back(std::move(sum));
  }
  for (std::string& name : from.shared_names)
    if (std::ranges::find(into.shared_names, name) == into.shared_names.end())
      into.shared_names.push_back(std::move(name));
  into.losses.add(from.losses);
  join_comparisons(into.meta, from.meta);
  for (std::string& note : from.meta.notes)
    into.meta.notes.push_back("by the kernel's probes: " + std::move(note));
}

}  // namespace memflame
