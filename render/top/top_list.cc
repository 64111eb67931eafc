// SPDX-License-Identifier: BSD-2-Clause
// Which rows the list of memflame top has, in which order.
#include <algorithm>
#include <string_view>
#include <tuple>

#include "core/re2_text.h"
#include "render/top/top_model.h"

namespace memflame {
namespace {

// The worst verdict first; rows without one last.
int rank_of(const TopRow& row) {
  return row.verdict ? static_cast<int>(*row.verdict)
                     : 1 + static_cast<int>(VerdictKind::comes_back);
}

std::string_view name_of(const TopRow& row) {
  return row.names && !row.names->functions.empty() ? row.names->functions.front()
                                                    : std::string_view();
}

// By the column alone: less than 0 if `a` comes first.
int compare(const TopRow& a, const TopRow& b, TopColumn column) {
  const auto larger_first = [](auto x, auto y) { return x > y ? -1 : x < y ? 1 : 0; };
  switch (column) {
    case TopColumn::bytes:
      return larger_first(a.bytes, b.bytes);
    case TopColumn::blocks:
      return larger_first(a.blocks, b.blocks);
    case TopColumn::growth:
      if (a.growth.has_value() != b.growth.has_value()) return a.growth ? -1 : 1;
      return a.growth ? larger_first(*a.growth, *b.growth) : 0;
    case TopColumn::verdict:
      return larger_first(rank_of(b), rank_of(a));
    case TopColumn::name:
      if (name_of(a).empty() != name_of(b).empty()) return name_of(a).empty() ? 1 : -1;
      return name_of(a).compare(name_of(b));
  }
  return 0;
}

bool is_before(const TopRow& a, const TopRow& b, const TopState& state) {
  if (const int order = compare(a, b, state.sort); order != 0)
    return state.is_reversed ? order > 0 : order < 0;
  return std::tuple(-a.bytes, -a.blocks, a.key) < std::tuple(-b.bytes, -b.blocks, b.key);
}

}  // namespace

bool is_match(const TopRow& row, const TopState& state) {
  if (!state.pattern || !row.names) return false;
  const auto matches = [&](const std::string& text) {
    return re2::RE2::PartialMatch(re2_text(text), *state.pattern);
  };
  return matches(row.names->process) ||
         std::any_of(row.names->frames.begin(), row.names->frames.end(), matches);
}

TopList top_list(const TopData& data, const TopState& state) {
  TopList list;
  for (size_t i = 0; i < data.rows.size(); ++i) {
    const bool match = is_match(data.rows[i], state);
    if (match) ++list.matches;
    if (!data.rows[i].names) ++list.unnamed;
    if (match || !state.only_matches) list.rows.push_back(i);
  }
  std::sort(list.rows.begin(), list.rows.end(),
            [&](size_t a, size_t b) { return is_before(data.rows[a], data.rows[b], state); });
  if (list.rows.empty() || !state.selected) return list;
  const auto found = std::find_if(list.rows.begin(), list.rows.end(),
                                  [&](size_t i) { return data.rows[i].key == *state.selected; });
  // A stack that holds nothing any more leaves the selection where it was.
  list.selected = found != list.rows.end() ? static_cast<size_t>(found - list.rows.begin())
                                           : std::min(state.at, list.rows.size() - 1);
  return list;
}

void follow_selection(TopState& state, const TopData& data, size_t page) {
  const TopList list = top_list(data, state);
  state.at = list.selected;
  const size_t last = list.rows.size() > page ? list.rows.size() - page : 0;
  state.first = std::min(state.first, last);
  if (page == 0) return;
  if (state.at < state.first) state.first = state.at;
  if (state.at >= state.first + page) state.first = state.at + 1 - page;
}

}  // namespace memflame
