// SPDX-License-Identifier: BSD-2-Clause
// The executable mappings of each space, as sorted lists that BPF programs search.
//
// A new list is written beside the old one and published by one store; a walk in progress continues
// with the old one. The memory of an old list is therefore not reused for a second (rest_ns). Each
// mapping also carries the id of its list, so a walk that takes even longer fails instead of using
// wrong mappings.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/recording.h"
#include "probes/bpf/shared.h"

namespace memflame::unwind {

class CodeLists {
 public:
  // The programs' memory: code_slots, code_mappings and rules of bpf/walk.h.
  CodeLists(std::span<bpf::code_slot> slots, std::span<bpf::code_mapping> mappings,
            std::span<bpf::cached_rule> rules);

  // Takes a free entry for a space, once per space; 0 if none is free.
  uint32_t claim(SpaceId space);
  // The entry of a space; 0 if it has none.
  uint32_t slot_of(SpaceId space);
  // How often code was unmapped in a space; read it before building a list.
  uint32_t unmaps(SpaceId space);
  // Replaces the space's list by this one, sorted by address; it is not used if code was unmapped
  // since `unmaps` was read. `copies`: how many stacks that meet unknown code may be copied from
  // now on. False if there is no room.
  bool publish(SpaceId space, std::vector<bpf::code_mapping> list, uint32_t unmaps, uint32_t copies,
               uint64_t now_ns);
  // The space has ended.
  void release(SpaceId space, uint64_t now_ns);

  uint64_t refused() const { return refused_; }

 private:
  struct Range {
    uint32_t first = 0, count = 0;
  };
  bpf::code_slot* find(SpaceId space);
  bool allocate(uint32_t count, uint64_t now_ns, uint32_t& first);
  void retire(Range range, uint64_t now_ns);
  void reuse(uint64_t now_ns);
  uint32_t next_id();

  std::span<bpf::code_slot> slots_;
  std::span<bpf::code_mapping> mappings_;
  std::span<bpf::cached_rule> rules_;
  std::map<uint32_t, uint32_t> free_;               // first -> count
  std::deque<std::pair<uint64_t, Range>> retired_;  // when, in order
  std::map<uint32_t, Range> of_space_;              // by space
  uint32_t last_id_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace memflame::unwind
