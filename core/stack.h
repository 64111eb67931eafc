// SPDX-License-Identifier: BSD-2-Clause
// Frames and call stacks, each stored once.
#pragma once

#include <vector>

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
class StackTable {
 public:
  StackId push(StackId caller, FrameId frame) {
    make_index();
    return push(caller, frame, hash(caller, frame));
  }
  const StackNode& operator[](StackId id) const { return nodes_[id.index]; }
  size_t size() const { return nodes_.size(); }

  // Callers that know many stacks ahead can have the memory fetched before it is needed. The hash
  // covers the frames from the root on, so it can be computed before the caller's id is known:
  // `caller` is the caller's hash, 0 for none.
  static uint64_t hash(uint64_t caller, FrameId frame) { return mix(caller, frame.index); }
  [[gnu::always_inline]] void prefetch(uint64_t hash) const { index_.prefetch(hash); }
  // Fetches the stack's node. To be called when the memory that prefetch() asked for has arrived.
  [[gnu::always_inline]] void prefetch_node(uint64_t hash) const {
    __builtin_prefetch(&nodes_[index_.find(hash, [](uint32_t) { return true; })]);
  }
  StackId push(StackId caller, FrameId frame, uint64_t hash) {
    make_index();
    const StackId known = find(caller, frame, hash);
    if (known) return known;
    const StackId id = append(caller, frame);
    put_in_index(hash);
    return id;
  }

  // The parts of push(), for callers that add many distinct stacks. append() adds a node known to
  // be missing; find() does not see it before the next make_index() or push(). A tree to which
  // stacks are only appended needs no memory for hashes.
  StackId append(StackId caller, FrameId frame) {
    const StackId id{next_index(nodes_.size())};
    nodes_.push_back({caller, frame});
    return id;
  }
  StackId find(StackId caller, FrameId frame, uint64_t hash) const {
    const StackNode node{caller, frame};
    return StackId{index_.find(hash, [&](uint32_t id) { return nodes_[id] == node; })};
  }
  void make_index() {
    constexpr size_t ahead = 16;
    if (hashes_.size() == nodes_.size()) return;
    index_.reserve(nodes_.size());
    if (hashes_.capacity() < nodes_.size() / 2) hashes_.reserve(nodes_.size());
    size_t indexed = hashes_.size();
    while (hashes_.size() < nodes_.size()) {
      const StackNode& node = nodes_[hashes_.size()];
      hashes_.push_back(hash(node.caller, node.frame));
      index_.prefetch(hashes_.back());
      if (hashes_.size() - indexed == ahead) insert(indexed++);
    }
    while (indexed < nodes_.size()) insert(indexed++);
  }

 private:
  uint64_t hash(StackId caller, FrameId frame) const { return hash(hashes_[caller.index], frame); }
  void insert(size_t i) { index_.insert(hashes_[i], static_cast<uint32_t>(i)); }
  void put_in_index(uint64_t hash) {
    hashes_.push_back(hash);
    insert(hashes_.size() - 1);
  }

  HugeVector<StackNode> nodes_{1};
  HugeVector<uint64_t> hashes_{0};  // of the nodes that are in the index
  HashIndex index_;
};

}  // namespace memflame
