// SPDX-License-Identifier: BSD-2-Clause
// Query -> Selection: names become sets of stacks, times become numbers, and operators become
// jumps.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "collapse/select/groups.h"
#include "collapse/select/number_ranges.h"
#include "collapse/select/selection.h"
#include "collapse/select/sets.h"
#include "core/error.h"

namespace memflame {
namespace {

constexpr size_t most_conditions_in_all = 4'000;

bool is_negative(Comparison comparison) {
  return comparison == Comparison::unequal || comparison == Comparison::matches_not;
}

std::optional<Selection::Field> field_of(Property property) {
  using Field = Selection::Field;
  switch (property) {
    case Property::allocated:
      return Field::allocated;
    case Property::freed:
    case Property::leaked:
      return Field::freed;
    case Property::lifetime:
      return Field::lifetime;
    case Property::size:
      return Field::size;
    case Property::first_size:
      return Field::first_size;
    case Property::last_size:
      return Field::last_size;
    case Property::address:
      return Field::address;
    case Property::chain_length:
      return Field::chain_length;
    case Property::chain_position:
      return Field::chain_position;
    case Property::chain_lifetime:
      return Field::chain_lifetime;
    case Property::chain_leaked:
      return Field::chain_leaked;
    default:
      return std::nullopt;
  }
}

class Compiler {
 public:
  Compiler(const Query& query, BlockSource& source)
      : query_(query), source_(source), facts_(source.facts()) {}

  Selection run() {
    const QueryNeeds needs = needs_of(query_);
    if (needs.peak || needs.groups)
      groups_ = groups_of(
          source_, {.peak = needs.peak, .groups = needs.groups, .group_peaks = needs.group_peaks});
    std::vector<Use> uses;
    for (const Expression& where : query_.where) collect(where, where.root, uses);
    fill_sets(uses);
    uint32_t next = Selection::selected;
    for (size_t i = query_.where.size(); i-- > 0;)
      next = compile(query_.where[i], query_.where[i].root, next, Selection::rejected);
    return {std::move(tests_), next, std::move(sets_)};
  }

 private:
  using Test = Selection::Test;
  using Field = Selection::Field;

  // A `stack in`, and how many others it has to wait for.
  struct Use {
    const Expression* expression = nullptr;
    const Clause* node = nullptr;
    size_t depth = 0;
  };

  // Adds the `stack in` of a node and those within; returns the largest depth of them.
  size_t collect(const Expression& expression, uint32_t at, std::vector<Use>& uses) {
    count_conditions(expression, at);
    const Clause& node = expression.nodes[at];
    size_t depth = 0;
    for (const uint32_t part : node.parts) depth = std::max(depth, collect(expression, part, uses));
    if (node.kind == Clause::Kind::selection) {
      const Expression& named = query_.named[node.selection].expression;
      return collect(named, named.root, uses);
    }
    if (node.kind != Clause::Kind::stack_in && node.kind != Clause::Kind::free_stack_in)
      return depth;
    const auto same = [&](const Use& use) { return use.node == &node; };
    if (std::none_of(uses.begin(), uses.end(), same))
      uses.push_back({&expression, &node, depth + 1});
    return depth + 1;
  }

  // Named selections can name others, so a short text can stand for very many conditions.
  void count_conditions(const Expression& expression, uint32_t at) {
    if (++conditions_ > most_conditions_in_all)
      fail_at(expression, expression.nodes[at].at,
              "with all named selections there are more than 4,000 conditions");
  }

  void fill_sets(std::vector<Use>& uses) {
    size_t deepest = 0;
    for (const Use& use : uses) deepest = std::max(deepest, use.depth);
    for (size_t depth = 1; depth <= deepest; ++depth) {
      std::vector<Selection> selections;
      std::vector<const Clause*> nodes;
      for (const Use& use : uses) {
        if (use.depth != depth) continue;
        selections.push_back(selection_of_part(*use.expression, use.node->parts.front()));
        nodes.push_back(use.node);
      }
      for (const Clause* node : nodes) new_set(*node, IdSet(facts_.recording.stacks.size()));
      source_.for_each_block([&](const Block& block, const Chain& chain) {
        for (size_t i = 0; i < selections.size(); ++i) {
          const bool of_free = nodes[i]->kind == Clause::Kind::free_stack_in;
          const RawStackId id = of_free ? block.freeing_stack : block.stack;
          IdSet& set = sets_[sets_.size() - nodes.size() + i];
          if (id && id.index < set.size() && !set[id.index] && selections[i](block, chain))
            set[id.index] = true;
        }
      });
    }
  }

  Selection selection_of_part(const Expression& expression, uint32_t part) {
    const uint32_t first = compile(expression, part, Selection::selected, Selection::rejected);
    return {std::exchange(tests_, {}), first, sets_};
  }

  // The place where testing a node begins. Parts are compiled from the last to the first, because
  // each has to know where it goes on.
  uint32_t compile(const Expression& expression, uint32_t at, uint32_t yes, uint32_t no) {
    const Clause& node = expression.nodes[at];
    uint32_t next = 0;
    switch (node.kind) {
      case Clause::Kind::any_of:
        next = no;
        for (size_t i = node.parts.size(); i-- > 0;)
          next = compile(expression, node.parts[i], yes, next);
        return next;
      case Clause::Kind::all_of:
        next = yes;
        for (size_t i = node.parts.size(); i-- > 0;)
          next = compile(expression, node.parts[i], next, no);
        return next;
      case Clause::Kind::none_of:
        return compile(expression, node.parts.front(), no, yes);
      case Clause::Kind::selection: {
        const Expression& named = query_.named[node.selection].expression;
        return compile(named, named.root, yes, no);
      }
      case Clause::Kind::live_at:
      case Clause::Kind::live_in:
        return live(expression, node, yes, no);
      case Clause::Kind::stack_in:
        return in_set(Field::stack, set_of_.at(&node), yes, no);
      case Clause::Kind::free_stack_in:
        require_free_stacks(expression, node);
        return in_set(Field::freeing_stack, set_of_.at(&node), yes, no);
      case Clause::Kind::comparison:
        break;
    }
    if (is_negative(node.comparison)) std::swap(yes, no);
    return comparison(expression, node, yes, no);
  }

  uint32_t add(const Test& test) {
    tests_.push_back(test);
    return static_cast<uint32_t>(tests_.size() - 1);
  }

  uint32_t in_interval(Field field, NumberRange interval, uint32_t yes, uint32_t no) {
    return add(
        {.field = field, .first = interval.first, .last = interval.last, .yes = yes, .no = no});
  }

  uint32_t in_set(Field field, uint32_t set, uint32_t yes, uint32_t no) {
    return add({.field = field, .set = set, .yes = yes, .no = no});
  }

  uint32_t new_set(const Clause& node, IdSet set) {
    const auto number = static_cast<uint32_t>(sets_.size());
    sets_.push_back(std::move(set));
    set_of_.emplace(&node, number);
    return number;
  }

  // A named selection may be used many times: its sets are made once.
  template <class Make>
  uint32_t in_own_set(Field field, const Clause& node, uint32_t yes, uint32_t no,
                      const Make& make) {
    const auto known = set_of_.find(&node);
    return in_set(field, known != set_of_.end() ? known->second : new_set(node, make()), yes, no);
  }

  uint32_t live(const Expression& expression, const Clause& node, uint32_t yes, uint32_t no) {
    const NumberRanges::Live live = intervals().live(expression, node);
    return in_interval(Field::allocated, live.allocated,
                       in_interval(Field::freed, live.freed, yes, no), no);
  }

  NumberRanges intervals() const { return {facts_, groups_.peak_ns}; }

  void require_free_stacks(const Expression& expression, const Clause& node) {
    if (!source_.has_free_stacks())
      fail_at(expression, node.at,
              "the recording has no stacks of frees: 'memflame record --detail events "
              "--free-stacks' keeps them");
  }

  uint32_t comparison(const Expression& expression, const Clause& node, uint32_t yes, uint32_t no) {
    const Property property = node.property;
    const bool of_free = needs_free_stacks(property);
    if (of_free) require_free_stacks(expression, node);
    const Field stack = of_free ? Field::freeing_stack : Field::stack;
    const Recording& recording = facts_.recording;
    switch (info_of(property).kind) {
      case ValueKind::flag:
        return in_interval(*field_of(property),
                           property == Property::leaked ? NumberRange{never_freed, never_freed}
                                                        : NumberRange{1, 1},
                           yes, no);
      case ValueKind::text:
        return in_own_set(stack, node, yes, no, [&] { return stacks_with_name(recording, node); });
      case ValueKind::owner:
        if (property == Property::thread)
          return in_own_set(Field::thread, node, yes, no,
                            [&] { return threads_of(facts_.threads, node); });
        return in_own_set(stack, node, yes, no,
                          [&] { return stacks_of_processes(recording, node); });
      case ValueKind::share:
        NumberRanges::require_shares(expression, node);
        return in_own_set(stack, node, yes, no,
                          [&] { return stacks_of_groups(groups_.groups, node, {}); });
      case ValueKind::address:
        if (!source_.has_addresses())
          fail_at(expression, node.at, "the recording was made with --no-addresses");
        break;
      default:
        break;
    }
    const NumberRange interval = intervals().of(expression, node);
    if (is_of_group(property))
      return in_own_set(stack, node, yes, no,
                        [&] { return stacks_of_groups(groups_.groups, node, interval); });
    if (const std::optional<Field> field = field_of(property))
      return in_interval(*field, interval, yes, no);
    return in_own_set(stack, node, yes, no, [&] { return stacks_of_depth(recording, interval); });
  }

  const Query& query_;
  BlockSource& source_;
  const RunFacts facts_;
  RunGroups groups_;
  std::vector<Test> tests_;
  std::vector<IdSet> sets_;
  std::unordered_map<const Clause*, uint32_t> set_of_;
  size_t conditions_ = 0;
};

}  // namespace

Selection selection_of(const Query& query, BlockSource& source) {
  return Compiler(query, source).run();
}

}  // namespace memflame
