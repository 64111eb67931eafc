// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/tidy/rebuild.h"

#include "core/units.h"

namespace memflame {
namespace {

constexpr auto finding_stacks = {&Finding::freeing, &Finding::allocating, &Finding::first_freeing};

// "--exclude dropped 12 stacks, 3.1 MiB".
std::string note(const Profile& profile, std::string_view option, size_t stacks, int64_t sum) {
  return std::string(option) + " dropped " + with_commas(static_cast<int64_t>(stacks)) +
         (stacks == 1 ? " stack, " : " stacks, ") + human(sum, profile.types[profile.shown]);
}

}  // namespace

Profile with_stacks(Profile from, Moved moved, std::string_view option, std::string_view emptied) {
  Profile into(from.take_names(), from);
  into.stacks = std::move(moved.stacks);
  const auto is_dropped = [&](StackId stack) {
    return !moved.dropped.empty() && moved.dropped[stack.index];
  };
  size_t dropped = 0;
  int64_t sum = 0;
  for (size_t i = 0; i < from.rows(); ++i) {
    const auto [stack, values] = from.row(i);
    if (is_dropped(stack)) {
      ++dropped;
      // Only for the note: a sum of variances stops at the largest number.
      if (into.shown < values.size())
        static_cast<void>(add_to(sum, values[into.shown], Unit::variance));
      continue;
    }
    StackId now = moved.place[stack.index];
    if (!now && stack) now = into.push({}, emptied, FrameKind::note);
    into.add(now, values);
  }
  const auto place = [&](StackId stack) {
    return is_dropped(stack) ? StackId{} : moved.place[stack.index];
  };
  move_stacks(into.findings, place);
  into.marks = moved_marks(from.marks, place);
  if (dropped != 0) into.meta.notes.push_back(note(into, option, dropped, sum));
  return into;
}

std::vector<FrameId> changed_frames(Profile& profile, const FrameChange& change) {
  std::vector<FrameId> frames(profile.frames.size());
  for (uint32_t i = 1; i < frames.size(); ++i) frames[i] = change(profile, FrameId{i});
  return frames;
}

Profile with_frames(Profile from, const std::vector<FrameId>& frames) {
  bool same = true;
  for (uint32_t i = 1; i < frames.size() && same; ++i) same = frames[i] == FrameId{i};
  if (same) return from;
  Moved moved;
  moved.place.resize(from.stacks.size());
  for (uint32_t i = 1; i < moved.place.size(); ++i) {
    const StackNode& node = from.stacks[StackId{i}];
    const StackId caller = moved.place[node.caller.index];
    const FrameId frame = frames[node.frame.index];
    moved.place[i] = frame ? moved.stacks.push(caller, frame) : caller;
  }
  return with_stacks(std::move(from), std::move(moved));
}

Profile with_names(Profile from, const NameChange& change, bool processes) {
  const std::vector<FrameId> frames = changed_frames(from, [&](Profile& profile, FrameId id) {
    Frame frame = profile.frames[id];
    if (frame.kind == FrameKind::note) return id;
    if (frame.kind == FrameKind::process && !processes) return id;
    frame.function = profile.strings.intern(change(profile.strings[frame.function]));
    return profile.frames.intern(frame);
  });
  return with_frames(std::move(from), frames);
}

Frame without_place(Frame frame) {
  frame.file = {};
  frame.line = frame.start_line = 0;
  frame.code = {};
  return frame;
}

Profile compacted(const Profile& from) {
  std::vector<bool> needed(from.stacks.size(), false);
  for (const StackId stack : from.touched()) needed[stack.index] = true;
  for (const Finding& finding : from.findings)
    for (StackId Finding::*stack : finding_stacks) needed[(finding.*stack).index] = true;
  for (const StackMark& mark : from.marks) needed[mark.stack.index] = true;
  for (uint32_t i = static_cast<uint32_t>(needed.size()) - 1; i > 0; --i)
    if (needed[i]) needed[from.stacks[StackId{i}].caller.index] = true;

  Profile into({}, from);
  std::vector<FrameId> frame_of(from.frames.size());
  std::vector<StackId> stack_of(needed.size());
  for (uint32_t i = 1; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    const StackNode& node = from.stacks[StackId{i}];
    FrameId& frame = frame_of[node.frame.index];
    if (!frame) frame = into.frames.intern(frame_from(into, from, node.frame));
    stack_of[i] = into.stacks.push(stack_of[node.caller.index], frame);
  }
  for (size_t i = 0; i < from.rows(); ++i)
    into.add(stack_of[from.row(i).stack.index], from.row(i).values);
  const auto place = [&](StackId stack) { return stack_of[stack.index]; };
  move_stacks(into.findings, place);
  into.marks = moved_marks(from.marks, place);
  return into;
}

}  // namespace memflame
