// SPDX-License-Identifier: BSD-2-Clause
// Selections of blocks as the user wrote them, understood but not yet applied to a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/select/literals.h"
#include "collapse/select/properties.h"

namespace memflame {

// One part of a sum of times.
struct TimeTerm {
  enum class From : uint8_t { length, share_of_run, start, end, peak, mark };
  From from = From::length;
  bool minus = false;
  uint64_t ns = 0;        // length
  ExactFraction share{};  // share_of_run
  std::string mark{};     // its name
  uint32_t at = 0;        // where it is in the text, in bytes
};

// What a property is compared with. Which fields count depends on PropertyInfo::kind.
struct Operand {
  std::vector<TimeTerm> time{};  // the sum of these
  uint64_t number = 0;           // bytes, count, address, or the id of an owner
  ExactFraction share{};
  std::string text{};
  bool is_text = false;  // an owner by its name
};

enum class Comparison : uint8_t {
  holds,  // of a flag
  equal,
  unequal,
  less,
  at_most,
  more,
  at_least,
  within,  // value..until, both included
  matches,
  matches_not,
};

struct Clause {
  enum class Kind : uint8_t {
    any_of,
    all_of,
    none_of,
    comparison,
    live_at,        // value
    live_in,        // value..until
    stack_in,       // the selection that is its only part
    free_stack_in,  // the same
    selection,      // a named one
  };
  Kind kind = Kind::comparison;
  uint32_t at = 0;                // where it begins in the text, in bytes
  std::vector<uint32_t> parts{};  // places in Expression::nodes
  Property property = Property::leaked;
  Comparison comparison = Comparison::holds;
  Operand value{}, until{};
  uint32_t selection = 0;  // in Query::named
};

struct Expression {
  std::string label;  // "--where": whose text it is
  std::string text;
  std::vector<Clause> nodes{};
  uint32_t root = 0;
};

struct NamedSelection {
  std::string name;
  Expression expression;  // refers to those before it only
};

// Blocks for which all of `where` are true; all blocks if there are none.
struct Query {
  std::vector<NamedSelection> named{};
  std::vector<Expression> where{};
  bool empty() const { return where.empty(); }
};

// Throws Error (usage) that shows the place in the text.
[[noreturn]] void fail_at(const Expression& expression, size_t at, const std::string& what);

}  // namespace memflame
