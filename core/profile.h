// SPDX-License-Identifier: BSD-2-Clause
// Profile: what every stage after collecting works on — a tree of named stacks with columns of
// values. Folded text is only one of its inputs and outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/losses.h"
#include "core/stack.h"

namespace memflame {

// A column of variances belongs to another column and says how far off its figures may be: it is
// nothing to draw or to list.
enum class Unit : uint8_t { bytes, pages, count, nanoseconds, variance };

std::string_view name(Unit unit);                    // "bytes", "pages", "count", "nanoseconds"
bool parse_unit(std::string_view text, Unit& unit);  // false when it is not one of these

inline constexpr size_t no_column = SIZE_MAX;
inline constexpr size_t max_columns = 1024;

struct ValueType {
  std::string name;  // "live", "grown", "gained", …: the word after --value
  Unit unit = Unit::count;
  size_t variance = no_column;  // the column of its variances when it is estimated from samples
  double variance_unit = 1;     // a unit of that column, in this column's unit squared
  // Figures with a fraction: one is 10^-decimals of the unit. Those a probe sees are whole.
  uint8_t decimals = 0;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

// What the probe saw beside what the operating system says, in bytes.
struct Reconciliation {
  std::string name;      // "VmRSS growth", "[heap] growth", …
  int64_t captured = 0;  // what the probe saw
  int64_t os = 0;        // what /proc said: end - start
  // What `captured` is, when the two figures need not agree; "" = they must.
  std::string captured_is{};
};

// What a reader of the picture has to know to judge it.
struct Meta {
  std::string title;
  std::string command;  // probe and target, as the user asked
  std::string host;
  double seconds = 0;      // how long was watched; 0 when unknown
  std::string sampling{};  // "1 in 97 faults" when values are estimates; empty = all are exact
  std::vector<Reconciliation> reconciliation;
  std::vector<std::string> notes;  // further lines, e.g. what was released or left out
};

// What a probe found beside its figures: a free that looks wrong, and the stacks that show it.
struct Finding {
  std::string kind, detail;
  uint64_t events = 0;
  int64_t bytes = 0;
  StackId freeing, allocating, first_freeing;  // none where unknown
};

// Values are signed: a shrink, a release or a difference is negative. They belong to the stack as a
// whole path (self values); callers compute inclusive sums themselves.
class Profile {
 public:
  StringTable strings;
  FrameTable frames;
  StackTable stacks;
  CodePlaces code;  // of frames; empty unless it was asked for
  Meta meta;
  Losses losses;

  // The columns; set before the first add(), later ones come with add_column(). `shown` is the one
  // that is drawn.
  std::vector<ValueType> types;
  size_t shown = 0;

  std::vector<Finding> findings;

  // Adds a frame on top of `caller`, interning the names.
  StackId push(StackId caller, std::string_view function, FrameKind kind = FrameKind::user,
               std::string_view module = {}, std::string_view file = {}, uint32_t line = 0);

  // Adds to the self values of a stack; `values` has one entry per column. Throws Error if a sum
  // does not fit in 64 bits. Sums of variances stop at the largest number instead.
  void add(StackId stack, std::span<const int64_t> values);

  // Self values of a stack, zeros when nothing was added to it. Valid until the next add().
  std::span<const int64_t> values(StackId stack) const;
  // Stacks that values were added to, in order of their first add().
  std::span<const StackId> touched() const { return touched_; }

  // From now on each add() is kept as a row of its own too, for pictures in the order of time; adds
  // to one stack without another between them are one row. Before the first add().
  void keep_order() { in_order_ = true; }
  bool in_order() const { return in_order_; }

  // What was added: in the order in which it came where that is kept, else a row for each stack.
  // Valid until the next add().
  struct Row {
    StackId stack;
    std::span<const int64_t> values;
  };
  size_t rows() const { return in_order_ ? sequence_.size() : touched_.size(); }
  Row row(size_t i) const {
    const std::vector<int64_t>& cells = in_order_ ? sequence_cells_ : cells_;
    return {in_order_ ? sequence_[i] : touched_[i],
            std::span(cells).subspan(i * stride_, types.size())};
  }

  // One more column, 0 for all stacks so far; its index. Costs a pass over all figures now and
  // then: many columns cost a few passes. Throws Error when there are max_columns.
  size_t add_column(ValueType type);

  // Multiplies a column by a power of ten and says so in its type. Throws Error when a figure
  // leaves 64 bits.
  void set_decimals(size_t column, uint8_t decimals);

  int64_t total(size_t column) const;

  // Inclusive sums (self + callees) of one column, indexed by StackId::index.
  std::vector<int64_t> inclusive(size_t column) const;

  // One standard error of a column's sum over some stacks, given their sums of all columns; 0 when
  // the column is exact. Samples are independent of each other, so their variances add up.
  double standard_error(size_t column, std::span<const int64_t> sums) const;
  double total_error(size_t column) const;

  // Root-first names of one stack.
  std::vector<FrameId> path(StackId stack) const;

 private:
  void add_in_order(StackId stack, std::span<const int64_t> values);

  size_t stride_ = 0;                   // room in a row: types.size() values or more
  std::vector<int64_t> cells_;          // rows
  std::vector<uint32_t> row_of_stack_;  // StackId::index -> row + 1, 0 = no row
  std::vector<StackId> touched_;
  bool in_order_ = false;
  std::vector<StackId> sequence_;  // of the rows in order
  std::vector<int64_t> sequence_cells_;
};

// Adds to the sum of a column. False when that leaves 64 bits, which a sum of variances never does.
[[nodiscard]] bool add_to(int64_t& sum, int64_t value, Unit unit);

// The frame of another profile, as one of `into`.
Frame frame_from(Profile& into, const Profile& from, FrameId frame);

// Appends all stacks of `from` to `into`. Columns of one name add up and must be in one unit,
// others are added; what is shown must be in both. Throws Error otherwise. Titles and notes of
// `from` that `into` has not are added to it.
void merge(Profile& into, const Profile& from);

}  // namespace memflame
