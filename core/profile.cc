#include "core/profile.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace memflame {
namespace {

constexpr std::array<std::string_view, 4> unit_names{"bytes", "pages", "count", "variance"};
constexpr std::array<int64_t, 16> zeros{};

void add_checked(int64_t& sum, int64_t value, Unit unit) {
  if (!add_to(sum, value, unit))
    throw Error("a sum of values leaves the range of 64 bits; the input cannot be right");
}

}  // namespace

std::string_view name(Unit unit) { return unit_names[static_cast<size_t>(unit)]; }

bool add_to(int64_t& sum, int64_t value, Unit unit) {
  int64_t result = 0;
  const bool fits = !__builtin_add_overflow(sum, value, &result);
  if (!fits && unit == Unit::variance) result = value < 0 ? INT64_MIN : INT64_MAX;
  if (!fits && unit != Unit::variance) return false;
  sum = result;
  return true;
}

bool parse_unit(std::string_view text, Unit& unit) {
  const auto* found = std::find(unit_names.begin(), unit_names.end(), text);
  if (found == unit_names.end() || text == name(Unit::variance)) return false;
  unit = static_cast<Unit>(found - unit_names.begin());
  return true;
}

StackId Profile::push(StackId caller, std::string_view function, FrameKind kind,
                      std::string_view module, std::string_view file, uint32_t line) {
  const Frame frame{strings.intern(function), strings.intern(module), strings.intern(file), line,
                    kind};
  return stacks.push(caller, frames.intern(frame));
}

void Profile::add(StackId stack, std::span<const int64_t> values) {
  if (values.size() != types.size()) throw Error("internal: wrong number of value columns");
  if (row_of_stack_.size() <= stack.index) row_of_stack_.resize(stacks.size(), 0);
  uint32_t& row = row_of_stack_[stack.index];
  if (row == 0) {
    touched_.push_back(stack);
    cells_.resize(cells_.size() + types.size(), 0);
    row = static_cast<uint32_t>(touched_.size());
  }
  int64_t* cell = &cells_[(row - 1) * types.size()];
  for (size_t i = 0; i < values.size(); ++i) add_checked(cell[i], values[i], types[i].unit);
}

std::span<const int64_t> Profile::values(StackId stack) const {
  const uint32_t row = stack.index < row_of_stack_.size() ? row_of_stack_[stack.index] : 0;
  if (row == 0) return std::span(zeros).first(std::min(types.size(), zeros.size()));
  return std::span(cells_).subspan((row - 1) * types.size(), types.size());
}

int64_t Profile::total(size_t column) const {
  int64_t sum = 0;
  for (size_t row = 0; row < touched_.size(); ++row)
    add_checked(sum, cells_[row * types.size() + column], types[column].unit);
  return sum;
}

std::vector<int64_t> Profile::inclusive(size_t column) const {
  std::vector<int64_t> sums(stacks.size(), 0);
  for (const StackId stack : touched_) sums[stack.index] = values(stack)[column];
  // Callers have smaller ids than callees (see StackTable), so one reverse pass is enough.
  for (uint32_t i = static_cast<uint32_t>(stacks.size()) - 1; i > 0; --i)
    add_checked(sums[stacks[StackId{i}].caller.index], sums[i], types[column].unit);
  return sums;
}

double Profile::standard_error(size_t column, std::span<const int64_t> sums) const {
  const ValueType& type = types[column];
  if (type.variance >= sums.size()) return 0;
  // Blocks that are freed take their variance with them; what is left cannot be negative.
  const int64_t variance = std::max<int64_t>(sums[type.variance], 0);
  return std::sqrt(static_cast<double>(variance) * type.variance_unit);
}

double Profile::total_error(size_t column) const {
  std::vector<int64_t> sums(types.size(), 0);
  const size_t variance = types[column].variance;
  if (variance < sums.size()) sums[variance] = total(variance);
  return standard_error(column, sums);
}

std::vector<FrameId> Profile::path(StackId stack) const {
  std::vector<FrameId> frames_of_stack;
  for (; stack; stack = stacks[stack].caller) frames_of_stack.push_back(stacks[stack].frame);
  std::reverse(frames_of_stack.begin(), frames_of_stack.end());
  return frames_of_stack;
}

void merge(Profile& into, const Profile& from) {
  if (into.types != from.types) throw Error("profiles with different value columns do not add up");
  std::vector<StackId> renamed(from.stacks.size());
  for (uint32_t i = 1; i < from.stacks.size(); ++i) {
    const StackNode& node = from.stacks[StackId{i}];
    const Frame& frame = from.frames[node.frame];
    renamed[i] = into.push(renamed[node.caller.index], from.strings[frame.function], frame.kind,
                           from.strings[frame.module], from.strings[frame.file], frame.line);
  }
  for (const StackId stack : from.touched()) into.add(renamed[stack.index], from.values(stack));
  into.losses.add(from.losses);
  if (into.meta.sampling.empty())
    into.meta.sampling = from.meta.sampling;
  else if (!from.meta.sampling.empty() && into.meta.sampling != from.meta.sampling)
    into.meta.sampling += " + " + from.meta.sampling;
}

}  // namespace memflame
