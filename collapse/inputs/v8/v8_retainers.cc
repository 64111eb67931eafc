// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/v8/v8_retainers.h"

#include <algorithm>
#include <array>

#include "core/utf8.h"

namespace memflame {
namespace {

constexpr std::string_view any_element = "[]";

// Longer names are cut: any two of them may have to be a frame.
constexpr size_t longest_node_name = 160;

// An object with more properties is a dictionary: its keys are data, not names of code.
constexpr size_t most_own_properties = 1000;

bool is_index_text(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// V8 puts ids of objects into names, which would keep equal paths apart: "5 / part of key (Object
// @73) -> value (Leaf @75) pair in WeakMap (table @79)".
std::string without_object_ids(std::string_view text) {
  const size_t number = text.find_first_not_of("0123456789");
  if (number != 0 && number != text.npos && text.substr(number).starts_with(" / "))
    text.remove_prefix(number + 3);
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(" @")) {
      const size_t end = text.find_first_not_of("0123456789", i + 2);
      if (end != i + 2) i = std::min(end, text.size());
      if (i == text.size()) break;
    }
    result += text[i];
  }
  return result;
}

int64_t pair_key(uint32_t high, uint32_t low) {
  return static_cast<int64_t>(uint64_t{high} << 32U | low);
}

}  // namespace

bool V8Retainers::is_named(V8Graph::Index object) const {
  const uint8_t type = graph_.type(object);
  return type < named_types_.size() && named_types_[type];
}

void V8Retainers::want_names() {
  // The other types are one name each: "(string)" instead of the text of each string.
  constexpr std::array<std::string_view, 6> named{"object",    "native", "closure",
                                                  "synthetic", "hidden", "wasm object"};
  for (const std::string& type : types_)
    named_types_.push_back(std::find(named.begin(), named.end(), type) != named.end());
  for (V8Graph::Index object = 0; object < graph_.objects(); ++object) {
    if (is_named(object)) want(graph_.name(object));
    if (object == 0 || !graph_.reached(object)) continue;
    const V8Graph::Edge edge = graph_.reference(object);
    if (edge.kind != V8EdgeKind::indexed) want(edge.name);
  }
}

void V8Retainers::take_name(uint32_t string, std::string_view text) {
  const auto wanted = names_.find(string);
  if (wanted != names_.end())
    wanted->second = {profile_.strings.intern(beginning(text, longest_node_name)), true};
}

std::string_view V8Retainers::text(uint32_t string) {
  const auto found = names_.find(string);
  if (found != names_.end() && found->second.read) return profile_.strings[found->second.text];
  ++missing_names_;
  return "[name not in the file]";
}

std::string V8Retainers::object_label(V8Graph::Index object) {
  const uint8_t type = graph_.type(object);
  std::string of_type = type < types_.size() ? "(" + types_[type] + ")" : "(object)";
  if (!is_named(object)) return of_type;
  std::string label(text(graph_.name(object)));
  if (label.empty()) return of_type;
  if (types_[type] == "closure") return label + "()";
  // "<div class=…>": attributes are data.
  if (types_[type] == "native" && label.starts_with('<') && label.ends_with('>'))
    if (const size_t blank = label.find(' '); blank != label.npos)
      label = label.substr(0, blank) + ">";
  return label;
}

std::string V8Retainers::reference_label(const V8Graph::Edge& edge) {
  if (edge.kind == V8EdgeKind::indexed) return std::string(any_element);
  const std::string_view name = text(edge.name);
  if (is_index_text(name)) return std::string(any_element);
  if (edge.kind == V8EdgeKind::internal) return "<" + without_object_ids(name) + ">";
  return std::string(name);
}

FrameId V8Retainers::frame_of(V8Graph::Index object) {
  StringId& type =
      object_labels_[pair_key(graph_.type(object), is_named(object) ? graph_.name(object) : 0)];
  if (!type) type = profile_.strings.intern(object_label(object));
  StringId reference;
  if (graph_.reached(object) && graph_.holder(object) != 0) {
    const V8Graph::Edge edge = graph_.reference(object);
    const bool plain = edge.kind == V8EdgeKind::indexed;
    const bool any = edge.kind == V8EdgeKind::named && dictionary_;
    StringId& label = reference_labels_[pair_key(any ? 3 : static_cast<uint32_t>(edge.kind),
                                                 plain || any ? 0 : edge.name)];
    if (!label) label = profile_.strings.intern(any ? "[key]" : reference_label(edge));
    reference = label;
  }
  FrameId& frame = frames_[pair_key(reference.index, type.index)];
  if (frame) return frame;
  std::string name;
  if (reference) name = std::string(profile_.strings[reference]) + ": ";
  name += profile_.strings[type];
  frame =
      profile_.frames.intern({.function = profile_.strings.intern(name), .module = {}, .file = {}});
  return frame;
}

// A run of frames that repeats the run below it is left out: a list of a million nodes is ".next"
// once. Runs have up to 8 frames.
StackId V8Retainers::push(StackId holder, FrameId frame) const {
  constexpr size_t longest = 8;
  const StackTable& stacks = profile_.stacks;
  std::array<FrameId, 2 * longest> top{frame};  // the innermost first
  std::array<StackId, 2 * longest> ids{};
  size_t depth = 1;
  for (StackId at = holder; at && depth < top.size(); at = stacks[at].caller) {
    ids.at(depth) = at;
    top.at(depth++) = stacks[at].frame;
  }
  for (size_t run = 1; 2 * run <= depth; ++run)
    if (std::equal(top.begin(), top.begin() + run, top.begin() + run)) return ids.at(run);
  return profile_.stacks.push(holder, frame);
}

void V8Retainers::add_all() {
  std::vector<StackId> stacks(graph_.objects());
  const auto add = [&](StackId stack, V8Graph::Index object) {
    if (graph_.size(object) != 0) profile_.add(stack, std::array{graph_.size(object), int64_t{1}});
  };
  for (const V8Graph::Index object : graph_.order()) {
    if (object == 0) {
      if (graph_.size(0) != 0) add(profile_.push({}, "(root)"), 0);
      continue;
    }
    const V8Graph::Index holder = graph_.holder(object);
    if (holder != holder_) {
      // The properties of a global object are the program's variables, however many there are.
      const bool global = holder == 0 || graph_.holder(holder) == 0;
      dictionary_ = !global && graph_.named_references(holder) > most_own_properties;
      holder_ = holder;
    }
    stacks[object] = push(stacks[holder], frame_of(object));
    add(stacks[object], object);
  }
  if (graph_.order().size() == graph_.objects()) return;
  const StackId apart = profile_.push({}, "[not reachable by strong references]", FrameKind::note);
  for (V8Graph::Index object = 0; object < graph_.objects(); ++object)
    if (!graph_.reached(object)) add(profile_.stacks.push(apart, frame_of(object)), object);
}

}  // namespace memflame
