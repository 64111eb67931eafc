// SPDX-License-Identifier: BSD-2-Clause
// Profile: the value that every stage after collecting works on. It is a tree of named stacks with
// columns of values. Folded text is only one of its inputs and outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/losses.h"
#include "core/stack.h"
#include "core/stack_mark.h"

namespace memflame {

// A column of variances belongs to another column and says how far off its values may be. It is
// neither drawn nor listed.
enum class Unit : uint8_t { bytes, pages, count, nanoseconds, variance };

std::string_view name(Unit unit);                    // "bytes", "pages", "count", "nanoseconds"
bool parse_unit(std::string_view text, Unit& unit);  // false if it is not one of these

inline constexpr size_t no_column = SIZE_MAX;
inline constexpr size_t max_columns = 1024;
inline constexpr size_t max_marks = 100;

struct ValueType {
  std::string name;  // "live", "grown", "gained", …: the word after --value
  Unit unit = Unit::count;
  size_t variance = no_column;  // the column of its variances if it is estimated from samples
  double variance_unit = 1;     // a unit of that column, in this column's unit squared
  // Values with a fraction: one is 10^-decimals of the unit. A probe's own values are whole.
  uint8_t decimals = 0;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

// What the probe saw, next to what the operating system says, in bytes.
struct Reconciliation {
  std::string name;      // "VmRSS growth", "[heap] growth", …
  int64_t captured = 0;  // what the probe saw
  // What /proc said: end - start. Nothing if it was not read; then a note says so, and only formats
  // for programs have this row.
  std::optional<int64_t> os = 0;
  // What `captured` is, if the two values need not agree; "" = they must.
  std::string captured_is{};
};

// What a reader must know to judge the picture.
struct Meta {
  std::string title;
  // As the user asked: "memflame alloc -p 812", or for an input of another tool "perf record -g
  // ./server". Command lines belong in no other field,
  // because transformed() hides the secrets in this one, and leaves it out for --anonymise.
  std::string command;
  std::string host;
  double seconds = 0;      // how long the run watched; 0 if unknown
  std::string sampling{};  // "1 in 97 faults" when values are estimates; empty = all are exact
  std::vector<Reconciliation> reconciliation;
  std::vector<std::string> notes;  // further lines, for example what was released or left out
  int64_t began_ns = 0;            // CLOCK_REALTIME at the begin of `seconds`; 0 if unknown
};

// Adds a text to a list "A + B", unless the list has it.
void join(std::string& list, const std::string& text);

// What a probe found apart from its values: a free that looks wrong, and the stacks that show it.
struct Finding {
  std::string kind, detail;
  uint64_t events = 0;
  int64_t bytes = 0;
  StackId freeing, allocating, first_freeing;  // none where unknown
};

// The same findings, where stacks have other places: `place` is a function from StackId to StackId.
template <class Place>
void move_stacks(std::vector<Finding>& findings, const Place& place) {
  for (Finding& finding : findings)
    for (StackId Finding::*stack :
         {&Finding::freeing, &Finding::allocating, &Finding::first_freeing})
      finding.*stack = place(finding.*stack);
}

// What stacks consist of.
struct ProfileNames {
  StringTable strings;
  FrameTable frames;
  CodePlaces code;  // of frames; empty unless requested
};

// What is true of all stacks together. A profile that gets other stacks takes it as a whole.
struct ProfileFacts {
  Meta meta;
  Losses losses;
  // The columns; set before the first add(), later ones come with add_column(). `shown` is the one
  // that is drawn.
  std::vector<ValueType> types;
  size_t shown = 0;
  std::vector<Finding> findings;
  bool is_in_order = false;  // set by keep_order()
};

// Values are signed: a shrink, a release or a difference is negative. They belong to the stack as a
// whole path (self values); callers compute inclusive sums themselves.
class Profile : public ProfileNames, public ProfileFacts {
 public:
  Profile() = default;
  // Without stacks, values and marks.
  Profile(ProfileNames names, ProfileFacts facts)
      : ProfileNames(std::move(names)), ProfileFacts(std::move(facts)) {}

  // Gives its names to another profile.
  ProfileNames take_names() { return std::move(static_cast<ProfileNames&>(*this)); }

  StackTable stacks;
  std::vector<StackMark> marks;  // verdicts on stacks, the most wrong first; at most max_marks

  // Adds a frame on top of `caller`, interning the names.
  StackId push(StackId caller, std::string_view function, FrameKind kind = FrameKind::user,
               std::string_view module = {}, std::string_view file = {}, uint32_t line = 0);

  // Adds to the self values of a stack; `values` has one entry per column. Throws Error if a sum
  // does not fit in 64 bits. Sums of variances stop at the largest number instead.
  void add(StackId stack, std::span<const int64_t> values);

  // Self values of a stack, zeros if nothing was added to it. Valid until the next add().
  std::span<const int64_t> values(StackId stack) const;
  // Stacks that values were added to, in order of their first add().
  std::span<const StackId> touched() const { return touched_; }

  // From now on each add() is also kept as a row of its own, for pictures in the order of time;
  // consecutive adds to one stack are one row. Call it before the first add().
  void keep_order() { is_in_order = true; }
  bool in_order() const { return is_in_order; }

  // What was added: in order of arrival if that is kept, else one row per stack. Valid until the
  // next add().
  struct Row {
    StackId stack;
    std::span<const int64_t> values;
  };
  size_t rows() const { return is_in_order ? sequence_.size() : touched_.size(); }
  Row row(size_t i) const {
    const std::vector<int64_t>& cells = is_in_order ? sequence_cells_ : cells_;
    return {is_in_order ? sequence_[i] : touched_[i],
            std::span(cells).subspan(i * stride_, types.size())};
  }

  // Adds a column, 0 for all stacks so far; returns its index. Rows get room for half as many
  // columns again, so few calls copy all values. Throws Error if there are max_columns already.
  size_t add_column(ValueType type);

  // Multiplies a column by a power of ten and records that in its type. Throws Error if a value no
  // longer fits in 64 bits.
  void set_decimals(size_t column, uint8_t decimals);

  int64_t total(size_t column) const;

  // Inclusive sums (self + callees) of one column, indexed by StackId::index.
  std::vector<int64_t> inclusive(size_t column) const;

  // One standard error of a column's sum over some stacks, given their sums of all columns; 0 if
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
  std::vector<StackId> sequence_;  // of the rows, in order of arrival
  std::vector<int64_t> sequence_cells_;
};

// Adds to the sum of a column. Returns false if the result does not fit in 64 bits; a sum of
// variances always does.
[[nodiscard]] bool add_to(int64_t& sum, int64_t value, Unit unit);

// All of a profile but its stacks, values and marks. Findings still point to the stacks of `from`.
inline Profile without_stacks(const Profile& from) { return {from, from}; }

// A frame of another profile, with its names interned in `into`.
Frame frame_from(Profile& into, const Profile& from, FrameId frame);

// Appends all stacks of `from` to `into`. Columns with the same name add up and must have one unit,
// other columns are added; both must have the shown column. Throws Error otherwise. Titles and
// notes of `from` that `into` lacks are added to it. There are no verdicts: each is about one run.
void merge(Profile& into, const Profile& from);

}  // namespace memflame
