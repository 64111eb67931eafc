// SPDX-License-Identifier: BSD-2-Clause
// All stacks of a run inside: each has a number, and its frames lie in a tree that stacks with the
// same callers share.
//
// The idea: a ring tells only how a stack differs from the one before, so its hash is continued
// from that of the frames kept (FrameChain), as the kernel's programs make theirs. One look-up of
// that hash finds the stack's number; the tree is walked only for stacks that are new. The seed is
// random, so a program cannot choose frames whose hashes are equal. Cost: 1 ns for each new frame,
// and one cache miss, which prefetch() hides; 32 bytes a stack and 16 a node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/recording.h"
#include "probes/inside/exchange/protocol.h"

namespace memflame::inside {

// The last stack of a ring, outermost frame first, as hashes: hashes[i] is that of i frames.
class FrameChain {
 public:
  void begin(uint64_t root) {
    if (hashes_.empty()) hashes_.resize(1);
    hashes_[0] = root;
    depth_ = 0;
  }
  uint32_t depth() const { return depth_; }
  void keep(uint32_t frames) { depth_ = frames; }
  // At most most_frames in all.
  void push(uint64_t word) {
    const uint64_t hash = mix(hashes_[depth_], word);
    if (++depth_ == hashes_.size()) hashes_.push_back(hash);
    hashes_[depth_] = hash;
  }
  uint64_t hash() const { return hashes_[depth_]; }

  static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 29;
  }

 private:
  std::vector<uint64_t> hashes_;
  uint32_t depth_ = 0;
};

class StackTree {
 public:
  static constexpr uint64_t no_frame = 0;

  StackTree();

  // The hash of a space's stack without frames.
  uint64_t root(SpaceId space) const { return FrameChain::mix(seed_, space.index); }
  // The key of a stack with these frames, that ended for this reason in this function.
  static uint64_t key(uint64_t hash, Function function, uint32_t stop) {
    const uint64_t key = FrameChain::mix(hash, uint64_t{function} << 8 | stop);
    return key == 0 ? 1 : key;
  }
  void prefetch(uint64_t key) const { __builtin_prefetch(&slots_[place(key)]); }

  // The stack's number; 0 if it is not known.
  uint32_t find(uint64_t key) const {
    for (size_t at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key) return slots_[at].number;
      if (slots_[at].key == 0) return 0;
    }
  }

  struct Stack {
    uint64_t leaf = 0;     // address of the function; 0 if it is not known
    uint64_t time_ns = 0;  // CLOCK_MONOTONIC, when it was first seen
    uint32_t space = 0;
    uint32_t node = 0;  // of its innermost frame
    uint8_t stop = 0;
  };
  // Adds a stack that is not known; `frames` are the ring's words, outermost first, but script_pc()
  // for functions of interpreters, or no_frame for what no stack shows.
  uint32_t add(uint64_t key, std::span<const uint64_t> frames, Stack stack);

  // Their numbers may become those of other stacks.
  void remove(std::span<const uint32_t> numbers);
  // The numbers that were given since the last call.
  std::vector<uint32_t> take_added() { return std::exchange(added_, {}); }

  uint32_t size() const { return static_cast<uint32_t>(stacks_.size()); }  // numbers are below that
  const Stack& operator[](uint32_t number) const { return stacks_[number]; }
  RawStack raw(uint32_t number) const;

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t number = 0;
  };
  struct Node {
    uint64_t word = 0;
    uint32_t parent = 0;
  };
  size_t place(uint64_t key) const { return key >> shift_; }
  void put_in_slots(size_t slots);
  void grow_nodes();
  uint32_t node(uint32_t parent, uint64_t word);

  uint64_t seed_;
  std::vector<Slot> slots_;  // a power of two of them
  unsigned shift_;
  std::vector<Stack> stacks_{Stack{}};
  std::vector<uint32_t> free_, added_;  // numbers
  std::vector<Node> nodes_{Node{}};
  std::vector<uint32_t> node_slots_;  // numbers of nodes, by hash of parent and word
};

}  // namespace memflame::inside
