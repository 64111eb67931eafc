// SPDX-License-Identifier: BSD-2-Clause
// Rows of a stack and a figure become a Profile, which is written like any other.
#include <cmath>
#include <string>

#include "core/error.h"
#include "render/output.h"
#include "render/query/query_output.h"

namespace memflame {
namespace {

struct FoldedColumns {
  size_t stack = 0, figure = 0;
};

FoldedColumns folded_columns(const std::vector<std::string>& columns) {
  if (columns.size() == 2 && columns[0] == "stack") return {.stack = 0, .figure = 1};
  if (columns.size() == 2 && columns[1] == "stack") return {.stack = 1, .figure = 0};
  throw Error(
      "--format folded takes two columns: one called 'stack', with the number or the text of a "
      "stack, and a figure, like 'select stack, sum(bytes) from blocks group by stack'",
      ExitCode::usage);
}

// The figure's unit, by the name of its column.
Unit unit_of(const std::string& column) {
  const auto has = [&](const char* word) { return column.find(word) != std::string::npos; };
  if (has("count(")) return Unit::count;
  if (has("bytes") || has("size")) return Unit::bytes;
  return has("_ns") ? Unit::nanoseconds : Unit::count;
}

StackId push_text(Profile& into, std::string_view text) {
  StackId stack;
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    if (end != 0) stack = into.push(stack, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return stack ? stack : into.push({}, "[no stack]", FrameKind::note);
}

StackId push_cell(Profile& into, const QueryValue& cell, const QueryLooks& looks) {
  if (const auto* text = std::get_if<std::string>(&cell)) return push_text(into, *text);
  if (std::holds_alternative<std::monostate>(cell)) return push_text(into, "");
  const auto* number = std::get_if<int64_t>(&cell);
  if (number == nullptr) throw Error("--format folded: a stack is a number or a text");
  const StackId stack = looks.push_stack(into, *number);
  if (!stack) throw Error("--format folded: the recording has no stack " + std::to_string(*number));
  return stack;
}

// NULL, which sums of nothing are, is 0.
int64_t figure_in(const QueryValue& cell, const std::string& column) {
  constexpr double most = 9.2e18;
  if (std::holds_alternative<std::monostate>(cell)) return 0;
  if (const auto* number = std::get_if<int64_t>(&cell)) return *number;
  const auto* real = std::get_if<double>(&cell);
  if (real == nullptr) throw Error("--format folded: '" + column + "' is not a number");
  if (std::trunc(*real) != *real || std::abs(*real) > most)
    throw Error("--format folded: '" + column +
                "' is not a whole number; cast(… as integer) makes one of it");
  return static_cast<int64_t>(*real);
}

}  // namespace

void write_query_folded(std::ostream& out, QueryResult& result, const QueryLooks& looks) {
  const FoldedColumns columns = folded_columns(result.columns);
  const std::string& name = result.columns[columns.figure];
  Profile profile;
  profile.types = {{.name = name, .unit = unit_of(name)}};
  while (result.rows->next()) {
    const int64_t figure = figure_in(result.rows->value(columns.figure), name);
    profile.add(push_cell(profile, result.rows->value(columns.stack), looks), {{figure}});
  }
  write_folded(out, profile, {});
}

}  // namespace memflame
