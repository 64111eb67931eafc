// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/folded/folded_tree.h"

#include <algorithm>

#include "collapse/inputs/folded/marked_names.h"

namespace memflame {

bool FoldedTree::is_full() const {
  constexpr size_t most_lines = 32, most_names = 1024;
  return lines_.size() >= most_lines || names_.size() >= most_names;
}

void FoldedTree::begin_line(size_t kept) { lines_.push_back({names_.size(), 0, kept}); }

void FoldedTree::add_name(std::string_view text) {
  Name& name = names_.emplace_back();
  name.text = text;
  name.hash = hash_bytes_128(text);
  known_.prefetch(name.hash);
  ++lines_.back().names;
}

std::span<const StackId> FoldedTree::finish() {
  found_.clear();
  if (in_order_) {
    for (const Line& line : lines_) found_.push_back(add_new(line));
  } else {
    search();
    for (const Walk& walk : walks_) found_.push_back(add_missing(walk));
  }
  lines_.clear();
  names_.clear();
  return found_;
}

void FoldedTree::leave_order() {
  in_order_ = false;
  for (const StackId stack : path_) frames_.push_back(profile.stacks[stack].frame);
  last_frames_ = frames_.size();
  path_ = {};
  profile.stacks.make_index();
}

Profile FoldedTree::take_profile() {
  known_.clear();
  return std::move(profile);
}

StackId FoldedTree::add_new(const Line& line) {
  path_.resize(line.kept);
  for (size_t i = line.begin; i < line.begin + line.names; ++i) {
    const bool is_root = path_.empty();
    path_.push_back(
        profile.stacks.append(is_root ? StackId{} : path_.back(), find_frame(names_[i], is_root)));
  }
  return path_.empty() ? StackId{} : path_.back();
}

// Finds the frames of all lines, then the longest known stack of each.
void FoldedTree::search() {
  size_t most = last_frames_;
  for (const Line& line : lines_) most += line.kept + line.names;
  frames_.erase(frames_.begin(), frames_.end() - static_cast<ptrdiff_t>(last_frames_));
  frames_.resize(most);  // stays in place
  size_t before = 0, end = last_frames_;
  walks_.clear();
  for (const Line& line : lines_) {
    std::copy_n(frames_.begin() + static_cast<ptrdiff_t>(before), line.kept,
                frames_.begin() + static_cast<ptrdiff_t>(end));
    before = end;
    end += line.kept;
    for (size_t i = line.begin; i < line.begin + line.names; ++i, ++end)
      frames_[end] = find_frame(names_[i], end == before);
    walks_.push_back({&frames_[0] + before, &frames_[0] + end});
  }
  last_frames_ = end - before;
  walking_.clear();
  for (Walk& walk : walks_) walking_.push_back(&walk);
  while (!walking_.empty()) std::erase_if(walking_, [&](Walk* walk) { return !advance(*walk); });
}

// Goes on until memory has to be waited for; false at the end of the known stack. The first callee
// of a stack mostly comes right after it. Others are in the index, whose memory is waited for, and
// then that of the stack itself.
bool FoldedTree::advance(Walk& walk) const {
  const StackTable& stacks = profile.stacks;
  if (walk.next == walk.end) return false;
  if (walk.likely == UINT32_MAX) {
    walk.likely = stacks.likely(walk.at, *walk.next);
    stacks.prefetch_node(walk.likely);
    return walk.likely != 0;
  }
  if (walk.likely != 0) {
    if (!stacks.is_at(walk.likely, walk.at, *walk.next)) return false;  // see add_missing()
    walk.at = StackId{walk.likely};
    ++walk.next;
  }
  for (; walk.next != walk.end; ++walk.next) {
    const size_t behind = walk.at.index + size_t{1};
    if (!stacks.is_at(behind, walk.at, *walk.next)) {
      stacks.prefetch(walk.at, *walk.next);
      walk.likely = UINT32_MAX;
      return true;
    }
    walk.at = StackId{static_cast<uint32_t>(behind)};
  }
  return false;
}

// Lines of this batch may have added some of it.
StackId FoldedTree::add_missing(Walk walk) {
  for (; walk.next != walk.end; ++walk.next) {
    const StackId known = profile.stacks.find(walk.at, *walk.next);
    if (!known) break;
    walk.at = known;
  }
  for (; walk.next != walk.end; ++walk.next) walk.at = profile.stacks.add(walk.at, *walk.next);
  return walk.at;
}

FrameId FoldedTree::find_frame(const Name& name, bool is_root) {
  if (is_root && roots_are_processes_) return make_frame(name, FrameKind::process);
  if (const uint32_t known = known_.find(name.hash); known != 0) return FrameId{known};
  const FrameId frame = make_frame(name, FrameKind::user);
  known_.insert(name.hash, frame.index);
  return frame;
}

// Different names make different frames.
FrameId FoldedTree::make_frame(const Name& name, FrameKind plain_kind) {
  std::string_view text = name.text;
  const FrameKind marked = take_mark(text);
  const FrameKind kind = marked == FrameKind::user ? plain_kind : marked;
  return profile.frames.intern({profile.strings.intern(text), {}, {}, 0, kind});
}

}  // namespace memflame
