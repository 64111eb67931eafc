// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/folded/folded_lines.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "collapse/inputs/folded/marked_names.h"
#include "collapse/tidy/depth.h"
#include "core/error.h"
#include "core/folded.h"

namespace memflame {
namespace {

// The number of leading bytes that two texts share.
size_t common_prefix(std::string_view a, std::string_view b) {
  const size_t size = std::min(a.size(), b.size());
  size_t at = 0;
  constexpr size_t step = 32;
  while (at + step <= size && std::memcmp(a.data() + at, b.data() + at, step) == 0) at += step;
  for (; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
    uint64_t left = 0, right = 0;
    std::memcpy(&left, a.data() + at, sizeof left);
    std::memcpy(&right, b.data() + at, sizeof right);
    if (left != right) return at + static_cast<size_t>(std::countr_zero(left ^ right)) / 8;
  }
  while (at < size && a[at] == b[at]) ++at;
  return at;
}

// Whether " 32]" follows a semicolon.
bool length_follows(std::string_view stack, size_t semicolon) {
  const auto digit = [&](size_t i) { return stack[i] >= '0' && stack[i] <= '9'; };
  size_t at = semicolon + 1;
  if (at + 1 >= stack.size() || stack[at] != ' ' || !digit(at + 1)) return false;
  for (++at; at < stack.size() && (digit(at) || (stack[at] >= 'a' && stack[at] <= 'z'));) ++at;
  return at < stack.size() && stack[at] == ']';
}

ptrdiff_t open_brackets(std::string_view text) {
  return std::count(text.begin(), text.end(), '[') - std::count(text.begin(), text.end(), ']');
}

// Where the name that begins at `begin` ends. Rust writes the length of an array after a semicolon:
// "f<[u8; 32]>" is one name.
size_t name_end(std::string_view stack, size_t begin) {
  ptrdiff_t open = 0;
  size_t counted = begin;  // the brackets before this are in `open`
  for (size_t at = begin;; ++at) {
    at = stack.find(';', at);
    if (at == std::string_view::npos) return stack.size();
    if (!length_follows(stack, at)) return at;
    open += open_brackets(stack.substr(counted, at - counted));
    counted = at;
    if (open <= 0) return at;
  }
}

int64_t power_of_ten(int exponent) {
  int64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

bool ends_in_digit(std::string_view text) {
  return !text.empty() && text.back() >= '0' && text.back() <= '9';
}

constexpr size_t pending_lines = 16, pending_names = 64;

}  // namespace

FoldedLines::FoldedLines(const FoldedLayout& layout)
    : layout_(layout), numbers_(layout.types.size()) {
  profile_.types = layout.types;
  profile_.shown = layout.shown;
}

FoldedBlock FoldedLines::take(const InputBlock& block) {
  FoldedBlock result;
  previous_ = {};
  ends_.clear();
  path_.clear();
  std::string_view rest = block.text;
  try {
    while (!rest.empty() && !result.error) {
      ++result.lines;
      // The part shared with the line before holds no line feed.
      const size_t common = common_prefix(previous_, rest);
      const size_t end = std::min(rest.find('\n', common), rest.size());
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      try {
        take_line(line, common, result);
      } catch (const Error& error) {
        result.error = {result.lines, error.what()};
      }
    }
    flush();
  } catch (const FoldedBlock::Line& error) {  // of an earlier line
    result.error = error;
  }
  return result;
}

void FoldedLines::take_line(std::string_view line, size_t common, FoldedBlock& result) {
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
  keep_values();
  split(stack, std::min({common, stack.size(), previous_.size()}), result.lines);
  previous_ = stack;
  if (pending_.size() == pending_lines || names_.size() >= pending_names) flush();
}

// Keeps the numbers as a row for Profile::add().
void FoldedLines::keep_values() {
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const Decimal& number = numbers_[i];
    if (number.rounded) ++rounded_;
    const uint8_t known = profile_.types[i].decimals;
    if (number.decimals > known) {
      // Waiting rows have as many decimals as the profile.
      flush();
      profile_.set_decimals(i, number.decimals);
    }
  }
  for (size_t i = 0; i < numbers_.size(); ++i) {
    int64_t value = numbers_[i].digits;
    const int missing = profile_.types[i].decimals - numbers_[i].decimals;
    if (missing > 0 && __builtin_mul_overflow(value, power_of_ten(missing), &value))
      throw Error("its number leaves the range of 64 bits, with as many decimals as others have");
    values_.push_back(value);
  }
}

// The first `common` bytes of the stack equal those of the line before.
void FoldedLines::split(std::string_view stack, size_t common, size_t number) {
  const auto holds = [&] {
    const size_t end = ends_.back();
    if (end > common) return false;
    if (end == stack.size()) return true;
    const size_t begin = ends_.size() > 1 ? ends_[ends_.size() - 2] + 1 : 0;
    return stack[end] == ';' && (!length_follows(stack, end) || name_end(stack, begin) == end);
  };
  while (!ends_.empty() && !holds()) ends_.pop_back();
  const size_t kept = ends_.size();
  size_t end = kept == 0 ? SIZE_MAX : ends_.back();  // SIZE_MAX + 1 is 0
  while (end != stack.size()) {
    if (ends_.size() == layout_.max_frames) {
      truncate(stack, end + 1);
      break;
    }
    const size_t begin = end + 1;
    end = name_end(stack, begin);
    ends_.push_back(end);
    Name& name = names_.emplace_back(Name{stack.substr(begin, end - begin), {}});
    name.hash = hash_bytes_128(name.text);
    known_.prefetch(name.hash);
  }
  pending_.push_back({number, kept, names_.size()});
}

// Counts the frames from `begin` on, which become one.
void FoldedLines::truncate(std::string_view stack, size_t begin) {
  ++truncated_;
  names_.push_back({});
  while (true) {
    ++truncated_frames_;
    const size_t end = name_end(stack, begin);
    if (end == stack.size()) return;
    begin = end + 1;
  }
}

// Puts the waiting lines into the profile. Throws the first line that fails.
void FoldedLines::flush() {
  size_t begin = 0;
  std::vector<uint64_t>& hashes = path_hashes_;
  for (const Pending& line : pending_) {
    hashes.resize(line.kept);
    for (size_t i = begin; i < line.names; ++i) {
      const bool is_root = hashes.empty();
      names_[i].frame = find_frame(names_[i], is_root);
      names_[i].stack_hash = StackTable::hash(is_root ? 0 : hashes.back(), names_[i].frame);
      hashes.push_back(names_[i].stack_hash);
      profile_.stacks.prefetch(names_[i].stack_hash);
    }
    begin = line.names;
  }
  for (const Name& name : names_) profile_.stacks.prefetch_node(name.stack_hash);
  begin = 0;
  std::span<const int64_t> values = values_;
  for (const Pending& line : pending_) {
    path_.resize(line.kept);
    for (; begin < line.names; ++begin)
      path_.push_back(profile_.stacks.push(path_.empty() ? StackId{} : path_.back(),
                                           names_[begin].frame, names_[begin].stack_hash));
    try {
      profile_.add(path_.back(), values.first(numbers_.size()));
    } catch (const Error& error) {
      throw FoldedBlock::Line{line.number, error.what()};
    }
    values = values.subspan(numbers_.size());
  }
  pending_.clear();
  names_.clear();
  values_.clear();
}

FrameId FoldedLines::find_frame(const Name& name, bool is_root) {
  if (name.text.data() == nullptr) return truncated_frame(profile_);
  if (is_root && layout_.roots_are_processes) return make_frame(name.text, FrameKind::process);
  if (const uint32_t known = known_.find(name.hash); known != 0) return FrameId{known};
  const FrameId frame = make_frame(name.text, FrameKind::user);
  known_.insert(name.hash, frame.index);
  return frame;
}

FrameId FoldedLines::make_frame(std::string_view name, FrameKind plain_kind) {
  const FrameKind marked = take_mark(name);
  const FrameKind kind = marked == FrameKind::user ? plain_kind : marked;
  return profile_.frames.intern({profile_.strings.intern(name), {}, {}, 0, kind});
}

}  // namespace memflame
