// SPDX-License-Identifier: BSD-2-Clause
// Puts the stacks of folded lines into the tree of a profile.
//
// While lines come in the order of their names, as memflame and other tools write them, the frames
// that a line does not share with the one before it are new, and nothing is looked up. In any other
// order each line follows the tree from its root. That is done for many lines at a time, so that
// all of them wait for memory together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/hash_cache.h"
#include "core/profile.h"

namespace memflame {

class FoldedTree {
 public:
  explicit FoldedTree(bool roots_are_processes) : roots_are_processes_(roots_are_processes) {}

  // Begins a line. It shares `kept` frames with the line before; the names of the others follow,
  // as views that must stay valid until finish().
  void begin_line(size_t kept);
  void add_name(std::string_view name);

  // Whether finish() should be called before the next line.
  bool is_full() const;
  // Adds what is missing of all lines. Returns their stacks, valid until the next call.
  std::span<const StackId> finish();

  // Whether all lines so far came in order. The caller says when the next one does not, after
  // finish().
  bool in_order() const { return in_order_; }
  void leave_order();

  Profile profile;
  // Ends the reading, and frees what it needed.
  Profile take_profile();

 private:
  struct Name {
    std::string_view text;
    Hash128 hash{};
  };
  struct Line {
    size_t begin = 0, names = 0;  // in names_, without those shared with the line before
    size_t kept = 0;
  };
  // A line on its way along the tree.
  struct Walk {
    const FrameId* next = nullptr;  // the frames that are still to be looked for
    const FrameId* end = nullptr;
    StackId at{};         // of the frames before
    uint32_t likely = 0;  // the stack up to the next frame, if it is another callee than the first
  };
  StackId add_new(const Line& line);
  StackId add_missing(Walk walk);
  void search();
  bool advance(Walk& walk) const;
  FrameId find_frame(const Name& name, bool is_root);
  FrameId make_frame(const Name& name, FrameKind plain_kind);

  const bool roots_are_processes_;
  std::vector<Line> lines_;
  std::vector<Name> names_;
  std::vector<StackId> found_;  // the stacks of lines_
  HashCache known_;             // frames, by a hash that stands for their name

  bool in_order_ = true;
  std::vector<StackId> path_;  // in order only: the last line, from the root on

  // In no order only.
  std::vector<FrameId> frames_;  // of all lines, from the root on; the first is the one before
  size_t last_frames_ = 0;       // of the last line, at the end of frames_
  std::vector<Walk> walks_;      // by line
  std::vector<Walk*> walking_;
};

}  // namespace memflame
