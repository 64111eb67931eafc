// SPDX-License-Identifier: BSD-2-Clause
// Groups stacks by the type of what they allocated.
#include <string>
#include <unordered_map>
#include <vector>

#include "collapse/tidy/allocated_type.h"
#include "collapse/tidy/rebuild.h"
#include "collapse/tidy/tidy.h"
#include "core/error.h"

namespace memflame {
namespace {

// Each group repeats its stacks, which may be deep.
constexpr size_t most_new_stacks = size_t{1} << 25;

class Types {
 public:
  Types(Profile& profile, const AllocatorList& allocators, const Shortening& shortening)
      : profile_(profile), allocators_(allocators), shortening_(shortening) {
    known_.resize(profile.frames.size());
  }

  // The frame of a stack's group; none for a stack without code.
  FrameId group(StackId stack) {
    FrameId letter, caller;
    bool is_code = false;
    for (; stack; stack = profile_.stacks[stack].caller) {
      const FrameId id = profile_.stacks[stack].frame;
      const FrameKind kind = profile_.frames[id].kind;
      if (kind == FrameKind::process) break;
      if (kind == FrameKind::note) continue;
      is_code = true;
      const Known& known = of(id);
      if (!caller && !known.is_allocator) caller = id;
      // A letter may be of a string, whose code is further out.
      if (known.type && (letter ? known.is_string : !known.is_letter)) return known.type;
      if (!letter) letter = known.type;
      if (!known.is_library) break;
    }
    if (letter || !is_code) return letter;
    return caller ? in_function(caller) : note("[allocator]");
  }

  bool any() const { return any_; }

 private:
  struct Known {
    bool is_asked = false, is_letter = false, is_string = false;
    bool is_allocator = false, is_library = false;  // the stack may say more above it
    FrameId type;
  };

  const Known& of(FrameId id) {
    Known& known = known_[id.index];
    if (known.is_asked) return known;
    known.is_asked = true;
    const std::string function(profile_.strings[profile_.frames[id].function]);
    known.is_allocator = allocators_.contains(function);
    known.is_library = known.is_allocator || allocates_for_callers(function);
    const AllocatedType found = allocated_type(function);
    if (found.type.empty()) return known;
    known.is_letter = found.is_letter;
    known.is_string = found.is_string;
    known.type = note(shorten(found.type, shortening_));
    any_ = true;
    return known;
  }

  FrameId in_function(FrameId function) {
    std::string name = shorten(profile_.strings[profile_.frames[function].function], shortening_);
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    return note("[in " + name + "]");
  }

  FrameId note(const std::string& name) {
    return profile_.frames.intern({.function = profile_.strings.intern(name),
                                   .module = {},
                                   .file = {},
                                   .kind = FrameKind::note});
  }

  Profile& profile_;
  const AllocatorList& allocators_;
  const Shortening& shortening_;
  std::vector<Known> known_;  // by FrameId::index, of the profile's own frames
  bool any_ = false;
};

// Puts stacks under, or on, the frames of their groups.
class StacksByType {
 public:
  StacksByType(const Profile& profile, bool at_end) : profile_(profile), at_end_(at_end) {
    moved_.place.resize(profile.stacks.size());
    if (at_end) moved_.stacks = profile.stacks;
  }

  void put(StackId stack, FrameId group) {
    StackId& place = moved_.place[stack.index];
    if (!stack || place) return;
    if (!at_end_)
      place = below(group, stack);
    else
      place = group ? moved_.stacks.push(stack, group) : stack;
    if (moved_.stacks.size() > most_new_stacks + profile_.stacks.size())
      throw Error(
          "--by-type: the stacks are too deep to be repeated for each type: keep fewer frames with "
          "--max-frames N, or turn them with --reverse");
  }

  Moved take() { return std::move(moved_); }

 private:
  // The stack with the group's frame as its root. Callers that are known are not walked again.
  StackId below(FrameId group, StackId stack) {
    path_.clear();
    StackId place;
    for (; stack; stack = profile_.stacks[stack].caller) {
      const auto found = known_.find(key(group, stack));
      if (found != known_.end()) {
        place = found->second;
        break;
      }
      path_.push_back(stack);
    }
    if (!place && group) place = moved_.stacks.push({}, group);
    for (; !path_.empty(); path_.pop_back()) {
      place = moved_.stacks.push(place, profile_.stacks[path_.back()].frame);
      known_.emplace(key(group, path_.back()), place);
    }
    return place;
  }

  static uint64_t key(FrameId group, StackId stack) {
    return (uint64_t{group.index} << 32) | stack.index;
  }

  const Profile& profile_;
  bool at_end_;
  Moved moved_;
  std::unordered_map<uint64_t, StackId> known_;
  std::vector<StackId> path_;
};

}  // namespace

Profile group_by_type(Profile profile, const AllocatorList& allocators, const Shortening& shorten,
                      bool at_end) {
  Types types(profile, allocators, shorten);
  StacksByType grouping(profile, at_end);
  const auto put = [&](StackId stack) { grouping.put(stack, types.group(stack)); };
  for (const StackId stack : profile.touched()) put(stack);
  for (const Finding& finding : profile.findings)
    for (const StackId stack : {finding.freeing, finding.allocating, finding.first_freeing})
      put(stack);
  for (const StackMark& mark : profile.marks) put(mark.stack);
  if (!types.any())
    profile.meta.notes.emplace_back(
        "no function names a type that was allocated: groups are the functions that called the "
        "allocator");
  return with_stacks(std::move(profile), grouping.take());
}

}  // namespace memflame
