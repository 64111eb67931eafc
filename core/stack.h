// SPDX-License-Identifier: BSD-2-Clause
// Frames and call stacks, each stored once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/code_places.h"
#include "core/huge_pages.h"
#include "core/ids.h"
#include "core/interner.h"

namespace memflame {

enum class FrameKind : uint8_t {
  user,     // native code with a symbol
  kernel,   // kernel code
  inlined,  // a function the compiler merged into the frame before it (its caller)
  jit,      // code made at run time, named by a perf map
  unknown,  // no symbol: shown as [module+0xoffset]
  process,  // the root frame of a process: its name
  note,     // memflame's own: [truncated: …], [lost: …], [PROT_NONE]
};

struct Frame {
  StringId function;
  StringId module;  // file the code is mapped from, as the target names it
  StringId file;    // source file, if debug information tells
  uint32_t line = 0;
  FrameKind kind = FrameKind::user;
  uint32_t start_line = 0;  // where the function begins in `file`, if debug information tells
  CodeId code{};            // in Profile::code, where addresses are kept
  friend bool operator==(const Frame&, const Frame&) = default;
};

struct FrameHash {
  size_t operator()(const Frame& f) const noexcept {
    const uint64_t names = (uint64_t{f.function.index} << 32) | f.module.index;
    const uint64_t place = (uint64_t{f.file.index} << 32) | f.line;
    return mix(mix(names, place), (uint64_t{f.code.index} << 8) | static_cast<uint64_t>(f.kind));
  }
};
using FrameTable = Interner<Frame, FrameId, FrameHash>;

struct StackNode {
  StackId caller;  // none for the root frame
  FrameId frame;
  friend bool operator==(const StackNode&, const StackNode&) = default;
};

// A prefix tree of stacks. A StackId names the whole path from the root to one frame; the id of the
// caller is always smaller than the id of its callees, so one pass over the table in order visits
// parents before children, and one pass in reverse sums children into parents without recursion.
//
// Most stacks are added together with their callers, so they come right after them. Such a stack is
// found there; the index has the others only, which are a third or fewer.
class StackTable {
 public:
  StackId push(StackId caller, FrameId frame) {
    make_index();
    const StackId known = find(caller, frame);
    return known ? known : add(caller, frame);
  }
  const StackNode& operator[](StackId id) const { return nodes_[id.index]; }
  size_t size() const { return nodes_.size(); }
  // Makes room for that many in all, the one without a frame among them.
  void reserve(size_t count) { nodes_.reserve(count); }

  // The parts of push(), for callers that add many distinct stacks. append() adds a node known to
  // be missing; unless it comes right after its caller, find() does not see it before the next
  // make_index() or push(). A tree to which stacks are only appended needs no index.
  StackId append(StackId caller, FrameId frame) {
    const StackId id{next_index(nodes_.size())};
    nodes_.push_back({caller, frame});
    return id;
  }
  // The same if the tree has its index, which is kept up.
  StackId add(StackId caller, FrameId frame) {
    const StackId id = append(caller, frame);
    indexed_ = nodes_.size();
    if (id.index != caller.index + 1) index_.insert(hash(caller, frame), id.index);
    return id;
  }
  StackId find(StackId caller, FrameId frame) const {
    if (is_at(caller.index + 1, caller, frame)) return StackId{caller.index + 1};
    return find_in_index(caller, frame);
  }
  void make_index() {
    constexpr size_t ahead = 16;
    if (indexed_ == nodes_.size()) return;
    std::array<uint64_t, ahead> hashes{};
    std::array<uint32_t, ahead> ids{};
    size_t waiting = 0;  // their memory is being fetched
    const auto insert = [&] {
      for (size_t i = 0; i < waiting; ++i) index_.insert(hashes[i], ids[i]);
      waiting = 0;
    };
    for (; indexed_ < nodes_.size(); ++indexed_) {
      const StackNode& node = nodes_[indexed_];
      if (node.caller.index + 1 == indexed_) continue;
      hashes[waiting] = hash(node.caller, node.frame);
      ids[waiting] = static_cast<uint32_t>(indexed_);
      index_.prefetch(hashes[waiting]);
      if (++waiting == ahead) insert();
    }
    insert();
  }

  // The parts of find(), for callers that look for many stacks at a time: they can have the memory
  // of each part fetched before it is needed.
  bool is_at(size_t place, StackId caller, FrameId frame) const {
    return place < nodes_.size() && nodes_[place] == StackNode{caller, frame};
  }
  [[gnu::always_inline]] void prefetch(StackId caller, FrameId frame) const {
    index_.prefetch(hash(caller, frame));
  }
  // Reads the index only: 0 is certain, but it may be another stack.
  uint32_t likely(StackId caller, FrameId frame) const {
    return index_.find(hash(caller, frame), [](uint32_t) { return true; });
  }
  [[gnu::always_inline]] void prefetch_node(size_t place) const {
    __builtin_prefetch(nodes_.data() + place);
  }
  StackId find_in_index(StackId caller, FrameId frame) const {
    const StackNode node{caller, frame};
    return StackId{
        index_.find(hash(caller, frame), [&](uint32_t id) { return nodes_[id] == node; })};
  }

 private:
  static uint64_t hash(StackId caller, FrameId frame) {
    return mix(uint64_t{caller.index} << 32U | frame.index, 0);
  }

  HugeVector<StackNode> nodes_{1};
  size_t indexed_ = 1;  // nodes before this one come after their callers, or are in the index
  HashIndex index_;
};

}  // namespace memflame
