// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/stack_labels.h"

#include <algorithm>
#include <map>
#include <set>

#include "collapse/tidy/names.h"
#include "core/owner.h"

namespace memflame {
namespace {

// Overloads differ in their arguments, but with these a name may fill a line.
constexpr Shortening for_labels{.templates = true, .arguments = true, .rust = true};

struct Labelled {
  std::vector<std::string> names;  // from the root on
  size_t at = 0;                   // of the frame that gives the label
};

Labelled labelled(const Profile& profile, StackId stack) {
  Labelled label;
  // The index of the innermost frame of each kind, plus 1.
  size_t own = 0, outside = 0;
  for (const FrameId id : profile.path(stack)) {
    const Frame& frame = profile.frames[id];
    label.names.push_back(shorten(profile.strings[frame.function], for_labels));
    const Owner owner = owner_of(profile, frame);
    const bool is_code = frame.kind != FrameKind::process && frame.kind != FrameKind::note;
    if ((owner == Owner::application || owner == Owner::jit) &&
        !is_of_cpp_library(label.names.back()))
      own = label.names.size();
    if (is_code && owner != Owner::allocator) outside = label.names.size();
  }
  if (label.names.empty()) label.names.emplace_back("[no stack]");
  label.at = (own != 0 ? own : outside != 0 ? outside : label.names.size()) - 1;
  return label;
}

// The frame `distance` callers above the label, or that many callees below it.
std::string_view frame_at(const Labelled& label, size_t distance, bool above) {
  const size_t at = above ? label.at - distance : label.at + distance;  // beyond the end if below 0
  return at < label.names.size() ? std::string_view(label.names[at]) : std::string_view();
}

// What is added to the labels of a group that has one label.
void tell_apart(const std::vector<Labelled>& labels, const std::vector<size_t>& group,
                std::vector<std::string>& texts) {
  size_t depth = 0;
  for (const size_t i : group) depth = std::max(depth, labels[i].names.size());
  for (const bool above : {true, false})
    for (size_t distance = 1; distance < depth; ++distance) {
      std::set<std::string_view> names;
      for (const size_t i : group) names.insert(frame_at(labels[i], distance, above));
      if (names.size() == 1) continue;
      for (const size_t i : group) {
        const std::string_view name = frame_at(labels[i], distance, above);
        if (!name.empty()) ((texts[i] += above ? " ← " : " → ")) += name;
      }
      return;
    }
}

}  // namespace

std::string stack_label(const Profile& profile, StackId stack) {
  const Labelled label = labelled(profile, stack);
  return label.names[label.at];
}

std::vector<std::string> stack_labels(const Profile& profile, std::span<const StackId> stacks) {
  std::vector<Labelled> labels;
  std::vector<std::string> texts;
  for (const StackId stack : stacks) {
    labels.push_back(labelled(profile, stack));
    texts.emplace_back(labels.back().names[labels.back().at]);
  }
  // Twice: three stacks may differ in more than one frame. What is still the same then has its
  // whole stack in the output.
  for (int round = 0; round < 2; ++round) {
    std::map<std::string, std::vector<size_t>> groups;
    for (size_t i = 0; i < texts.size(); ++i) groups[texts[i]].push_back(i);
    for (const auto& [text, group] : groups)
      if (group.size() > 1) tell_apart(labels, group, texts);
  }
  return texts;
}

}  // namespace memflame
