// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/perf/perf_data_stacks.h"

#include "collapse/symbolize/vdso.h"

namespace memflame {

void PerfStacks::add(const PerfSample& sample, size_t column) {
  const std::string name = root(sample);
  ids_.assign(1, roots_.try_emplace(name, static_cast<uint32_t>(roots_.size())).first->second);
  bool first = true;
  for (const uint64_t address : sample.kernel) {
    ids_.push_back(place(sample, address, true, !first).index);
    first = false;
  }
  first = true;
  for (const uint64_t address : sample.user) {
    ids_.push_back(place(sample, address, false, !first).index);
    first = false;
  }
  const auto [known, added] = sums_.try_emplace(ids_, next_index(recording_.sums.size()));
  if (added) {
    Aggregate& sum = recording_.sums.emplace_back();
    sum.stack = RawStackId{next_index(recording_.stacks.size())};
    sum.group = name;
    sum.values.assign(recording_.types.size(), 0);
    RawStack& stack = recording_.stacks.emplace_back();
    stack.kernel_pcs = static_cast<uint32_t>(sample.kernel.size());
    std::vector<LocationId>& frames = recording_.frames.emplace_back();
    for (size_t i = 1; i < ids_.size(); ++i) {
      frames.push_back(LocationId{ids_[i]});
      stack.pcs.push_back(recording_.locations[ids_[i]].pc);
    }
  }
  int64_t& sum = recording_.sums[known->second].values[column];
  if (sample.period > INT64_MAX ||
      __builtin_add_overflow(sum, static_cast<int64_t>(sample.period), &sum))
    throw Error("the periods of its samples leave the range of 64 bits");
}

LocationId PerfStacks::place(const PerfSample& sample, uint64_t address, bool kernel,
                             bool is_return) {
  const uint64_t looked_up = is_return ? address - 1 : address;
  Key key{.is_return = is_return, .where = address};
  if (kernel) {
    key.kind = Kind::kernel;
  } else if (const PerfCodePlace found = processes_.find(sample.pid, looked_up); found.module) {
    const bool in_file = recording_.modules[found.module.index].kind != ModuleKind::anonymous;
    key = in_file ? Key{Kind::file, is_return, found.module.index, found.offset}
                  : Key{Kind::anonymous, is_return, jit_space(sample.pid).index, address};
  }
  const auto [known, added] = locations_.try_emplace(key);
  if (added) known->second = add_place(key, address);
  return known->second;
}

LocationId PerfStacks::add_place(const Key& key, uint64_t address) {
  const LocationId id{next_index(recording_.locations.size())};
  Location& location = recording_.locations.emplace_back();
  location.pc = {address, key.is_return};
  location.is_code = key.kind != Kind::unmapped;
  const NamelessAddress target{id, key.where};
  switch (key.kind) {
    case Kind::file:
      places_.files[ModuleId{key.owner}].push_back(target);
      break;
    case Kind::anonymous:
      location.space = SpaceId{key.owner};
      places_.anonymous[location.space].push_back(target);
      break;
    case Kind::kernel:
      places_.kernel.push_back(target);
      break;
    case Kind::unmapped:
      if (address >= vsyscall_start && address < vsyscall_end)
        places_.vsyscall.push_back({id, address - vsyscall_start});
      else
        places_.unmapped.push_back(target);
      break;
  }
  return id;
}

SpaceId PerfStacks::jit_space(uint32_t pid) {
  const auto [known, added] = jit_spaces_.try_emplace(pid);
  if (added) {
    known->second = SpaceId{next_index(recording_.spaces.size())};
    recording_.spaces.emplace_back().pid = pid;
  }
  return known->second;
}

// As perf script and its readers write it: "name", "name-pid", "name-pid/tid".
std::string PerfStacks::root(const PerfSample& sample) {
  std::string text;
  if (options_.comm) text = processes_.comm(sample.pid, sample.tid);
  const char* separator = text.empty() ? "" : "-";
  if (options_.pid || options_.tid) text += separator + std::to_string(sample.pid);
  if (options_.tid) text += "/" + std::to_string(sample.tid);
  return text;
}

}  // namespace memflame
