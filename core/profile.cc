// SPDX-License-Identifier: BSD-2-Clause
#include "core/profile.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/merge_stacks.h"

namespace memflame {
namespace {

constexpr std::array<std::string_view, 5> unit_names{"bytes", "pages", "count", "nanoseconds",
                                                     "variance"};
constexpr std::array<int64_t, max_columns> zeros{};

void add_checked(int64_t& sum, int64_t value, Unit unit) {
  if (!add_to(sum, value, unit))
    throw Error("a sum of values leaves the range of 64 bits; the input cannot be right");
}

// Copies rows into wider ones; the added columns are 0.
std::vector<int64_t> widened(const std::vector<int64_t>& cells, size_t rows, size_t from,
                             size_t to) {
  std::vector<int64_t> wider(rows * to, 0);
  for (size_t row = 0; row < rows; ++row)
    std::copy_n(cells.begin() + static_cast<ptrdiff_t>(row * from), from, &wider[row * to]);
  return wider;
}

int64_t scaled(int64_t value, int decimals) {
  for (; decimals > 0; --decimals)
    if (__builtin_mul_overflow(value, 10, &value))
      throw Error("a number with that many digits does not fit in 64 bits");
  return value;
}

int64_t rescaled(int64_t variance, double factor) {
  constexpr double most = 9223372036854775807.0;
  const double value = std::round(static_cast<double>(variance) * factor);
  return value >= most ? INT64_MAX : value <= -most ? INT64_MIN : static_cast<int64_t>(value);
}

}  // namespace

void join(std::string& list, const std::string& text) {
  constexpr std::string_view between = " + ";
  const auto bounded = [&](const std::string& part) {
    return std::string(between).append(part).append(between);
  };
  if (text.empty() || bounded(list).find(bounded(text)) != std::string::npos) return;
  if (!list.empty()) list += between;
  list += text;
}

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

size_t Profile::add_column(ValueType type) {
  const size_t before = types.size();
  if (before == max_columns) throw Error("more than 1,024 different kinds of figures");
  types.push_back(std::move(type));
  if (!touched_.empty() && types.size() > stride_) {
    // Grow by half: one by one, many columns would cost a pass each.
    const size_t wider = std::min(std::max(types.size(), stride_ + stride_ / 2), max_columns);
    cells_ = widened(cells_, touched_.size(), stride_, wider);
    sequence_cells_ = widened(sequence_cells_, sequence_.size(), stride_, wider);
    stride_ = wider;
  }
  return before;
}

void Profile::set_decimals(size_t column, uint8_t decimals) {
  const int more = decimals - types[column].decimals;
  for (std::vector<int64_t>* cells : {&cells_, &sequence_cells_})
    for (size_t i = column; i < cells->size(); i += stride_)
      (*cells)[i] = scaled((*cells)[i], more);
  types[column].decimals = decimals;
}

void Profile::add(StackId stack, std::span<const int64_t> values) {
  if (values.size() != types.size() || values.size() > max_columns)
    throw Error("internal: wrong number of value columns");
  if (touched_.empty()) stride_ = types.size();
  if (row_of_stack_.size() <= stack.index) row_of_stack_.resize(stacks.size(), 0);
  uint32_t& row = row_of_stack_[stack.index];
  if (row == 0) {
    touched_.push_back(stack);
    cells_.resize(cells_.size() + stride_, 0);
    row = static_cast<uint32_t>(touched_.size());
  }
  int64_t* cell = cells_.data() + (row - 1) * stride_;
  for (size_t i = 0; i < values.size(); ++i) add_checked(cell[i], values[i], types[i].unit);
  if (is_in_order) add_in_order(stack, values);
}

void Profile::add_in_order(StackId stack, std::span<const int64_t> values) {
  if (sequence_.empty() || sequence_.back() != stack) {
    sequence_.push_back(stack);
    sequence_cells_.resize(sequence_cells_.size() + stride_, 0);
  }
  int64_t* cell = sequence_cells_.data() + (sequence_.size() - 1) * stride_;
  for (size_t i = 0; i < values.size(); ++i) add_checked(cell[i], values[i], types[i].unit);
}

std::span<const int64_t> Profile::values(StackId stack) const {
  const uint32_t row = stack.index < row_of_stack_.size() ? row_of_stack_[stack.index] : 0;
  if (row == 0) return std::span(zeros).first(types.size());
  return std::span(cells_).subspan((row - 1) * stride_, types.size());
}

int64_t Profile::total(size_t column) const {
  // A wide sum, so that the order of the stacks cannot make a total overflow that fits.
  __extension__ __int128 wide = 0;
  for (size_t row = 0; row < touched_.size(); ++row) wide += cells_[row * stride_ + column];
  auto sum = static_cast<int64_t>(wide > INT64_MAX   ? INT64_MAX
                                  : wide < INT64_MIN ? INT64_MIN
                                                     : wide);
  if (sum != wide) add_checked(sum, sum < 0 ? -1 : 1, types[column].unit);
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

Frame frame_from(Profile& into, const Profile& from, FrameId id) {
  Frame frame = from.frames[id];
  for (StringId Frame::*text : {&Frame::function, &Frame::module, &Frame::file})
    frame.*text = into.strings.intern(from.strings[frame.*text]);
  frame.code = into.code.add(from.code, frame.code);
  return frame;
}

namespace {

void merge_meta(Meta& into, const Meta& from) {
  join(into.title, from.title);
  join(into.command, from.command);
  join(into.host, from.host);
  join(into.sampling, from.sampling);
  into.began_ns = 0;
  into.seconds = 0;  // the combined duration of two runs means nothing
  into.reconciliation.insert(into.reconciliation.end(), from.reconciliation.begin(),
                             from.reconciliation.end());
  for (const std::string& note : from.notes)
    if (std::find(into.notes.begin(), into.notes.end(), note) == into.notes.end())
      into.notes.push_back(note);
}

// Changes the unit of an estimated column's variances to a coarser one.
void set_variance_unit(Profile& profile, size_t column, double unit) {
  ValueType& type = profile.types[column];
  std::vector<int64_t> change(profile.types.size(), 0);
  for (const StackId stack : profile.touched()) {
    const int64_t variance = profile.values(stack)[type.variance];
    change[type.variance] = rescaled(variance, type.variance_unit / unit) - variance;
    profile.add(stack, change);
  }
  type.variance_unit = unit;
}

// The columns of `from` in `into`; those that `into` lacks are added.
std::vector<size_t> merge_columns(Profile& into, const Profile& from) {
  const auto find = [](const Profile& profile, const std::string& name) {
    const auto same = [&](const ValueType& type) { return type.name == name; };
    const auto at = std::find_if(profile.types.begin(), profile.types.end(), same);
    return static_cast<size_t>(at - profile.types.begin());
  };
  const std::string& shown = into.types[into.shown].name;
  if (find(from, shown) == from.types.size())
    throw Error("figures of " + shown + " and of " + from.types[from.shown].name +
                " do not add up; collapse them one by one, or name one with --value");
  std::vector<size_t> place;
  for (const ValueType& type : from.types) {
    place.push_back(find(into, type.name));
    if (place.back() == into.types.size()) {
      into.add_column(type);
      continue;
    }
    const ValueType& known = into.types[place.back()];
    if (known.unit != type.unit)
      throw Error("figures of " + type.name + " in " + std::string(name(type.unit)) + " and in " +
                  std::string(name(known.unit)) + " do not add up; collapse them one by one");
    if ((known.variance == no_column) != (type.variance == no_column))
      throw Error("exact figures of " + type.name +
                  " and estimated ones do not add up; collapse them one by one");
    if (type.variance != no_column && known.variance_unit < type.variance_unit)
      set_variance_unit(into, place.back(), type.variance_unit);
    if (known.decimals < type.decimals) into.set_decimals(place.back(), type.decimals);
  }
  for (size_t i = 0; i < place.size(); ++i)
    if (from.types[i].variance != no_column)
      into.types[place[i]].variance = place[from.types[i].variance];
  return place;
}

}  // namespace

void merge(Profile& into, const Profile& from) {
  const std::vector<size_t> place = merge_columns(into, from);
  // If the units of variance differ, the coarser one is used: large variances may not fit in the
  // finer one.
  std::vector<double> factors(place.size(), 1);
  for (size_t i = 0; i < place.size(); ++i)
    if (from.types[i].variance != no_column)
      factors[from.types[i].variance] =
          from.types[i].variance_unit / into.types[place[i]].variance_unit;
  std::vector<FrameId> frame_of(from.frames.size());
  for (uint32_t i = 1; i < frame_of.size(); ++i)
    frame_of[i] = into.frames.intern(frame_from(into, from, FrameId{i}));
  const std::vector<StackId> stack_of = merge_stacks(into.stacks, from.stacks, frame_of);
  std::vector<int64_t> row(into.types.size());
  for (size_t added = 0; added < from.rows(); ++added) {
    const auto [stack, values] = from.row(added);
    std::fill(row.begin(), row.end(), 0);
    for (size_t i = 0; i < place.size(); ++i) {
      const int64_t value = factors[i] == 1 ? values[i] : rescaled(values[i], factors[i]);
      row[place[i]] = scaled(value, into.types[place[i]].decimals - from.types[i].decimals);
    }
    into.add(stack_of[stack.index], row);
  }
  into.marks.clear();
  into.losses.add(from.losses);
  merge_meta(into.meta, from.meta);
}

}  // namespace memflame
