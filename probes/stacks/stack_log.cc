// SPDX-License-Identifier: BSD-2-Clause
#include "probes/stacks/stack_log.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace memflame {
namespace {

constexpr std::array<const char*, bpf::note_count> note_texts{
    "",
    "[lost: ring buffer full]",
    "[lost: stack table full]",
    "[lost: live table full]",
    "[lost: no buffer for the stack]",
    "[exec: set up by the kernel]",
    "[by another task: reclaim, ptrace, …]",
};

// As the programs take it, so that a stack has one hash, however it was taken.
uint64_t hash_of(const RawStack& stack, std::span<const LaterCode> later) {
  uint64_t hash = bpf::mix(0, stack.space.index);
  for (size_t i = 0; i < stack.pcs.size(); ++i) {
    const bool exact_user = i >= stack.kernel_pcs && !stack.pcs[i].is_return;
    hash = bpf::mix(hash, stack.pcs[i].addr | (exact_user ? exact_address : 0));
  }
  for (size_t i = later.empty() ? stack.pcs.size() : stack.kernel_pcs; i < stack.pcs.size(); ++i) {
    const Pc& pc = stack.pcs[i];
    const uint64_t turn = is_script(pc) ? 0 : turn_at(later, pc.addr - (pc.is_return ? 1 : 0));
    if (turn != 0) hash = bpf::mix(hash, turn);
  }
  return bpf::stack_key(hash);
}

}  // namespace

const RawStack* StackLog::announced(const bpf::stack_record& record, size_t size,
                                    Scripts& scripts) {
  const size_t words = size_t{record.kernel_frames} + record.frames;
  if (size < offsetof(bpf::stack_record, pcs) + words * sizeof(uint64_t)) return nullptr;
  if (record.leaf != 0) leaves_[record.hash] = record.leaf;
  const auto [entry, is_new] = stacks_.try_emplace(record.hash);
  RawStack& stack = entry->second;
  // Each probe of a run announces the stacks of its own figures, so that a stack may come again.
  const uint64_t first_seen = is_new ? record.time : std::min(stack.time_ns, record.time);
  stack = {};
  stack.space = SpaceId{record.space};
  stack.time_ns = first_seen;
  stack.kernel_pcs = record.kernel_frames;
  stack.stop = static_cast<StopReason>(record.stop);
  stack.pcs.reserve(words);
  for (size_t i = 0; i < words; ++i) {
    const uint64_t pc = record.pcs[i];
    if (i < record.kernel_frames)
      stack.pcs.push_back({pc, i != 0});
    else if (bpf::script_language(pc) != bpf::language_none)
      scripts.place(stack.space, pc, stack.pcs);
    else
      stack.pcs.push_back({pc & ~exact_address, (pc & exact_address) == 0});
  }
  return &stack;
}

void StackLog::copied(uint64_t key, RawStack&& stack, std::span<const LaterCode> later) {
  const uint64_t hash = hash_of(stack, later);
  copies_[key] = hash;
  stacks_.try_emplace(hash, std::move(stack));
}

void StackLog::add(uint32_t probe, const bpf::amount_record& record) {
  if (record.column < bpf::columns) amounts_[probe][record.key].at(record.column) += record.value;
}

void StackLog::for_each_of(const std::function<bool(SpaceId)>& is_wanted,
                           const std::function<void(uint64_t key, const RawStack&)>& visit) const {
  for (const auto& [key, stack] : stacks_)
    if (is_wanted(stack.space)) visit(key, stack);
}

uint64_t StackLog::keep_own(RawStack&& stack) {
  uint64_t key = hash_of(stack, {});
  while (stacks_.contains(key)) key = bpf::stack_key(bpf::mix(key, 1));
  keep(key, std::move(stack));
  return key;
}

void StackLog::add(uint32_t probe, uint64_t key, const Values& values) {
  Values& sum = amounts_[probe][key];
  std::ranges::transform(sum, values, sum.begin(), std::plus<>());
}

void StackLog::move(std::span<const StackMove> moves, bool has_blocks,
                    const std::function<void(uint32_t probe, Values&)>& add_event) {
  const auto take = [&](uint64_t from, uint64_t to, bool is_copy) {
    bool lives = false;
    for (auto& [probe, amounts] : amounts_) {
      auto entry = amounts.extract(from);
      if (entry.empty()) continue;
      // For probes that follow blocks, the second column is the number of live ones.
      lives = lives || (has_blocks && probe == 0 && entry.mapped()[1] != 0);
      if (is_copy) add_event(probe, entry.mapped());
      add(probe, to, entry.mapped());
    }
    return lives;
  };
  std::unordered_map<uint64_t, uint64_t> target;
  for (const StackMove& move : moves) target.emplace(move.from, move.to);
  for (auto copy = copies_.begin(); copy != copies_.end();) {
    const auto moved = target.find(copy->second);
    const bool is_needed = moved == target.end() || take(copy->first, moved->second, true);
    if (is_needed && moved != target.end()) copy->second = moved->second;
    copy = is_needed ? std::next(copy) : copies_.erase(copy);
  }
  for (const StackMove& move : moves) {
    const bool lives = take(move.from, move.to, false) || (has_blocks && move.has_blocks);
    stacks_.erase(move.from);
    leaves_.erase(move.from);
    if (lives && move.from >> 63 != 0) copies_[move.from] = move.to;
  }
}

std::vector<uint64_t> StackLog::forget(const IsGone& is_gone) {
  std::vector<uint64_t> keys;
  std::erase_if(stacks_, [&](const auto& entry) {
    if (!is_gone(entry.second.space)) return false;
    keys.push_back(entry.first);
    return true;
  });
  if (keys.empty()) return keys;
  std::erase_if(copies_, [&](const auto& copy) {
    if (stacks_.contains(copy.second)) return false;
    keys.push_back(copy.first);
    return true;
  });
  for (const uint64_t key : keys) leaves_.erase(key);
  for (auto& [probe, amounts] : amounts_)
    for (const uint64_t key : keys) amounts.erase(key);
  return keys;
}

uint64_t StackLog::known_as(uint64_t key) const {
  const auto copy = copies_.find(key);
  return copy == copies_.end() ? key : copy->second;
}

const RawStack* StackLog::find(uint64_t key) const {
  const auto stack = stacks_.find(known_as(key));
  return stack == stacks_.end() ? nullptr : &stack->second;
}

uint16_t StackLog::leaf_of(uint64_t key) const {
  const auto leaf = leaves_.find(key);
  return leaf == leaves_.end() ? 0 : leaf->second;
}

void StackLog::for_each_amount(
    uint32_t probe, const std::function<void(uint64_t key, const Values&)>& visit) const {
  const auto of_probe = amounts_.find(probe);
  if (of_probe == amounts_.end()) return;
  for (const auto& [key, values] : of_probe->second) visit(key, values);
}

RawStack StackLog::stack_of(uint64_t key) const {
  if (const RawStack* known = find(key)) return *known;
  RawStack stack;
  if (key >> 63 != 0) {
    stack.note = "[lost: ring buffer full]";
  } else {
    stack.space = SpaceId{static_cast<uint32_t>(key >> 8)};
    const size_t note = key & 0xff;
    stack.note = note < note_texts.size() ? note_texts.at(note) : "[lost]";
  }
  return stack;
}

}  // namespace memflame
