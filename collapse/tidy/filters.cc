// SPDX-License-Identifier: BSD-2-Clause
// Selects stacks, and parts of them.
#include "collapse/tidy/rebuild.h"
#include "collapse/tidy/tidy.h"

namespace memflame {
namespace {

using Matches = std::vector<bool>;  // by FrameId::index

std::string option_of(const std::vector<Pattern>& patterns) {
  return patterns.empty() ? "" : patterns.front().option();
}

std::vector<StackId> same_places(const Profile& profile) {
  std::vector<StackId> places(profile.stacks.size());
  for (uint32_t i = 0; i < places.size(); ++i) places[i] = StackId{i};
  return places;
}

// Whether any frame on the whole path matches, by StackId::index.
Matches with_match(const Profile& profile, const Matches& matches) {
  Matches with(profile.stacks.size(), false);
  for (uint32_t i = 1; i < with.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    with[i] = with[node.caller.index] || matches[node.frame.index];
  }
  return with;
}

Profile drop_stacks(Profile profile, Matches dropped, std::string_view option) {
  Moved moved{.stacks = {}, .place = same_places(profile), .dropped = std::move(dropped)};
  moved.stacks = std::move(profile.stacks);
  return with_stacks(std::move(profile), std::move(moved), option);
}

Profile without_frames(Profile profile, const Matches& hidden) {
  const std::vector<FrameId> frames = changed_frames(
      profile, [&](const Profile&, FrameId id) { return hidden[id.index] ? FrameId{} : id; });
  return with_frames(std::move(profile), frames);
}

Profile only_frames(Profile profile, Matches shown, std::string_view option) {
  Matches without = with_match(profile, shown);
  without.flip();
  shown.flip();
  return without_frames(drop_stacks(std::move(profile), std::move(without), option), shown);
}

Matches kernel_frames(const Profile& profile) {
  Matches kernel(profile.frames.size(), false);
  for (uint32_t i = 1; i < kernel.size(); ++i)
    kernel[i] = profile.frames[FrameId{i}].kind == FrameKind::kernel;
  return kernel;
}

}  // namespace

Profile keep_matching(Profile profile, const std::vector<Pattern>& patterns) {
  Matches without = with_match(profile, matching(profile, patterns));
  without.flip();
  return drop_stacks(std::move(profile), std::move(without), option_of(patterns));
}

Profile drop_matching(Profile profile, const std::vector<Pattern>& patterns) {
  Matches with = with_match(profile, matching(profile, patterns));
  return drop_stacks(std::move(profile), std::move(with), option_of(patterns));
}

Profile show_from(Profile profile, const std::vector<Pattern>& patterns) {
  const Matches matches = matching(profile, patterns);
  const Matches begun = with_match(profile, matches);
  Moved moved;
  moved.place.resize(begun.size());
  for (uint32_t i = 1; i < begun.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    if (begun[i]) moved.place[i] = moved.stacks.push(moved.place[node.caller.index], node.frame);
  }
  moved.dropped = begun;
  moved.dropped.flip();
  return with_stacks(std::move(profile), std::move(moved), option_of(patterns));
}

Profile skip_after(Profile profile, const std::vector<Pattern>& patterns) {
  const Matches matches = matching(profile, patterns);
  Moved moved;
  moved.place.resize(profile.stacks.size());
  for (uint32_t i = 1; i < moved.place.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    const StackId caller = matches[node.frame.index] ? StackId{} : moved.place[node.caller.index];
    moved.place[i] = moved.stacks.push(caller, node.frame);
  }
  return with_stacks(std::move(profile), std::move(moved));
}

Profile prune(Profile profile, const std::vector<Pattern>& patterns) {
  const Matches matches = matching(profile, patterns);
  const Matches below = with_match(profile, matches);
  Moved moved{.stacks = {}, .place = same_places(profile), .dropped = {}};
  for (uint32_t i = 1; i < below.size(); ++i) {
    const StackId caller = profile.stacks[StackId{i}].caller;
    if (below[caller.index]) moved.place[i] = moved.place[caller.index];
  }
  moved.stacks = std::move(profile.stacks);
  return with_stacks(std::move(profile), std::move(moved));
}

Profile prune_from(Profile profile, const std::vector<Pattern>& patterns) {
  const Matches matches = matching(profile, patterns);
  std::vector<StackId> last(profile.stacks.size());  // the match nearest to the leaf
  Moved moved{.stacks = {}, .place = same_places(profile), .dropped = {}};
  for (uint32_t i = 1; i < last.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    last[i] = matches[node.frame.index] ? StackId{i} : last[node.caller.index];
    if (last[i]) moved.place[i] = last[i];
  }
  moved.stacks = std::move(profile.stacks);
  return with_stacks(std::move(profile), std::move(moved));
}

Profile hide_frames(Profile profile, const std::vector<Pattern>& patterns) {
  const Matches hidden = matching(profile, patterns);
  return without_frames(std::move(profile), hidden);
}

Profile show_frames(Profile profile, const std::vector<Pattern>& patterns) {
  Matches shown = matching(profile, patterns);
  return only_frames(std::move(profile), std::move(shown), option_of(patterns));
}

Profile hide_kernel(Profile profile) {
  const Matches kernel = kernel_frames(profile);
  return without_frames(std::move(profile), kernel);
}

Profile show_kernel(Profile profile) {
  Matches kernel = kernel_frames(profile);
  return only_frames(std::move(profile), std::move(kernel), "--only-kernel");
}

}  // namespace memflame
