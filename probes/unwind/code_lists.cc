// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/code_lists.h"

#include <algorithm>
#include <cstring>

namespace memflame::unwind {
namespace {

// Far longer than any walk takes, even if it is preempted.
constexpr uint64_t rest_ns = 1'000'000'000;
constexpr uint32_t probes = 64;  // as in claim_code_slot(), bpf/lifecycle.h

uint64_t list_word(uint32_t first, uint32_t count, uint32_t id) {
  return uint64_t{first} | uint64_t{count} << bpf::code_first_bits |
         uint64_t{id} << (bpf::code_first_bits + bpf::code_count_bits);
}

}  // namespace

CodeLists::CodeLists(std::span<bpf::code_slot> slots, std::span<bpf::code_mapping> mappings,
                     std::span<bpf::cached_rule> rules)
    : slots_(slots), mappings_(mappings), rules_(rules) {
  free_[0] =
      static_cast<uint32_t>(std::min<size_t>(mappings.size(), size_t{1} << bpf::code_first_bits));
}

bpf::code_slot* CodeLists::find(SpaceId space) {
  const auto size = static_cast<uint32_t>(slots_.size()) - 1;
  for (uint32_t i = 0; i < probes; ++i) {
    bpf::code_slot& slot = slots_[1 + (space.index + i) % size];
    if (__atomic_load_n(&slot.space, __ATOMIC_ACQUIRE) == space.index) return &slot;
  }
  return nullptr;
}

uint32_t CodeLists::claim(SpaceId space) {
  const auto size = static_cast<uint32_t>(slots_.size()) - 1;
  for (uint32_t i = 0; i < probes; ++i) {
    const uint32_t at = 1 + (space.index + i) % size;
    uint32_t free = 0;
    if (!__atomic_compare_exchange_n(&slots_[at].space, &free, space.index, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
      continue;
    __atomic_store_n(&slots_[at].list, uint64_t{0}, __ATOMIC_SEQ_CST);
    __atomic_store_n(&slots_[at].has_unmapped, 0U, __ATOMIC_SEQ_CST);
    return at;
  }
  ++refused_;
  return 0;
}

uint32_t CodeLists::slot_of(SpaceId space) {
  bpf::code_slot* slot = find(space);
  return slot == nullptr ? 0 : static_cast<uint32_t>(slot - slots_.data());
}

uint32_t CodeLists::unmaps(SpaceId space) {
  bpf::code_slot* slot = find(space);
  return slot == nullptr ? 0 : __atomic_load_n(&slot->unmaps, __ATOMIC_SEQ_CST);
}

bool CodeLists::publish(SpaceId space, std::vector<bpf::code_mapping> list, uint32_t unmaps,
                        uint32_t copies, uint64_t now_ns) {
  bpf::code_slot* slot = find(space);
  if (slot == nullptr) return false;
  const auto count = static_cast<uint32_t>(list.size());
  Range range{.first = 0, .count = count};
  if (count >> bpf::code_count_bits != 0 || !allocate(count, now_ns, range.first)) {
    ++refused_;
    return false;
  }
  const uint32_t id = next_id();
  for (bpf::code_mapping& mapping : list) mapping.id = id;
  std::copy(list.begin(), list.end(), mappings_.begin() + range.first);
  __atomic_store_n(&slot->copies, static_cast<int32_t>(copies), __ATOMIC_RELAXED);
  __atomic_store_n(&slot->list, list_word(range.first, count, id), __ATOMIC_SEQ_CST);
  // Code was unmapped since the list was made, so it may be wrong.
  if (__atomic_load_n(&slot->unmaps, __ATOMIC_SEQ_CST) != unmaps)
    __atomic_store_n(&slot->list, uint64_t{0}, __ATOMIC_SEQ_CST);
  Range& present = of_space_[space.index];
  retire(present, now_ns);
  present = range;
  return true;
}

void CodeLists::release(SpaceId space, uint64_t now_ns) {
  if (bpf::code_slot* slot = find(space)) {
    __atomic_store_n(&slot->list, uint64_t{0}, __ATOMIC_SEQ_CST);
    __atomic_store_n(&slot->copies, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&slot->space, 0U, __ATOMIC_SEQ_CST);
  }
  if (const auto range = of_space_.find(space.index); range != of_space_.end()) {
    retire(range->second, now_ns);
    of_space_.erase(range);
  }
}

bool CodeLists::allocate(uint32_t count, uint64_t now_ns, uint32_t& first) {
  reuse(now_ns);
  if (count == 0) return true;
  const auto fits = std::find_if(free_.begin(), free_.end(),
                                 [count](const auto& range) { return range.second >= count; });
  if (fits == free_.end()) return false;
  first = fits->first;
  const uint32_t left = fits->second - count;
  free_.erase(fits);
  if (left != 0) free_[first + count] = left;
  return true;
}

void CodeLists::retire(Range range, uint64_t now_ns) {
  if (range.count != 0) retired_.emplace_back(now_ns, range);
}

void CodeLists::reuse(uint64_t now_ns) {
  while (!retired_.empty() && retired_.front().first + rest_ns <= now_ns) {
    const Range range = retired_.front().second;
    retired_.pop_front();
    auto at = free_.emplace(range.first, range.count).first;
    if (const auto after = std::next(at);
        after != free_.end() && at->first + at->second == after->first) {
      at->second += after->second;
      free_.erase(after);
    }
    if (at != free_.begin()) {
      const auto before = std::prev(at);
      if (before->first + before->second == at->first) {
        before->second += at->second;
        free_.erase(at);
      }
    }
  }
}

// Ids repeat after 2^16 lists, so the cache of rules, which has them in its keys, is emptied first.
uint32_t CodeLists::next_id() {
  if (++last_id_ >> bpf::code_id_bits != 0) {
    last_id_ = 1;
    for (bpf::cached_rule& rule : rules_) {
      __atomic_store_n(&rule.key, uint64_t{0}, __ATOMIC_RELAXED);
      __atomic_store_n(&rule.rule, uint64_t{0}, __ATOMIC_RELAXED);
    }
  }
  return last_id_;
}

}  // namespace memflame::unwind
