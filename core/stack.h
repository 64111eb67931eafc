// Frames and call stacks, each stored once.
#pragma once

#include <vector>

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
  note,     // said by memflame itself: [truncated: …], [lost: …], [PROT_NONE]
};

struct Frame {
  StringId function;
  StringId module;  // file the code is mapped from, as the target names it
  StringId file;    // source file, when debug data tells
  uint32_t line = 0;
  FrameKind kind = FrameKind::user;
  friend bool operator==(const Frame&, const Frame&) = default;
};

struct FrameHash {
  size_t operator()(const Frame& f) const noexcept {
    const uint64_t names = (uint64_t{f.function.index} << 32) | f.module.index;
    const uint64_t place = (uint64_t{f.file.index} << 32) | f.line;
    return mix(mix(names, place), static_cast<uint64_t>(f.kind));
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
  StackId push(StackId caller, FrameId frame) { return nodes_.intern({caller, frame}); }
  const StackNode& operator[](StackId id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }

 private:
  struct Hash {
    size_t operator()(const StackNode& n) const noexcept {
      return mix(n.caller.index, n.frame.index);
    }
  };
  Interner<StackNode, StackId, Hash> nodes_;
};

}  // namespace memflame
