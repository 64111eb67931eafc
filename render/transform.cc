// SPDX-License-Identifier: BSD-2-Clause
#include "render/transform.h"

#include <charconv>

#include "core/difference.h"
#include "core/error.h"
#include "core/merge_stacks.h"
#include "core/secrets.h"
#include "core/units.h"
#include "render/order/source_lines.h"
#include "render/picture/frame_tree.h"

namespace memflame {
namespace {

constexpr uint8_t most_decimals = 9;

// A decimal number above 0 as digits / 10^decimals.
struct Decimal {
  int64_t digits = 0;
  uint8_t decimals = 0;
};

Decimal parse_decimal(const std::string& text, const char* option) {
  std::string digits = text;
  Decimal out;
  if (const size_t point = digits.find('.'); point != std::string::npos) {
    while (digits.ends_with('0')) digits.pop_back();
    const size_t decimals = digits.size() - point - 1;
    digits.erase(point, 1);
    out.decimals = static_cast<uint8_t>(std::min<size_t>(decimals, most_decimals + 1U));
  }
  const char* end = digits.data() + digits.size();
  const auto [read, error] = std::from_chars(digits.data(), end, out.digits);
  if (error != std::errc{} || read != end || out.digits <= 0 || out.decimals > most_decimals)
    throw Error(std::string(option) +
                    " takes a number above 0 with no more than 9 decimals, not '" + text + "'",
                ExitCode::usage);
  return out;
}

// Columns with the same meaning and unit as the shown one.
bool alike(const Profile& profile, size_t column) {
  const ValueType &type = profile.types[column], &shown = profile.types[profile.shown];
  const auto difference = difference_of(profile);
  if (difference) return type.unit == shown.unit;
  return column == profile.shown;
}

int64_t product(int64_t value, int64_t factor) {
  int64_t out = 0;
  if (__builtin_mul_overflow(value, factor, &out))
    throw Error("--factor: a figure leaves the range of 64 bits");
  return out;
}

// Everything but stacks and values. The profile has no names after that.
Profile emptied(Profile& profile) {
  Profile out(profile.take_names(), profile);
  out.marks = std::move(profile.marks);
  return out;
}

Profile multiplied(Profile profile, const Decimal& factor) {
  std::vector<bool> affected;
  for (size_t i = 0; i < profile.types.size(); ++i) affected.push_back(alike(profile, i));
  Profile out = emptied(profile);
  out.stacks = profile.stacks;
  std::vector<int64_t> figures(profile.types.size());
  for (size_t row = 0; row < profile.rows(); ++row) {
    const Profile::Row from = profile.row(row);
    for (size_t i = 0; i < figures.size(); ++i)
      figures[i] = affected[i] ? product(from.values[i], factor.digits) : from.values[i];
    out.add(from.stack, figures);
  }
  const auto times = static_cast<double>(factor.digits);
  for (size_t i = 0; i < out.types.size(); ++i) {
    if (!affected[i]) continue;
    ValueType& type = out.types[i];
    const int decimals = type.decimals + factor.decimals;
    if (decimals > most_decimals) throw Error("--factor: figures would need too many decimals");
    type.decimals = static_cast<uint8_t>(decimals);
    type.variance_unit *= times * times;
  }
  return out;
}

Profile reversed(Profile profile) {
  Profile out = emptied(profile);
  const auto turned = [&](StackId stack) {
    StackId top;
    for (; stack; stack = profile.stacks[stack].caller)
      top = out.stacks.push(top, profile.stacks[stack].frame);
    return top;
  };
  for (size_t row = 0; row < profile.rows(); ++row)
    out.add(turned(profile.row(row).stack), profile.row(row).values);
  move_stacks(out.findings, turned);
  out.marks = moved_marks(out.marks, turned);
  out.meta.notes.emplace_back("callers first: functions lie on what they call");
  return out;
}

// The folders of source files may reveal who built a program, and where.
Profile without_source_folders(Profile profile) {
  std::vector<FrameId> frames(profile.frames.size());
  FrameTable named;
  for (uint32_t i = 1; i < frames.size(); ++i) {
    Frame frame = profile.frames[FrameId{i}];
    frame.file = profile.strings.intern(short_place(profile.strings[frame.file], 0));
    frames[i] = named.intern(frame);
  }
  Profile out = emptied(profile);
  out.frames = std::move(named);
  const std::vector<StackId> places = merge_stacks(out.stacks, profile.stacks, frames);
  for (size_t row = 0; row < profile.rows(); ++row)
    out.add(places[profile.row(row).stack.index], profile.row(row).values);
  move_stacks(out.findings, [&](StackId stack) { return places[stack.index]; });
  out.marks = moved_marks(out.marks, [&](StackId stack) { return places[stack.index]; });
  return out;
}

// Adds a frame at the root for the part of the total that is above the sum.
void widen(Profile& profile, const std::string& text, WidthOf of) {
  const Decimal wanted = parse_decimal(text, "--total");
  if (of == WidthOf::both || of == WidthOf::change)
    throw Error("--total is a figure of one state; with --widths sum or delta there is none",
                ExitCode::usage);
  const auto difference = difference_of(profile);
  const ValueType& type = profile.types[profile.shown];
  if (wanted.decimals > type.decimals)
    throw Error("--total " + text + ": figures have no such decimals", ExitCode::usage);
  int64_t total = wanted.digits;
  for (int i = wanted.decimals; i < type.decimals; ++i) total = product(total, 10);
  const Width width = width_of(profile, of);
  int64_t sum = 0;
  for (const StackId stack : profile.touched())
    if (!add_to(sum, width(profile.values(stack)), type.unit)) sums_too_large();
  if (total == sum) return;
  if (total < sum) {
    profile.meta.notes.push_back("--total " + text + " is less than the sum, " + human(sum, type) +
                                 ", and is not used");
    return;
  }
  std::vector<int64_t> row(profile.types.size(), 0);
  row[profile.shown] = total - sum;
  if (difference) row[difference->before] = row[difference->after] = total - sum;
  profile.add(profile.push({}, "[untracked]", FrameKind::note), row);
}

void name_counts(Profile& profile, const std::string& name_of_counts) {
  const bool difference = difference_of(profile).has_value();
  const bool plain = profile.types[profile.shown].unit == Unit::count;
  Unit unit = Unit::count;
  const bool known = parse_unit(name_of_counts, unit);
  for (size_t i = 0; i < profile.types.size(); ++i)
    if (known && plain && alike(profile, i) && i != profile.shown) profile.types[i].unit = unit;
  if (known && plain) profile.types[profile.shown].unit = unit;
  if (!difference) profile.types[profile.shown].name = name_of_counts;
}

}  // namespace

void check_transform(const Transform& transform) {
  if (!transform.factor.empty()) parse_decimal(transform.factor, "--factor");
  if (!transform.total.empty()) parse_decimal(transform.total, "--total");
}

Profile transformed(Profile profile, const Transform& transform, WidthOf width) {
  if (!transform.count_name.empty()) name_counts(profile, transform.count_name);
  if (!transform.total.empty()) widen(profile, transform.total, width);
  if (!transform.factor.empty())
    profile = multiplied(std::move(profile), parse_decimal(transform.factor, "--factor"));
  if (!transform.notes.empty()) profile.meta.notes.push_back(transform.notes);
  profile.meta.command = transform.anonymise ? "" : without_secrets(profile.meta.command);
  if (transform.anonymise) profile.meta.host.clear();
  if (transform.anonymise && has_lines(profile))
    profile = without_source_folders(std::move(profile));
  if (transform.reverse) profile = reversed(std::move(profile));
  return profile;
}

}  // namespace memflame
