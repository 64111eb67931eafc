// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/sets.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/re2_text.h"

namespace memflame {
namespace {

std::string_view name_in(const Symbol& symbol, Property property) {
  switch (property) {
    case Property::source:
    case Property::free_source:
      return symbol.file;
    case Property::module:
    case Property::free_module:
      return symbol.module;
    default:
      return symbol.function;
  }
}

// By an id, or by a name.
class OwnerMatcher {
 public:
  explicit OwnerMatcher(const Clause& node) : value_(node.value), has_name_(name_matcher(node)) {}
  bool operator()(uint32_t id, std::string_view name) const {
    return value_.is_text ? has_name_(name) : id == value_.number;
  }

 private:
  const Operand& value_;
  std::function<bool(std::string_view)> has_name_;
};

bool accepts(const StackGroup& group, const Clause& node, NumberRange interval) {
  switch (node.property) {
    case Property::group_count:
      return interval.has(group.count);
    case Property::group_leaked:
      return interval.has(group.leaked);
    case Property::group_span:
      return interval.has(group.span_ns());
    case Property::group_peak_time:
      return interval.has(group.peak_ns);
    default:
      return NumberRanges::accepts_share(node, group.leaked, group.count);
  }
}

}  // namespace

std::function<bool(std::string_view)> name_matcher(const Clause& node) {
  if (node.comparison != Comparison::matches && node.comparison != Comparison::matches_not)
    return [wanted = node.value.text](std::string_view name) { return name == wanted; };
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto pattern = std::make_shared<const re2::RE2>(re2_text(node.value.text), options);
  return
      [pattern](std::string_view name) { return re2::RE2::PartialMatch(re2_text(name), *pattern); };
}

IdSet stacks_with_name(const Recording& recording, const Clause& node) {
  const auto matches = name_matcher(node);
  IdSet locations(recording.locations.size());
  for (size_t i = 1; i < locations.size(); ++i) {
    const std::span<const Symbol> symbols = recording.locations[i].symbols.all();
    locations[i] = std::any_of(symbols.begin(), symbols.end(), [&](const Symbol& symbol) {
      return matches(name_in(symbol, node.property));
    });
  }
  const bool of_function =
      node.property == Property::function || node.property == Property::free_function;
  IdSet stacks(recording.stacks.size());
  for (size_t i = 1; i < stacks.size(); ++i) {
    const RawStack& stack = recording.stacks[i];
    if (of_function)
      for (const std::string* frame : {&stack.note, &stack.leaf})
        if (!frame->empty() && matches(*frame)) stacks[i] = true;
    if (i >= recording.frames.size() || !stack.note.empty()) continue;
    for (const LocationId id : recording.frames[i])
      if (id.index < locations.size() && locations[id.index]) stacks[i] = true;
  }
  return stacks;
}

IdSet stacks_of_processes(const Recording& recording, const Clause& node) {
  const OwnerMatcher matches(node);
  IdSet spaces(recording.spaces.size()), stacks(recording.stacks.size());
  for (size_t i = 1; i < spaces.size(); ++i)
    spaces[i] = matches(recording.spaces[i].pid, recording.spaces[i].comm);
  for (size_t i = 1; i < stacks.size(); ++i) {
    const uint32_t space = recording.stacks[i].space.index;
    stacks[i] = space < spaces.size() && spaces[space];
  }
  return stacks;
}

IdSet stacks_of_depth(const Recording& recording, NumberRange depth) {
  IdSet stacks(recording.stacks.size());
  for (size_t i = 1; i < stacks.size(); ++i) stacks[i] = depth.has(recording.stacks[i].pcs.size());
  return stacks;
}

IdSet stacks_of_groups(std::span<const StackGroup> groups, const Clause& node,
                       NumberRange interval) {
  IdSet stacks(groups.size());
  for (size_t i = 1; i < stacks.size(); ++i)
    stacks[i] = groups[i].count != 0 && accepts(groups[i], node, interval);
  return stacks;
}

IdSet threads_of(std::span<const Thread> threads, const Clause& node) {
  const OwnerMatcher matches(node);
  IdSet set(threads.size());
  for (size_t i = 1; i < set.size(); ++i) set[i] = matches(threads[i].tid, threads[i].name);
  return set;
}

}  // namespace memflame
