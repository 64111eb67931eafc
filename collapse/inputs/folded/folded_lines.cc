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

bool ends_in_digit(std::string_view text) {
  return !text.empty() && text.back() >= '0' && text.back() <= '9';
}

}  // namespace

FoldedLines::FoldedLines(const FoldedLayout& layout, const HashCache& known)
    : layout_(layout), known_(known), numbers_(layout.types.size()) {
  if (layout.max_frames == SIZE_MAX) return;
  Profile any;
  truncated_name_ = any.strings[any.frames[truncated_frame(any)].function];
}

FoldedBlock FoldedLines::take(const InputBlock& block) {
  FoldedBlock result;
  std::string_view rest = block.text;
  previous_ = {};
  ends_.clear();
  stacks_.clear();
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
  find_frames();
  stacks_.last = previous_;
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
  for (const Decimal& number : numbers_) rounded_ += number.rounded ? 1U : 0U;
  stacks_.numbers.insert(stacks_.numbers.end(), numbers_.begin(), numbers_.end());
  const size_t shared = ends_.size();
  if (stacks_.stacks.empty()) stacks_.first = stack;
  split(stack, scanned);
  stacks_.stacks.push_back({result.lines, shared, stacks_.frames.size() + names_.size()});
  previous_ = stack;
  constexpr size_t enough = 256;
  if (names_.size() >= enough) find_frames();
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
  if (!stacks_.in_order || removed == SIZE_MAX) return;
  const size_t begin = ends_.empty() ? 0 : ends_.back() + 1;
  if (begin <= stack.size()) {
    size_t separator = 0;
    const size_t end = next_end(stack, begin, scanned, separator);
    if (stack.substr(begin, end - begin) > previous_.substr(begin, removed - begin)) return;
  }
  stacks_.in_order = false;
}

// Lists the names that are not shared.
void FoldedLines::split(std::string_view stack, size_t scanned) {
  size_t end = ends_.empty() ? SIZE_MAX : ends_.back();  // SIZE_MAX + 1 is 0
  size_t separator = 0;
  while (end != stack.size()) {
    if (ends_.size() == layout_.max_frames) return truncate(stack, end + 1);
    const size_t begin = end + 1;
    end = next_end(stack, begin, scanned, separator);
    add_name(stack.substr(begin, end - begin));
    ends_.push_back(end);
  }
}

// Counts the frames from `begin` on, which become one.
void FoldedLines::truncate(std::string_view stack, size_t begin) {
  ++truncated_;
  stacks_.in_order = false;  // such stacks may share more than these names
  add_name(truncated_name_);
  while (true) {
    ++truncated_frames_;
    const size_t end = name_end(stack, begin);
    if (end == stack.size()) return;
    begin = end + 1;
  }
}

void FoldedLines::add_name(std::string_view name) {
  const Hash128 hash = hash_bytes_128(name);
  known_.prefetch(hash);
  names_.push_back({name, hash, ends_.empty()});
}

// Looks for the frames of the names that wait. Another thread may have made them.
void FoldedLines::find_frames() {
  for (const FoldedStacks::Name& name : names_) {
    // The same name may be a process at the root and a function elsewhere.
    const bool is_process = name.is_root && layout_.roots_are_processes;
    const FrameId frame{is_process ? 0 : known_.find(name.hash)};
    if (!frame) stacks_.unknown.push_back({stacks_.frames.size(), name});
    stacks_.frames.push_back(frame);
  }
  names_.clear();
}

}  // namespace memflame
