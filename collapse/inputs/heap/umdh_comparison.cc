// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/umdh_comparison.h"

#include <algorithm>

#include "core/error.h"
#include "core/losses.h"
#include "core/units.h"

namespace memflame {
namespace {

int64_t in_notation(const UmdhNumber& number, bool decimal) {
  return decimal ? number.decimal.value_or(0) : number.hex;
}

int64_t delta_of(const UmdhChange& change, bool decimal) {
  // Neither is negative, so this does not overflow.
  return in_notation(change.after, decimal) - in_notation(change.before, decimal);
}

bool fits_in(const UmdhChange& change, bool decimal) {
  const int64_t printed = in_notation(change.delta, decimal);
  return delta_of(change, decimal) == (change.negative ? -printed : printed);
}

bool has_only_decimal_digits(const UmdhChange& change) {
  return change.delta.decimal && change.after.decimal && change.before.decimal &&
         (!change.count || change.count->decimal);
}

}  // namespace

bool fits(const UmdhChange& change) {
  return fits_in(change, false) || (has_only_decimal_digits(change) && fits_in(change, true));
}

void UmdhComparison::add(const UmdhChange& bytes) {
  changes_.push_back({.stack = {}, .bytes = bytes, .blocks = {}});
}

bool UmdhComparison::only_decimal_digits() const {
  if (stated_ && !stated_->requested.decimal) return false;
  return std::all_of(changes_.begin(), changes_.end(), [](const Change& each) {
    return has_only_decimal_digits(each.bytes) &&
           (!each.blocks || has_only_decimal_digits(*each.blocks));
  });
}

// Numbers that do not fit together, read in one notation.
uint64_t UmdhComparison::contradictions(bool decimal) const {
  uint64_t wrong = 0;
  for (const Change& change : changes_) {
    if (!fits_in(change.bytes, decimal)) ++wrong;
    if (change.blocks && !fits_in(*change.blocks, decimal)) ++wrong;
  }
  if (stated_) {
    const int64_t requested = in_notation(stated_->requested, decimal);
    if (sum(decimal) != (stated_->negative ? -requested : requested)) ++wrong;
  }
  return wrong;
}

int64_t UmdhComparison::sum(bool decimal) const {
  int64_t all = 0;
  for (const Change& change : changes_)
    if (!add_to(all, delta_of(change.bytes, decimal), Unit::bytes))
      throw Error("a sum leaves the range of 64 bits");
  return all;
}

UmdhComparison::Notation UmdhComparison::notation() const {
  if (!only_decimal_digits()) return Notation::hex;
  const uint64_t hex = contradictions(false), decimal = contradictions(true);
  if (hex != decimal) return decimal < hex ? Notation::decimal : Notation::hex;
  // Numbers below 10 are the same in both.
  const bool differs = std::any_of(changes_.begin(), changes_.end(), [](const Change& each) {
    return each.bytes.after.decimal != each.bytes.after.hex ||
           each.bytes.before.decimal != each.bytes.before.hex;
  });
  return differs ? Notation::unknown : Notation::hex;
}

void UmdhComparison::finish(Profile& profile) const {
  const Notation found = notation();
  const bool decimal = found == Notation::decimal;
  const bool with_blocks = std::all_of(changes_.begin(), changes_.end(),
                                       [](const Change& each) { return each.blocks.has_value(); });
  profile.types = {{"before", Unit::bytes}, {"after", Unit::bytes}, {"delta", Unit::bytes}};
  profile.shown = 1;
  if (with_blocks)
    for (const char* name : {"before_blocks", "after_blocks", "delta_blocks"})
      profile.types.push_back({name, Unit::count});
  std::vector<int64_t> row;
  const auto put = [&](const UmdhChange& change) {
    row.insert(row.end(), {in_notation(change.before, decimal), in_notation(change.after, decimal),
                           delta_of(change, decimal)});
  };
  for (const Change& change : changes_) {
    row.clear();
    put(change.bytes);
    if (with_blocks) put(*change.blocks);
    profile.add(change.stack, row);
  }
  if (found == Notation::unknown)
    profile.meta.notes.emplace_back(
        "nothing tells whether the numbers are hexadecimal or, as of umdh -d, decimal; they are "
        "read as hexadecimal");
  describe(profile, decimal);
}

void UmdhComparison::describe(Profile& profile, bool decimal) const {
  profile.meta.notes.emplace_back("UMDH compares only the stacks that have changed");
  if (!stated_) return;
  const int64_t requested = in_notation(stated_->requested, decimal);
  const int64_t stated = stated_->negative ? -requested : requested, listed = sum(decimal);
  if (stated == listed) return;
  profile.meta.notes.push_back("UMDH states a change of " + with_commas(stated) +
                               " B, its stacks make " + with_commas(listed) + " B");
  profile.losses.add(Loss::input_left_out, 1);
}

}  // namespace memflame
