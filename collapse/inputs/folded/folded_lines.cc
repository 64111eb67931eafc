// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/folded/folded_lines.h"

#include <algorithm>
#include <span>

#include "collapse/inputs/folded/folded_names.h"
#include "collapse/tidy/depth.h"
#include "core/error.h"
#include "core/folded.h"

namespace memflame {
namespace {

int64_t power_of_ten(int exponent) {
  int64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

bool ends_in_digit(std::string_view text) {
  return !text.empty() && text.back() >= '0' && text.back() <= '9';
}

}  // namespace

FoldedLines::FoldedLines(const FoldedLayout& layout)
    : layout_(layout), tree_(layout.roots_are_processes), numbers_(layout.types.size()) {
  profile().types = layout.types;
  profile().shown = layout.shown;
}

FoldedBlock FoldedLines::take(const InputBlock& block) {
  FoldedBlock result;
  std::string_view rest = block.text;
  try {
    while (!rest.empty() && !result.error) {
      ++result.lines;
      // The part shared with the line before holds no line feed.
      const size_t common = common_prefix(previous_, rest);
      // Names that end before there are kept.
      size_t kept = ends_.size();
      while (kept != 0 && ends_[kept - 1] >= common) --kept;
      const size_t scanned = kept == 0 ? 0 : ends_[kept - 1] + 1;
      const size_t end = fields_.line_end(rest, scanned);
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      try {
        take_line(line, common, scanned, result);
      } catch (const Error& error) {
        result.error = {result.lines, error.what()};
      }
    }
    flush();
  } catch (const FoldedBlock::Line& error) {  // of an earlier line
    result.error = error;
  }
  last_ = previous_;
  previous_ = last_;
  return result;
}

void FoldedLines::take_line(std::string_view line, size_t common, size_t scanned,
                            FoldedBlock& result) {
  if (line.starts_with('#')) {
    if (line.starts_with(folded_comment)) {
      result.comments.push_back({result.lines, std::string(line)});
      return;
    }
    if (line.size() == 1 || line[1] == ' ' || line[1] == '\t') return;
  }
  std::string_view stack = line;
  if (!take_counts(stack, numbers_)) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return;
    if (numbers_.size() == 2 && !layout_.columns_are_sure && counts_of(line) == Counts::one)
      throw Error("it ends in one number, all lines before it in two: say which with --columns");
    ++result.dropped;
    result.issues.add(numbers_.size() == 1
                          ? "no number at its end"
                          : "not " + std::to_string(numbers_.size()) + " numbers at its end",
                      result.lines, line);
    return;
  }
  if (!layout_.columns_are_sure && numbers_.size() == 1 && ends_in_digit(stack) &&
      counts_of(line) == Counts::two)
    result.issues.add(
        "two numbers where others have one, the first taken for a part of the name; "
        "say which with --columns",
        result.lines, line);
  ++result.stacks;
  keep_names(stack, std::min({common, stack.size(), previous_.size()}), scanned);
  keep_values();
  split(stack, scanned);
  pending_.push_back(result.lines);
  previous_ = stack;
  if (tree_.is_full()) flush();
}

// Keeps the numbers as a row for Profile::add().
void FoldedLines::keep_values() {
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const Decimal& number = numbers_[i];
    if (number.rounded) ++rounded_;
    const uint8_t known = profile().types[i].decimals;
    if (number.decimals > known) {
      // Waiting rows have as many decimals as the profile.
      flush();
      profile().set_decimals(i, number.decimals);
    }
  }
  for (size_t i = 0; i < numbers_.size(); ++i) {
    int64_t value = numbers_[i].digits;
    const int missing = profile().types[i].decimals - numbers_[i].decimals;
    if (missing > 0 && __builtin_mul_overflow(value, power_of_ten(missing), &value))
      throw Error("its number leaves the range of 64 bits, with as many decimals as others have");
    values_.push_back(value);
  }
}

// Where the name that begins at `begin` ends; `separator` is the next one to look at.
size_t FoldedLines::next_end(std::string_view stack, size_t begin, size_t scanned,
                             size_t& separator) const {
  if (begin < scanned) return name_end(stack, begin);
  const std::span<const size_t> separators = fields_.separators();
  while (separator < separators.size() && separators[separator] < begin) ++separator;
  if (separator == separators.size()) return stack.size();
  const size_t end = separators[separator];
  return length_follows(stack, end) ? name_end(stack, begin) : end;
}

// Removes the names of the line before that this one does not share, and finds out whether it
// follows in order. The first `common` bytes of both stacks are equal; fields_ begins at `scanned`.
void FoldedLines::keep_names(std::string_view stack, size_t common, size_t scanned) {
  const auto holds = [&] {
    const size_t end = ends_.back();
    if (end > common) return false;
    if (end == stack.size()) return true;
    const size_t begin = ends_.size() > 1 ? ends_[ends_.size() - 2] + 1 : 0;
    return stack[end] == ';' && (!length_follows(stack, end) || name_end(stack, begin) == end);
  };
  size_t removed = SIZE_MAX;  // the end of the first name that is not shared
  for (; !ends_.empty() && !holds(); ends_.pop_back()) removed = ends_.back();
  if (!tree_.in_order()) return;
  if (truncated_ != 0) return leave_order();  // such lines may share more than these names
  if (removed == SIZE_MAX) return;
  const size_t begin = ends_.empty() ? 0 : ends_.back() + 1;
  if (begin <= stack.size()) {
    size_t separator = 0;
    const size_t end = next_end(stack, begin, scanned, separator);
    if (stack.substr(begin, end - begin) > previous_.substr(begin, removed - begin)) return;
  }
  leave_order();
}

void FoldedLines::leave_order() {
  flush();
  tree_.leave_order();
}

// Hands the names that are not shared to the tree.
void FoldedLines::split(std::string_view stack, size_t scanned) {
  tree_.begin_line(ends_.size());
  size_t end = ends_.empty() ? SIZE_MAX : ends_.back();  // SIZE_MAX + 1 is 0
  size_t separator = 0;
  while (end != stack.size()) {
    if (ends_.size() == layout_.max_frames) return truncate(stack, end + 1);
    const size_t begin = end + 1;
    end = next_end(stack, begin, scanned, separator);
    tree_.add_name(stack.substr(begin, end - begin));
    ends_.push_back(end);
  }
}

// Counts the frames from `begin` on, which become one.
void FoldedLines::truncate(std::string_view stack, size_t begin) {
  ++truncated_;
  const Frame& frame = profile().frames[truncated_frame(profile())];
  tree_.add_name(profile().strings[frame.function]);
  while (true) {
    ++truncated_frames_;
    const size_t end = name_end(stack, begin);
    if (end == stack.size()) return;
    begin = end + 1;
  }
}

// Puts the waiting lines into the profile. Throws the first line that fails.
void FoldedLines::flush() {
  const std::span<const StackId> stacks = tree_.finish();
  std::span<const int64_t> values = values_;
  for (size_t i = 0; i < pending_.size(); ++i) {
    try {
      profile().add(stacks[i], values.first(numbers_.size()));
    } catch (const Error& error) {
      throw FoldedBlock::Line{pending_[i], error.what()};
    }
    values = values.subspan(numbers_.size());
  }
  pending_.clear();
  values_.clear();
}

}  // namespace memflame
