// SPDX-License-Identifier: BSD-2-Clause
// Whose figures are drawn. The idea: malloc() has the figures of most stacks, but says nothing
// about who wanted the memory. So the own figures of a frame at the inner end of a stack move to
// the first caller that is not the allocator's, and frames without figures fall out. Totals stay as
// they are.
//
// A frame of the allocator that calls other code, as operator new calls a handler, keeps what that
// code has. Where nothing but the allocator is known of a stack, its outermost function keeps the
// figures. Cost: one pass over the nodes each way; only names at inner ends are looked at.
// viewer/blame.mjs does the same with the nodes of a picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/inner_frame.h"
#include "render/picture/frame_tree.h"

namespace memflame {

// What the frames of a profile are, as far as anybody asked.
class InnerFrames {
 public:
  explicit InnerFrames(const Profile& profile) : profile_(profile), known_(profile.frames.size()) {}

  InnerFrame of(FrameId id) {
    uint8_t& known = known_[id.index];
    if (known == 0)
      known = static_cast<uint8_t>(
          1 + static_cast<uint8_t>(inner_frame(profile_, profile_.frames[id])));
    return static_cast<InnerFrame>(known - 1);
  }
  // What was not asked is `other`.
  InnerFrame known(FrameId id) const {
    const uint8_t known = known_[id.index];
    return known == 0 ? InnerFrame::other : static_cast<InnerFrame>(known - 1);
  }

  bool hides(Blame blame, FrameId id) {
    if (blame == Blame::all) return false;
    const InnerFrame inner = of(id);
    return inner == InnerFrame::allocator ||
           (blame == Blame::user && inner == InnerFrame::container);
  }

 private:
  const Profile& profile_;
  std::vector<uint8_t> known_;  // by FrameId::index; 0: not asked
};

// For each node, the one that its own figures are drawn at. `own` has rows of figures; nodes are
// callers before callees, and frames without an id are never passed over.
struct BlameNodes {
  std::span<const FrameId> frame;
  std::span<const uint32_t> caller;
  std::span<const int64_t> own;
  size_t columns = 0;
};
std::vector<uint32_t> blamed_nodes(const BlameNodes& nodes, const Profile& profile, Blame blame,
                                   InnerFrames& inner);

// Rows of own figures at these nodes. Throws Error if a sum does not fit in 64 bits.
std::vector<int64_t> moved(std::span<const int64_t> own, size_t columns,
                           const std::vector<uint32_t>& to, const Profile& profile);

// What frames at inner ends are, by FrameId::index; empty if nothing can be passed over.
std::vector<InnerFrame> inner_frames(const BlameNodes& nodes, const Profile& profile);

struct BlamedTree {
  FrameTree tree;        // empty if nothing is hidden: then the tree itself is drawn
  size_t functions = 0;  // how many have a node that would be drawn, but is hidden
};
BlamedTree blamed_tree(const FrameTree& tree, const Profile& profile, const RenderOptions& options);

// The nodes that consist of the allocator's frames only, with all their callees. A picture that
// merges narrow frames keeps them, so that they can be shown or not; they are few for each caller.
std::vector<bool> allocator_nodes(const FrameTree& tree, const Profile& profile);

// BlamedTree::functions alone.
size_t hidden_functions(const FrameTree& tree, const Profile& profile,
                        const RenderOptions& options);

// "not drawn: 3 functions of the allocator; …", or "" if there are none.
std::string blame_note(size_t functions, Blame blame, bool can_be_changed);

}  // namespace memflame
