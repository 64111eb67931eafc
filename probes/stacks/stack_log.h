// SPDX-License-Identifier: BSD-2-Clause
// The stacks that a run has met: announced by BPF programs under their hash, or copied under a key
// of their own and walked here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/recording.h"
#include "probes/bpf/shared.h"
#include "probes/languages/scripts/scripts.h"
#include "probes/processes/code_turns.h"
#include "probes/processes/gone.h"

namespace memflame {

// From now on the figures of one stack, or note, are those of another: see Estates.
struct StackMove {
  uint64_t from = 0, to = 0;
  bool has_blocks = false;  // some still live, and name the first
};

class StackLog {
 public:
  using Values = std::array<int64_t, bpf::columns>;

  // Keeps an announced stack; null if the record is damaged.
  const RawStack* announced(const bpf::stack_record& record, size_t size, Scripts& scripts);
  // Keeps a copied stack, once for all copies of it. `later`: the code that was there then.
  void copied(uint64_t key, RawStack&& stack, std::span<const LaterCode> later = {});
  // Keeps a stack that has a key of its own.
  void keep(uint64_t key, RawStack&& stack) { stacks_.insert_or_assign(key, std::move(stack)); }
  // A figure of a copied stack, of the probe with this number in the run.
  void add(uint32_t probe, const bpf::amount_record& record);

  // The stacks of spaces, by their keys.
  void for_each_of(const std::function<bool(SpaceId)>& is_wanted,
                   const std::function<void(uint64_t key, const RawStack&)>& visit) const;
  // Keeps a stack that nobody announced. Returns its key.
  uint64_t keep_own(RawStack&& stack);
  // Adds figures to those of copied stacks.
  void add(uint32_t probe, uint64_t key, const Values& values);
  // What was kept of the first stack, or note, is kept of the second from now on. Copies count as
  // events: `add_event` adds one of a probe to figures in which it is not counted. `has_blocks`:
  // the first probe follows blocks, which name their stacks as long as they live.
  void move(std::span<const StackMove> moves, bool has_blocks,
            const std::function<void(uint32_t probe, Values&)>& add_event);

  // Gives back the stacks of spaces that are gone, and their figures. Returns their keys.
  std::vector<uint64_t> forget(const IsGone& is_gone);

  const RawStack* find(uint64_t key) const;
  // What an announced stack ends in: a bpf::kernel_leaf; 0 = nothing but code.
  uint16_t leaf_of(uint64_t key) const;
  // The figures of all copied stacks, of one probe.
  void for_each_amount(uint32_t probe,
                       const std::function<void(uint64_t key, const Values&)>& visit) const;
  // The stack itself, or what stands in for it.
  RawStack stack_of(uint64_t key) const;
  // One key for all copies of a stack.
  uint64_t known_as(uint64_t key) const;

 private:
  std::unordered_map<uint64_t, RawStack> stacks_;  // by hash
  std::unordered_map<uint64_t, uint16_t> leaves_;  // by hash
  std::unordered_map<uint64_t, uint64_t> copies_;  // key -> hash
  // By the probe's number, then by key, as they come.
  std::map<uint32_t, std::unordered_map<uint64_t, Values>> amounts_;
};

}  // namespace memflame
