// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/folded/folded_tree.h"

#include <algorithm>

#include "collapse/inputs/folded/marked_names.h"

namespace memflame {

bool FoldedTree::is_full() const {
  constexpr size_t most_lines = 32, most_names = 1024;
  return lines_.size() >= most_lines || names_.size() >= most_names;
}

void FoldedTree::begin_line(size_t kept) {
  path_hashes_.resize(kept);
  Line& line = lines_.emplace_back();
  line.begin = names_.size();
  line.kept = kept;
  if (kept != 0) line.kept_stack = path_hashes_.back();
}

// Hashes stay in registers: reading both words at once right after writing them one by one waits
// until the memory has them.
void FoldedTree::add_name(std::string_view text) {
  const Hash128 hash = hash_bytes_128(text);
  uint64_t low = 0, high = 0;
  if (!path_hashes_.empty()) {
    low = path_hashes_.back().low;
    high = path_hashes_.back().high;
  }
  const Hash128 stack = chained({low, high}, hash);
  Name& name = names_.emplace_back();
  name.text = text;
  name.hash.low = hash.low;
  name.hash.high = hash.high;
  name.stack.low = stack.low;
  name.stack.high = stack.high;
  Hash128& last = path_hashes_.emplace_back();
  last.low = stack.low;
  last.high = stack.high;
}

std::span<const StackId> FoldedTree::finish() {
  for (size_t i = 0; i < lines_.size(); ++i) {
    Line& line = lines_[i];
    line.names = (i + 1 < lines_.size() ? lines_[i + 1].begin : names_.size()) - line.begin;
    line.most = line.names;
  }
  found_.clear();
  if (in_order_) {
    for (const Name& name : names_) known_.prefetch(name.hash);
    for (const Line& line : lines_) found_.push_back(add_new(line));
  } else {
    search();
    for (const Line& line : lines_) found_.push_back(add_missing(line));
  }
  lines_.clear();
  names_.clear();
  return found_;
}

void FoldedTree::leave_order() {
  in_order_ = false;
  path_ = {};
  std::vector<Hash128> hashes(profile.stacks.size());
  for (uint32_t i = 1; i < hashes.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    hashes[i] = chained(hashes[node.caller.index], name_hashes_[node.frame.index]);
    stacks_.add(hashes[i]);
  }
}

Profile FoldedTree::take_profile() {
  stacks_ = {};
  known_ = HashCache();
  name_hashes_ = {};
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

// Chooses which stack of a line to look up next.
void FoldedTree::aim(Line& line, size_t at) {
  line.probe = at;
  stacks_.prefetch(stack(line, at));
}

// Looks for the longest stacks of all lines that were known before this batch: a look-up per line
// and round, whose memory was fetched in the round before.
void FoldedTree::search() {
  searching_.clear();
  for (Line& line : lines_) {
    if (line.names == 0) continue;
    aim(line, line.names > fresh_ ? line.names - fresh_ : 1);
    searching_.push_back(&line);
  }
  while (!searching_.empty()) {
    size_t left = 0;
    for (Line* const line : searching_) {
      const uint32_t known = stacks_.likely(stack(*line, line->probe));
      if (known != 0) {
        line->least = line->probe;
        line->stack = known;
      } else {
        line->most = line->probe - 1;
      }
      if (line->least == line->most) continue;
      // First a few names further, then half of what is left.
      const size_t step = std::min(line->step, (line->most - line->least + 1) / 2);
      line->step *= 2;
      aim(*line, known != 0 ? line->least + step : line->most + 1 - step);
      searching_[left++] = line;
    }
    searching_.resize(left);
  }
  for (const Line& line : lines_) {  // what add_missing() will need
    stacks_.prefetch_check(line.stack);
    for (size_t i = line.begin + line.least; i < line.begin + line.names; ++i) {
      known_.prefetch(names_[i].hash);
      stacks_.prefetch(names_[i].stack);
    }
  }
}

StackId FoldedTree::add_missing(const Line& line) {
  size_t known = line.least;
  StackId last;
  if (known != 0) last = stacks_.find(stack(line, known));
  if (!last) {  // none was known, or it is another stack
    known = 0;
    last = stacks_.find(line.kept_stack);
  }
  for (; known < line.names; ++known) {  // what lines of this batch have added
    const StackId next = stacks_.find(stack(line, known + 1));
    if (!next) break;
    last = next;
  }
  fresh_ = line.names - known;
  for (size_t i = line.begin + known; i < line.begin + line.names; ++i) {
    last = profile.stacks.append(last, find_frame(names_[i], !last));
    stacks_.add(names_[i].stack);
  }
  return last;
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
  const FrameId frame = profile.frames.intern({profile.strings.intern(text), {}, {}, 0, kind});
  if (name_hashes_.size() <= frame.index) name_hashes_.resize(frame.index + 1);
  name_hashes_[frame.index] = name.hash;
  return frame;
}

}  // namespace memflame
