// SPDX-License-Identifier: BSD-2-Clause
// The largest stacks.
#include <algorithm>
#include <numeric>

#include "collapse/tidy/rebuild.h"
#include "collapse/tidy/tidy.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {

namespace {

// A number for each stack, by StackId::index: one for all stacks that differ in addresses only, and
// without `lines` for all that differ in source lines only.
std::vector<uint32_t> groups_of(const Profile& profile, bool lines) {
  std::vector<uint32_t> group(profile.stacks.size());
  std::iota(group.begin(), group.end(), 0);
  FrameTable plain;
  std::vector<FrameId> frames(profile.frames.size());
  for (uint32_t i = 1; i < frames.size(); ++i) {
    Frame frame = profile.frames[FrameId{i}];
    frame.code = {};
    frames[i] = plain.intern(lines ? frame : without_place(frame));
  }
  if (plain.size() == frames.size()) return group;
  StackTable merged;
  for (uint32_t i = 1; i < group.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    group[i] = merged.push(StackId{group[node.caller.index]}, frames[node.frame.index]).index;
  }
  return group;
}

struct Sized {
  uint64_t size = 0;  // of the value, without its sign
  size_t order = 0;
  uint32_t group = 0;
};

// Groups in the order in which their stacks first got a value.
std::vector<Sized> sizes_of(const Profile& profile, const std::vector<uint32_t>& groups) {
  std::vector<Sized> sized;
  std::vector<uint32_t> place(profile.stacks.size(), UINT32_MAX);  // by group
  std::vector<int64_t> sums;
  for (const StackId stack : profile.touched()) {
    uint32_t& at = place[groups[stack.index]];
    if (at == UINT32_MAX) {
      at = static_cast<uint32_t>(sized.size());
      sized.push_back({0, sized.size(), groups[stack.index]});
      sums.push_back(0);
    }
    if (!add_to(sums[at], profile.values(stack)[profile.shown], Unit::bytes))
      throw Error("a sum of values leaves the range of 64 bits; the profile cannot be right");
  }
  for (size_t i = 0; i < sized.size(); ++i) {
    const auto bits = static_cast<uint64_t>(sums[i]);
    sized[i].size = sums[i] < 0 ? 0 - bits : bits;
  }
  return sized;
}

}  // namespace

Profile top_stacks(Profile profile, size_t count, bool lines) {
  if (count == 0 || count >= profile.touched().size()) return profile;
  const std::vector<uint32_t> groups = groups_of(profile, lines);
  std::vector<Sized> sized = sizes_of(profile, groups);
  const size_t all = sized.size();
  if (count >= all) return profile;
  const auto limit = sized.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(sized.begin(), limit, sized.end(), [](const Sized& a, const Sized& b) {
    return a.size != b.size ? a.size > b.size : a.order < b.order;
  });
  std::vector<bool> other(profile.stacks.size(), false);  // by group
  for (auto left = limit; left != sized.end(); ++left) other[left->group] = true;
  Moved moved;
  moved.place.resize(profile.stacks.size());
  for (uint32_t i = 0; i < moved.place.size(); ++i) moved.place[i] = StackId{i};
  for (const StackId stack : profile.touched())
    if (other[groups[stack.index]]) moved.place[stack.index] = {};
  const std::string name = "[other stacks: " + with_commas(static_cast<int64_t>(all - count)) + "]";
  moved.stacks = std::move(profile.stacks);
  return with_stacks(std::move(profile), std::move(moved), {}, name);
}

}  // namespace memflame
