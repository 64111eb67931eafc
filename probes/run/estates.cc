// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/estates.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

namespace memflame {
namespace {

// To look through all stacks for a few processes costs more than their stacks.
constexpr size_t fewest_at_once = 100;

void append(std::string& text, uint64_t word) {
  text.append(reinterpret_cast<const char*>(&word), sizeof(word));
}

// Processes whose figures may be added up: also by the OS's figures, which some have and some lack.
std::string name_of(const Processes& processes, SpaceId space) {
  std::string name = processes.spaces().name_of(space);
  name += '\0' + processes.spaces().cgroup_of(space) + '\0';
  name += processes.os().has_figures(space) ? '+' : '-';
  return name + '\0';
}

const Mapping* mapping_of(std::span<const Mapping> code, uint64_t address) {
  const auto behind = std::ranges::upper_bound(code, address, {}, &Mapping::start);
  if (behind == code.begin()) return nullptr;
  const Mapping& before = *std::prev(behind);
  return address < before.end ? &before : nullptr;
}

// What tells a stack from others, in whichever process: none for code that only one process has.
std::optional<std::string> identity(const RawStack& stack, uint64_t leaf,
                                    std::span<const Mapping> code, const Spaces& spaces) {
  std::string text = stack.note + '\0' + stack.leaf + '\0';
  append(text, leaf << 40 | uint64_t{stack.kernel_pcs} << 8 | static_cast<uint64_t>(stack.stop));
  for (size_t i = 0; i < stack.pcs.size(); ++i) {
    const Pc& pc = stack.pcs[i];
    const Mapping* mapping = nullptr;
    if (i >= stack.kernel_pcs && !is_script(pc))
      mapping = mapping_of(code, pc.addr - (pc.is_return ? 1 : 0));
    if (mapping != nullptr && spaces.module(mapping->module).kind == ModuleKind::anonymous)
      return std::nullopt;
    append(text, mapping == nullptr ? pc.addr : pc.addr - mapping->start + mapping->offset);
    append(text, (mapping == nullptr ? 0 : uint64_t{mapping->module.index} << 1) |
                     static_cast<uint64_t>(pc.is_return));
  }
  return text;
}

}  // namespace

std::vector<SpaceId> Estates::due(Spaces& spaces) {
  for (const SpaceId space : spaces.take_settled()) waiting_.push_back(space);
  std::vector<SpaceId> due;
  if (waiting_.size() < apart_ + fewest_at_once) return due;
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_.size() - apart_);
  due.assign(waiting_.begin(), end);
  waiting_.erase(waiting_.begin(), end);
  return due;
}

Estates::Taken Estates::take_over(std::span<const SpaceId> ended, StackLog& log,
                                  Processes& processes, const std::function<SpaceId()>& new_space) {
  Spaces& spaces = processes.spaces();
  const auto estate_like = [&](SpaceId like) {
    const SpaceId id = new_space();
    processes.begin_estate(id, like);
    return id;
  };
  Taken taken;
  std::unordered_set<uint32_t> wanted, kept;
  for (const SpaceId space : ended) {
    wanted.insert(space.index);
    SpaceId& notes = notes_[name_of(processes, space)];
    if (!notes) notes = estate_like(space);
    for (uint64_t note = 0; note < bpf::note_count; ++note)
      taken.moves.push_back({uint64_t{space.index} << 8 | note, uint64_t{notes.index} << 8 | note});
  }
  std::vector<std::pair<uint64_t, RawStack>> stacks;
  log.for_each_of([&](SpaceId space) { return wanted.contains(space.index); },
                  [&](uint64_t key, const RawStack& stack) { stacks.emplace_back(key, stack); });
  std::unordered_map<uint32_t, SpaceId> estates;  // by the space whose code they have
  for (auto& [key, stack] : stacks) {
    const std::vector<Mapping>& code = spaces.code_of(stack.space, stack.time_ns);
    const auto what = identity(stack, log.leaf_of(key), code, spaces);
    if (!what) {
      kept.insert(stack.space.index);
      continue;
    }
    uint64_t& into = keys_[name_of(processes, stack.space) + *what];
    if (into == 0) {
      SpaceId& estate = estates[stack.space.index];
      if (!estate) estate = estate_like(stack.space);
      for (const Pc& pc : stack.pcs)
        if (const Mapping* mapping = mapping_of(code, pc.addr - (pc.is_return ? 1 : 0)))
          spaces.add_code(estate, *mapping);
      stack.space = estate;
      into = log.keep_own(std::move(stack));
    }
    taken.moves.push_back({key, into});
  }
  std::ranges::copy_if(ended, std::back_inserter(taken.given_back),
                       [&](SpaceId space) { return !kept.contains(space.index); });
  return taken;
}

}  // namespace memflame
