// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/number_ranges.h"

#include <algorithm>
#include <string>

namespace memflame {
namespace {

__extension__ using Int128 = __int128;

constexpr uint64_t latest = never_freed - 1;
constexpr NumberRange nothing{1, 0};

void require_range(const Expression& expression, const Clause& node, bool is_range) {
  if (!is_range)
    fail_at(expression, node.at, "the range is empty: its first value is above its second");
}

uint64_t share_of(uint64_t whole, const ExactFraction& share) {
  Int128 part = Int128{whole} * share.digits;
  for (uint8_t i = 0; i < share.scale; ++i) part /= 10;
  return static_cast<uint64_t>(std::min<Int128>(part, latest));
}

}  // namespace

int compare_share(uint64_t part, uint64_t whole, const ExactFraction& share) {
  // At most 2^64 * 10^17, as a share has 15 digits, and two more places if it is a percentage.
  Int128 left = part;
  const Int128 right = Int128{whole} * share.digits;
  for (uint8_t i = 0; i < share.scale; ++i) left *= 10;
  return left < right ? -1 : left > right ? 1 : 0;
}

NumberRange NumberRanges::of(const Expression& expression, const Clause& node) const {
  const bool is_range = node.comparison == Comparison::within;
  const bool is_time = info_of(node.property).kind == ValueKind::time;
  const Wide value = is_time ? time(expression, node.value) : Wide{node.value.number};
  Wide until = node.until.number;
  if (is_time && is_range) until = time(expression, node.until);
  require_range(expression, node, !is_range || value <= until);
  return interval_of(node.comparison, value, until);
}

NumberRanges::Live NumberRanges::live(const Expression& expression, const Clause& node) const {
  const Wide from = time(expression, node.value);
  const Wide until = node.kind == Clause::Kind::live_in ? time(expression, node.until) : from;
  require_range(expression, node, from <= until);
  return {interval_of(Comparison::at_most, until, 0), interval_of(Comparison::more, from, 0)};
}

bool NumberRanges::accepts_share(const Clause& node, uint64_t part, uint64_t whole) {
  const int order = compare_share(part, whole, node.value.share);
  switch (node.comparison) {
    case Comparison::less:
      return order < 0;
    case Comparison::at_most:
      return order <= 0;
    case Comparison::more:
      return order > 0;
    case Comparison::at_least:
      return order >= 0;
    case Comparison::within:
      return order >= 0 && compare_share(part, whole, node.until.share) <= 0;
    default:
      return order == 0;
  }
}

void NumberRanges::require_shares(const Expression& expression, const Clause& node) {
  if (node.comparison != Comparison::within) return;
  const ExactFraction& from = node.value.share;
  uint64_t whole = 1;
  for (uint8_t i = 0; i < from.scale; ++i) whole *= 10;
  require_range(expression, node, compare_share(from.digits, whole, node.until.share) <= 0);
}

NumberRange NumberRanges::interval_of(Comparison comparison, Wide value, Wide until) {
  Wide first = 0, last = UINT64_MAX;
  switch (comparison) {
    case Comparison::less:
      last = value - 1;
      break;
    case Comparison::at_most:
      last = value;
      break;
    case Comparison::more:
      first = value + 1;
      break;
    case Comparison::at_least:
      first = value;
      break;
    case Comparison::within:
      first = value;
      last = until;
      break;
    default:  // equal; also unequal, whose result is turned round
      first = last = value;
  }
  if (last < 0 || first > UINT64_MAX) return nothing;
  return {static_cast<uint64_t>(std::max<Wide>(first, 0)),
          static_cast<uint64_t>(std::min<Wide>(last, UINT64_MAX))};
}

NumberRanges::Wide NumberRanges::time(const Expression& expression, const Operand& value) const {
  Wide sum = 0;
  for (const TimeTerm& term : value.time)
    sum += (term.minus ? -1 : 1) * Wide{time(expression, term)};
  return std::min<Wide>(sum, latest);
}

uint64_t NumberRanges::time(const Expression& expression, const TimeTerm& term) const {
  switch (term.from) {
    case TimeTerm::From::length:
      return term.ns;
    case TimeTerm::From::share_of_run:
      return share_of(facts_.end_ns, term.share);
    case TimeTerm::From::start:
      return 0;
    case TimeTerm::From::end:
      return facts_.end_ns;
    case TimeTerm::From::peak:
      return peak_ns_;
    case TimeTerm::From::mark:
      break;
  }
  std::string known;
  for (const Mark& mark : facts_.marks) {
    if (mark.name == term.mark) return mark.time_ns;
    constexpr size_t most_shown = 200;
    if (known.size() < most_shown) known += (known.empty() ? "'" : ", '") + mark.name + "'";
  }
  fail_at(expression, term.at,
          "the run has no marker of that name; it has " + (known.empty() ? "none" : known));
}

}  // namespace memflame
