// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/selection.h"

#include "collapse/select/groups.h"

namespace memflame {
namespace {

bool is_in(const std::vector<bool>& set, uint32_t index) {
  return index < set.size() && set[index];
}

uint64_t number_of(Selection::Field field, const Block& block, const Chain& chain) {
  using Field = Selection::Field;
  switch (field) {
    case Field::allocated:
      return block.allocated_ns;
    case Field::freed:
      return block.freed_ns;
    case Field::lifetime:
      return block.lifetime_ns();
    case Field::size:
      return block.size;
    case Field::first_size:
      return chain.first_size;
    case Field::last_size:
      return chain.last_size;
    case Field::address:
      return block.address;
    case Field::chain_length:
      return chain.length;
    case Field::chain_position:
      return block.position;
    case Field::chain_lifetime:
      return chain.lifetime_ns();
    case Field::chain_leaked:
      return chain.leaked ? 1 : 0;
    case Field::stack:
    case Field::freeing_stack:
    case Field::thread:
      break;
  }
  return 0;
}

void add_needs(const Operand& value, QueryNeeds& needs) {
  for (const TimeTerm& term : value.time) needs.peak |= term.from == TimeTerm::From::peak;
}

void add_needs(const Expression& expression, QueryNeeds& needs) {
  for (const Clause& node : expression.nodes) {
    add_needs(node.value, needs);
    add_needs(node.until, needs);
    needs.stacks_of_selections |=
        node.kind == Clause::Kind::stack_in || node.kind == Clause::Kind::free_stack_in;
    needs.free_stacks |= node.kind == Clause::Kind::free_stack_in;
    if (node.kind != Clause::Kind::comparison) continue;
    needs.names |= needs_names(node.property);
    needs.addresses |= node.property == Property::address;
    needs.free_stacks |= needs_free_stacks(node.property);
    needs.groups |= is_of_group(node.property);
    needs.group_peaks |= node.property == Property::group_peak_time;
  }
}

}  // namespace

bool Selection::holds(const Test& test, const Block& block, const Chain& chain) const {
  switch (test.field) {
    case Field::stack:
      return is_in(sets_[test.set], block.stack.index);
    case Field::freeing_stack:
      return is_in(sets_[test.set], block.freeing_stack.index);
    case Field::thread:
      return is_in(sets_[test.set], block.thread.index);
    default:
      break;
  }
  const uint64_t number = number_of(test.field, block, chain);
  return number >= test.first && number <= test.last;
}

QueryNeeds needs_of(const Query& query) {
  QueryNeeds needs;
  for (const NamedSelection& named : query.named) add_needs(named.expression, needs);
  for (const Expression& where : query.where) add_needs(where, needs);
  return needs;
}

uint64_t peak_ns_of(BlockSource& source) { return groups_of(source, {.peak = true}).peak_ns; }

}  // namespace memflame
