// SPDX-License-Identifier: BSD-2-Clause
// Puts the stacks of folded lines into the tree of a profile.
//
// While lines come in the order of their names, as memflame and other tools write them, the frames
// that a line does not share with the one before it are new, and nothing is looked up. In any other
// order the longest known stack of a line is looked for by bisection: stacks are known by the hash
// of their names (core/hash_chain.h), so few of a line's frames are looked up. That is done for
// many lines at a time, so that all of them wait for memory together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/hash_cache.h"
#include "core/hash_chain.h"
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
  struct Line {
    size_t begin = 0, names = 0;  // in names_, without those shared with the line before
    size_t kept = 0;
    Hash128 kept_stack{};  // the stack of the shared ones
    // How many of its names make a known stack: between `least` and `most`.
    size_t least = 0, most = 0;
    uint32_t stack = 0;  // the known stack, likely
    size_t probe = 0, step = 1;
  };
  struct Name {
    std::string_view text;
    Hash128 hash{};
    Hash128 stack{};  // up to this name
  };
  const Hash128& stack(const Line& line, size_t names) const {
    return names_[line.begin + names - 1].stack;
  }
  void aim(Line& line, size_t at);
  void search();
  StackId add_new(const Line& line);
  StackId add_missing(const Line& line);
  FrameId find_frame(const Name& name, bool is_root);
  FrameId make_frame(const Name& name, FrameKind plain_kind);

  const bool roots_are_processes_;
  std::vector<Line> lines_;
  std::vector<Name> names_;
  std::vector<Hash128> path_hashes_;  // of the last line: the stack up to each of its frames
  std::vector<StackId> found_;        // the stacks of lines_
  HashCache known_;                   // frames, by a hash that stands for their name
  std::vector<Hash128> name_hashes_;  // by FrameId::index

  bool in_order_ = true;
  std::vector<StackId> path_;  // in order only: the last line, as path_hashes_

  // In no order only.
  ChainedStacks stacks_;          // of the profile
  size_t fresh_ = 0;              // names of the last line behind its known stack
  std::vector<Line*> searching_;  // their known stacks are being looked for
};

}  // namespace memflame
